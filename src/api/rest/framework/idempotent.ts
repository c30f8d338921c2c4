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
import { encode } from '../responses/answer.ts'
import { answerEncoded, type Conditional } from './conditional.ts'

/** An answer before it is encoded. */
interface Answered {
  status: number
  body: unknown
  headers?: Record<string, string | undefined>
}

/** The part of an operation that keys are about. */
export interface Repeatable extends Conditional {
  answers: Record<number, { schema: z.ZodType | null }>
  /** What a key does: default `answered`: the whole call is done once. `items`: each of the things that it does. `anew`: nothing, each call gets something of its own. `ignored`: nothing. */
  repeats?: 'answered' | 'items' | 'anew' | 'ignored'
  /** How the verb's result is answered. */
  present?(result: never): Answered
}

/** What is kept of an answer. */
interface Kept {
  headers: Record<string, string | undefined>
  body: unknown
  /** of the resource, for the tag of the answer */
  edit?: number
}

/** What came of a request: what the operation answers, to be encoded by `ctx`; or what it answered the first time. */
type Outcome<A> = { answer: A; ctx: RequestContext } | { entry: Entry }

const HEADER = 'idempotency-key'

/** Whether the operation takes a key. */
export const takesKey = ({ method, repeats = 'answered' }: Repeatable) =>
  method !== 'GET' && (repeats === 'answered' || repeats === 'items')

/** Runs `handle`, under the request's key if it has one. */
export async function handleOnce<A extends Answered>(
  operation: Repeatable,
  request: FastifyRequest,
  reply: FastifyReply,
  handle: (ctx: RequestContext) => Promise<A>,
): Promise<Outcome<A>> {
  const caller = request.caller!
  const header = request.headers[HEADER] as string | undefined
  if (header === undefined || !takesKey(operation)) return { answer: await handle(caller), ctx: caller }
  // what was stored and what is sent are of one moment: statuses are derived from the time, too
  let moment: Date | null = null
  const keeping = {
    encode(result: unknown): Entry {
      moment = caller.clock()
      return toEntry(operation, operation.present!(result as never), at(caller, moment))
    },
    decode(entry: Entry): never {
      throw new Repeated(entry)
    },
  }
  const text = `${request.method} ${request.url}\n${canonical(request.body)}`
  const idempotency = await KeyedRequest.begin(caller, { header, request: text, codec: keeping })
  try {
    const answer = await handle({ ...caller, idempotency })
    if (idempotency.isRepeat) reply.header(REPLAYED, 'true')
    return { answer, ctx: moment ? at(caller, moment) : caller }
  } catch (error) {
    if (error instanceof Repeated) return { entry: error.entry }
    throw error
  } finally {
    idempotency.end()
  }
}

const REPLAYED = 'idempotency-replayed'

const at = (ctx: RequestContext, moment: Date): RequestContext => ({ ...ctx, clock: () => moment })

function toEntry({ answers }: Repeatable, { status, body, headers = {} }: Answered, ctx: RequestContext): Entry {
  const { schema } = answers[status]!
  const masked = { ...ctx, actor: { ...ctx.actor, secretsRead: false } }
  const { secretSet, editVersion } = (body ?? {}) as { secretSet?: { id: string } | null; editVersion?: number }
  const kept: Kept = { headers, body: schema && encode(schema, body as never, masked), edit: editVersion }
  return { status, answer: JSON.stringify(kept), secretSetId: secretSet?.id ?? null }
}

/** Answers as the first time. Values of secrets: while their set is kept, and for who may read them now. */
export async function answerAgain(
  reply: FastifyReply,
  operation: Repeatable,
  ctx: RequestContext,
  { status, answer, secretSetId }: Entry,
): Promise<FastifyReply> {
  const { headers, body, edit } = JSON.parse(answer) as Kept
  const secrets = secretSetId === null ? null : await readSecrets(ctx, secretSetId)
  reply.code(status).headers(headers).header(REPLAYED, 'true')
  const schema = operation.answers[status]?.schema
  return schema
    ? answerEncoded(reply, operation, schema, { ...(body as object), ...(secrets && { secrets }) }, edit)
    : reply.send()
}

/** In the document: the header of a request to it. Null: it has none. */
export function keyParameter(operation: Repeatable): z.ZodObject | null {
  if (operation.method === 'GET' || operation.repeats === 'ignored') return null
  return z.object({ 'Idempotency-Key': takesKey(operation) ? KEY : KEY_ANEW })
}

const text = z.string().min(1).max(255).optional()
const KEY = text.describe(
  'Makes the call safe to repeat: within 24 hours the same call with the same key, by the same caller, is answered as the first time, and nothing is done twice. Best a random UUID for each write.',
)
const KEY_ANEW = text.describe('Without effect: each call gets something of its own.')

/** In the document: of an answer that may be one of before. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    type: 'string',
    description: '`true`: the answer to an earlier call with this `Idempotency-Key`. Absent otherwise.',
  },
} as const
