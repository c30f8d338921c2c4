/**
 * GETs whose answers are given again while nothing has changed (api/response-cache): the bytes that were sent, with their tag; so for
 * who has them already it is a comparison. An answer with values of secrets is made anew each time: of it only the tag is kept.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { versionReadAt } from '../../../domain/cache-version/read-at.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { FreshResponse, ResponseCache } from '../../response-cache/response-cache.ts'
import { type Conditions, noneMatch, represent, sendTagged } from './conditional-requests.ts'

/** What there is to know of an operation whose answers may be given again: all that they show raises the version (domain/cache-version). */
export interface Cacheable {
  /** of its query: with one of them, a wait among them, each answer is made anew */
  exceptWithQuery?: readonly string[]
  /** Until when an answer with this body holds, by the clock (deployment-status/expiry.ts). */
  validUntil?(body: unknown, now: Date): Date | null
  /** Whether the answer shows this caller values of secrets. */
  hasSecrets?(body: unknown, ctx: RequestContext): boolean
  /** it shows when a listener was last heard */
  showsLastSeen?: boolean
}

/** The part of an operation that this is about. */
interface CacheableOperation {
  operationId: string
  responses: Record<number, { schema: z.ZodType | null }>
  cacheable?: Cacheable
}

/** Keeps the types of the bodies together. */
export const cacheable = <B>(declared: {
  exceptWithQuery?: readonly string[]
  validUntil?(body: B, now: Date): Date | null
  hasSecrets?(body: B, ctx: RequestContext): boolean
  showsLastSeen?: boolean
}): { cacheable: Cacheable } => ({ cacheable: declared as Cacheable })

/** Whether this request is one whose answer may be given again. */
export function isCacheableRequest(
  { cacheable }: Pick<CacheableOperation, 'cacheable'>,
  query: unknown,
  { raw }: Conditions,
): boolean {
  if (!cacheable || raw.refused) return false
  const sent = query as Record<string, unknown>
  return !cacheable.exceptWithQuery?.some((name) => sent[name] !== undefined)
}

/** `body` null: it is known by its tag alone. A text is one that was made just now. */
type CachedBody = { body: string | Buffer | null; tag: string }

/** Answers a GET, which is a 200 whenever it throws nothing. */
export async function answerFromCache(
  responseCache: ResponseCache,
  { url, caller }: FastifyRequest,
  reply: FastifyReply,
  { operationId, responses, cacheable }: CacheableOperation,
  { ifNoneMatch }: Conditions,
  handle: (ctx: RequestContext) => Promise<{ body: unknown }>,
): Promise<FastifyReply> {
  const ctx = caller!
  const { validUntil, hasSecrets, showsLastSeen = false } = cacheable!
  const read = async (): Promise<FreshResponse<CachedBody>> => {
    const { body } = await handle(ctx)
    const now = ctx.clock()
    const value = represent(responses[200]!.schema!, body, ctx)
    const toEntry = () => {
      const bytes = hasSecrets?.(body, ctx) ? null : toOwnBuffer(value.body)
      return { value: { body: bytes, tag: value.tag }, bytes: ENTRY_OVERHEAD_BYTES + (bytes?.length ?? 0) }
    }
    return {
      value,
      toEntry,
      version: versionReadAt(versionSource(body)),
      showsLastSeen,
      expiresAt: validUntil?.(body, now) ?? null,
    }
  }
  const isSufficient = ({ body, tag }: CachedBody) => body !== null || !noneMatch(ifNoneMatch, tag)
  return sendTagged(reply, await responseCache.getOrRead(ctx, `${operationId} ${url}`, read, isSufficient), ifNoneMatch)
}

/** Of a page its first row knows what it was read at. */
const versionSource = (body: unknown): object => (body as { resources?: object[] }).resources?.[0] ?? (body as object)

/** In memory of its own: small ones share theirs with others, all of which would be kept with them. */
function toOwnBuffer(text: string): Buffer {
  const own = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  own.write(text)
  return own
}

/** Bytes of what is kept with a body. */
const ENTRY_OVERHEAD_BYTES = 200
