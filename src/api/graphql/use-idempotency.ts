/**
 * Yoga plugin: Idempotency-Key for the mutations of a document (docs/api-rules.md#retries), in the header, or where
 * operations have none (WebSocket) in `extensions.idempotencyKey`. Each mutation is known by its place; stored is what its verb has
 * read of what it wrote, and the fields below are resolved from that again.
 */
import type { GraphQLSchema } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { ValidationError } from '../../domain/errors/errors.ts'
import { canonical } from '../../domain/idempotency/fingerprint.ts'
import { type Keeping, KeyedRequest } from '../../domain/idempotency/keyed-request.ts'
import { decodeRows, encodeRows } from '../../domain/idempotency/rows.ts'
import type { GraphQLContext } from './builder/context.ts'
import type { ServerContext } from './use-authentication.ts'
import { isMutation } from './use-no-store.ts'

/** What Yoga knows of a request, or of an operation on a socket. */
interface Params {
  query?: string | null
  operationName?: string | null
  variables?: unknown
  extensions?: { idempotencyKey?: unknown } | null
}

/** Characters of what is kept of one mutation. */
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
      const options = { header: String(header), request: text, keeping: rowStorage(ctx), numbered: true }
      const idempotency = await KeyedRequest.begin(ctx, options)
      ctx.idempotency = idempotency
      begun.set(ctx.request, idempotency)
      return { onExecuteDone: () => idempotency.end() }
    },
    onResponse({ request, response }) {
      const idempotency = begun.get(request)
      // also where nothing was executed to its end
      idempotency?.end()
      if (idempotency?.isRepeat) response.headers.set('idempotency-replayed', 'true')
    },
  }
}

/** What is kept of a mutation: what its verb has read, and when. */
interface StoredResult {
  at: Date
  result: unknown
}

/** The clocks of documents with a key. What is derived from the time below a mutation is of the moment of its answer. */
const clocks = new WeakMap<GraphQLContext, () => Date>()

function rowStorage(ctx: GraphQLContext): Keeping {
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
  msg: `What is selected of the mutation is too large to be stored for a repeat: at most ${MAX_STORED_LENGTH / 1024} KiB. Select less.`,
  type: 'too_long',
}

/** Mutations are executed one after the other, each with all that is below it: each says when it begins. */
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
