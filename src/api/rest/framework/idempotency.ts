/** Idempotency-Key in REST (docs/api-rules.md#retries): a repeated write gets the first answer. See README.md. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { canonical } from '../../../domain/idempotency/entries.ts'
import { KeyedRequest } from '../../../domain/idempotency/keyed-request.ts'
import { readSecrets } from '../../../domain/idempotency/stored-rows.ts'
import type { ReadContext, RequestContext } from '../../../domain/transaction/context.ts'
import { type Entry, Repeated } from '../../../domain/transaction/idempotency.ts'
import { encode } from '../responses/response-schema.ts'
import { type ConditionalOperation, sendStoredJson } from './conditional-requests.ts'

interface UnencodedResponse {
  status: number
  body: unknown
  headers?: Record<string, string | undefined>
}

/** The members of an operation that matter for keys. */
export interface KeyedOperation extends ConditionalOperation {
  responses: Record<number, { schema: z.ZodType | null }>
  /**
   * Effect of a key. `whole-call` (default): the call is executed once. `per-item`: each item is executed once. `no-effect`: each
   * call creates something new. `not-documented`: no effect, and the header is not in the document.
   */
  idempotency?: 'whole-call' | 'per-item' | 'no-effect' | 'not-documented'
  /** Makes the answer from the verb's result. */
  present?(result: never): UnencodedResponse
}

/** JSON in the database. `edit`: version of the resource, for the tag of the answer. */
interface StoredResponse {
  headers: Record<string, string | undefined>
  body: unknown
  edit?: number
}

/** A new answer, to be encoded with `ctx`; or the stored first answer. */
type Outcome<A> = { answer: A; ctx: RequestContext } | { entry: Entry }

const HEADER = 'idempotency-key'

export const acceptsKey = ({ method, idempotency = 'whole-call' }: KeyedOperation) =>
  method !== 'GET' && (idempotency === 'whole-call' || idempotency === 'per-item')

/** Runs `handle`, with the request's key if it has one. */
export async function handleIdempotently<A extends UnencodedResponse>(
  operation: KeyedOperation,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (ctx: RequestContext) => Promise<A>,
): Promise<Outcome<A>> {
  const caller = request.caller!
  const header = request.headers[HEADER] as string | undefined
  if (header === undefined || !acceptsKey(operation)) return { answer: await handle(caller), ctx: caller }
  // The stored and the sent answer use one time, because statuses depend on it.
  let moment: Date | null = null
  const codec = {
    encode(result: unknown): Entry {
      moment = caller.clock()
      return toEntry(operation, operation.present!(result as never), atTime(caller, moment))
    },
    decode(entry: Entry): never {
      throw new Repeated(entry)
    },
  }
  const text = `${request.method} ${request.url}\n${canonical(request.body)}`
  const idempotency = await KeyedRequest.begin(caller, { header, request: text, codec })
  try {
    const answer = await handle({ ...caller, idempotency })
    if (idempotency.isRepeat) reply.header(REPLAYED, 'true')
    return { answer, ctx: moment ? atTime(caller, moment) : caller }
  } catch (error) {
    if (error instanceof Repeated) return { entry: error.entry }
    throw error
  } finally {
    idempotency.end()
  }
}

const REPLAYED = 'idempotency-replayed'

const atTime = (ctx: RequestContext, moment: Date): RequestContext => ({ ...ctx, clock: () => moment })

function toEntry(
  { responses }: KeyedOperation,
  { status, body, headers = {} }: UnencodedResponse,
  ctx: RequestContext,
): Entry {
  const { schema } = responses[status]!
  const masked = { ...ctx, actor: { ...ctx.actor, secretsRead: false } }
  const { secretSet, editVersion } = (body ?? {}) as { secretSet?: { id: string } | null; editVersion?: number }
  const kept: StoredResponse = { headers, body: schema && encode(schema, body as never, masked), edit: editVersion }
  return { status, answer: JSON.stringify(kept), secretSetId: secretSet?.id ?? null }
}

/** Sends the first answer again. Secret values are included while their set exists, if the caller may read them now. */
export async function replay(
  reply: FastifyReply,
  operation: KeyedOperation,
  ctx: ReadContext,
  { status, answer, secretSetId }: Entry,
): Promise<FastifyReply> {
  const { headers, body, edit } = JSON.parse(answer) as StoredResponse
  const secrets = secretSetId === null ? null : await readSecrets(ctx, secretSetId)
  reply.code(status).headers(headers).header(REPLAYED, 'true')
  const schema = operation.responses[status]?.schema
  return schema
    ? sendStoredJson(reply, operation, schema, { ...(body as object), ...(secrets && { secrets }) }, edit)
    : reply.send()
}

/** For the OpenAPI document: the key header of a request. */
export function keyHeader(operation: KeyedOperation): z.ZodObject | null {
  if (operation.method === 'GET' || operation.idempotency === 'not-documented') return null
  return z.object({ 'Idempotency-Key': acceptsKey(operation) ? KEY : KEY_WITHOUT_EFFECT })
}

const text = z.string().min(1).max(255).optional()
const KEY = text.describe(
  'Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write.',
)
const KEY_WITHOUT_EFFECT = text.describe('The header has no effect: each call creates something new.')

/** For the OpenAPI document: the header of a repeated answer. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    type: 'string',
    description: '`true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise.',
  },
} as const
