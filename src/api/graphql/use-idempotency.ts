/**
 * Yoga plugin: Idempotency-Key for a document's mutations (docs/api-rules.md#retries), as a header or, without headers
 * (WebSocket), as `extensions.idempotencyKey`. Mutations are identified by their position; the result of the verb's read is
 * stored.
 */
import type { GraphQLSchema } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { ValidationError } from '../../domain/errors/errors.ts'
import { canonical } from '../../domain/idempotency/entries.ts'
import { type AnswerCodec, KeyedRequest } from '../../domain/idempotency/keyed-request.ts'
import { decodeRows, encodeRows } from '../../domain/idempotency/stored-rows.ts'
import type { GraphQLContext } from './builder/context.ts'
import type { ServerContext } from './use-authentication.ts'
import { isMutation } from './use-response-headers.ts'

/** The request or WebSocket operation as Yoga parsed it. */
interface Params {
  query?: string | null
  operationName?: string | null
  variables?: unknown
  extensions?: { idempotencyKey?: unknown } | null
}

/** Of one mutation. */
const MAX_STORED_LENGTH = 512 * 1024

export function useIdempotency(): Plugin<GraphQLContext & { params?: Params }, ServerContext> {
  const begun = new WeakMap<Request, KeyedRequest>()
  return {
    async onExecute({ args }) {
      const { contextValue: ctx } = args as {
        contextValue: GraphQLContext & ServerContext & { request: Request; params?: Params }
      }
      const { params = {} } = ctx
      const header = ctx.request.headers.get('idempotency-key') ?? params.extensions?.idempotencyKey
      if (header === null || header === undefined || !isMutation(args)) return
      const { query, operationName, variables } = params
      const text = `mutation ${operationName ?? ''}\n${query}\n${canonical(variables ?? {})}`
      const options = { header: String(header), request: text, codec: rowStorage(ctx), numbered: true }
      const idempotency = await KeyedRequest.begin(ctx, options)
      ctx.idempotency = idempotency
      begun.set(ctx.request, idempotency)
      return { onExecuteDone: () => idempotency.end() }
    },
    onResponse({ request, response }) {
      const idempotency = begun.get(request)
      // also if the execution did not complete
      idempotency?.end()
      if (idempotency?.isRepeat) response.headers.set('idempotency-replayed', 'true')
    },
  }
}

/** The stored result of a mutation: what its verb read, and when. */
interface StoredResult {
  at: Date
  result: unknown
}

/** The original clocks of documents with a key. Time-dependent fields below a mutation use the time of its first answer. */
const clocks = new WeakMap<GraphQLContext, () => Date>()

function rowStorage(ctx: GraphQLContext): AnswerCodec {
  const { clock } = ctx
  clocks.set(ctx, clock)
  const show = ({ at, result }: StoredResult) => {
    ctx.clock = () => at
    return result
  }
  return {
    encode(result) {
      const stored: StoredResult = { at: clock(), result }
      const answer = encodeRows(ctx.keyring, stored)
      if (answer.length > MAX_STORED_LENGTH) throw new ValidationError([TOO_LARGE])
      show(stored)
      return { status: 200, answer, secretSetId: null }
    },
    decode: async ({ answer }) => show((await decodeRows(ctx, answer)) as StoredResult),
  }
}

const TOO_LARGE = {
  loc: ['header', 'Idempotency-Key'],
  msg: `The selection of the mutation is larger than ${MAX_STORED_LENGTH / 1024} KiB, so it can't be stored for a retry. Select less.`,
  type: 'too_long',
}

/** Marks the beginning of each mutation. Mutations of a document run one after the other, each with everything below it. */
export function numberMutations(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    const resolve = field.resolve!
    field.resolve = (root, args, ctx: GraphQLContext, info) => {
      ctx.idempotency?.next()
      ctx.clock = clocks.get(ctx) ?? ctx.clock
      return resolve(root, args, ctx, info)
    }
  }
  return schema
}
