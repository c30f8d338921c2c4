/** GETs that are answered from the response cache (api/response-cache) while nothing has changed. See README.md. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { versionReadAt } from '../../../domain/change-feed/version.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { FreshResponse, ResponseCache } from '../../responses/response-cache.ts'
import { type Conditions, noneMatch, represent, sendTagged } from './conditional-requests.ts'

/** Cache rules of an operation. Every write to what it shows must raise the version (domain/change-feed). */
export interface Cacheable {
  /** query parameters, `wait` for example, that exclude a request from the cache */
  exceptWithQuery?: readonly string[]
  /** When the answer changes with the clock alone (deployment-status/expiry.ts); null: never. */
  validUntil?(body: unknown, now: Date): Date | null
  /** Whether the answer shows secret values to this caller. Then only its tag is cached. */
  hasSecrets?(body: unknown, ctx: RequestContext): boolean
  /** whether it shows the time of a listener's last call */
  showsLastSeen?: boolean
}

/** The members of an operation that matter for the cache. */
interface CacheableOperation {
  operationId: string
  responses: Record<number, { schema: z.ZodType | null }>
  cacheable?: Cacheable
}

/** Infers the type of the body for all members. */
export const cacheable = <B>(declared: {
  exceptWithQuery?: readonly string[]
  validUntil?(body: B, now: Date): Date | null
  hasSecrets?(body: B, ctx: RequestContext): boolean
  showsLastSeen?: boolean
}): { cacheable: Cacheable } => ({ cacheable: declared as Cacheable })

export function isCacheableRequest(
  { cacheable }: Pick<CacheableOperation, 'cacheable'>,
  query: unknown,
  { raw }: Conditions,
): boolean {
  if (!cacheable || raw.refused) return false
  const sent = query as Record<string, unknown>
  return !cacheable.exceptWithQuery?.some((name) => sent[name] !== undefined)
}

/** `body`: null if only the tag is cached; a string if it was just encoded. */
type CachedBody = { body: string | Buffer | null; tag: string }

/** Answers a GET. Its only success status is 200. */
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

/** The object with the version of the read. In a page it is the first row. */
const versionSource = (body: unknown): object => (body as { resources?: object[] }).resources?.[0] ?? (body as object)

/** Not from Node's buffer pool: a cached slice would keep the whole pool in memory. */
function toOwnBuffer(text: string): Buffer {
  const own = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  own.write(text)
  return own
}

/** Memory of an entry in addition to its body. */
const ENTRY_OVERHEAD_BYTES = 200
