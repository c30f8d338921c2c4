/**
 * Idempotency-Key in REST (docs/api-rules.md#retries): of a write that was done before, the answer as it was, with its
 * status and headers. Stored is what a caller would see who may not read secrets; values come from their set.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { canonical } from '../../../domain/idempotency/fingerprint.ts'
import { KeyedRequest } from '../../../domain/idempotency/keyed-request.ts'
import { readSecrets } from '../../../domain/idempotency/secrets.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { type Entry, Repeated } from '../../../domain/transaction/idempotency.ts'
import { encode } from '../responses/response-schema.ts'
import { type ConditionalOperation, sendStoredJson } from './conditional-requests.ts'

/** An answer before it is encoded. */
interface UnencodedResponse {
  status: number
  body: unknown
  headers?: Record<string, string | undefined>
}

/** The part of an operation that keys are about. */
export interface KeyedOperation extends ConditionalOperation {
  responses: Record<number, { schema: z.ZodType | null }>
  /** What a key does: default `answered`: the whole call is done once. `items`: each of the things that it does. `anew`: nothing, each call gets something of its own. `ignored`: nothing. */
  idempotency?: 'whole-call' | 'per-item' | 'no-effect' | 'not-documented'
  /** How the verb's result is answered. */
  present?(result: never): UnencodedResponse
}

/** What is kept of an answer. */
interface StoredResponse {
  headers: Record<string, string | undefined>
  body: unknown
  /** of the resource, for the tag of the answer */
  edit?: number
}

/** What came of a request: what the operation answers, to be encoded by `ctx`; or what it answered the first time. */
type Outcome<A> = { answer: A; ctx: RequestContext } | { entry: Entry }

const HEADER = 'idempotency-key'

/** Whether the operation takes a key. */
export const acceptsKey = ({ method, idempotency = 'whole-call' }: KeyedOperation) =>
  method !== 'GET' && (idempotency === 'whole-call' || idempotency === 'per-item')

/** Runs `handle`, under the request's key if it has one. */
export async function handleIdempotently<A extends UnencodedResponse>(
  operation: KeyedOperation,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (ctx: RequestContext) => Promise<A>,
): Promise<Outcome<A>> {
  const caller = request.caller!
  const header = request.headers[HEADER] as string | undefined
  if (header === undefined || !acceptsKey(operation)) return { answer: await handle(caller), ctx: caller }
  // what was stored and what is sent are of one moment: statuses are derived from the time, too
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

/** Answers as the first time. Values of secrets: while their set is kept, and for who may read them now. */
export async function replay(
  reply: FastifyReply,
  operation: KeyedOperation,
  ctx: RequestContext,
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

/** In the document: the header of a request to it. Null: it has none. */
export function keyHeader(operation: KeyedOperation): z.ZodObject | null {
  if (operation.method === 'GET' || operation.idempotency === 'not-documented') return null
  return z.object({ 'Idempotency-Key': acceptsKey(operation) ? KEY : KEY_WITHOUT_EFFECT })
}

const text = z.string().min(1).max(255).optional()
const KEY = text.describe(
  'Makes the call safe to repeat: within 24 hours the same call with the same key, by the same caller, is answered as the first time, and nothing is done twice. Best a random UUID for each write.',
)
const KEY_WITHOUT_EFFECT = text.describe('Without effect: each call gets something of its own.')

/** In the document: of an answer that may be one of before. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    type: 'string',
    description: '`true`: the answer to an earlier call with this `Idempotency-Key`. Absent otherwise.',
  },
} as const
