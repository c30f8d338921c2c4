/** One HTTP request, as the limits count it: its address and weight, the headers that report its limits, and when it is over. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey } from './address.ts'
import type { Connections } from './connections.ts'
import type { Standing } from './token-buckets.ts'

export interface Visit {
  /** of the client, by which calls without a valid key are counted */
  address: string
  /** how many calls it counts as: one, and one more for each 16 KiB of its body */
  weight: number
  /** calls that keep a lease or end it: they wait for their turn, and are never answered 429 */
  keepsLease: boolean
  /** aborts when the client is gone before it had its answer */
  gone: AbortSignal
  /** Reports what is left of a limit in the headers of the answer, whatever that will be. */
  tell(policy: string, standing: Standing): void
  /** Calls back when the answer has been written, or the client is gone, or `over` is called. */
  onEnd(done: () => void): void
  /** The answer goes on as a stream: as a call it is over, and nothing of it is kept. */
  over(): void
  /** A valid key was shown: its connection is not a stranger's any more. */
  recognized(): void
}

/** `connections`: of the server that the request came to */
export function visitOf(
  request: FastifyRequest,
  { raw }: FastifyReply,
  { keepsLease = false, connections }: { keepsLease?: boolean; connections?: Connections } = {},
): Visit {
  const gone = new AbortController()
  let ended: (() => void)[] | null = raw.closed ? null : []
  const end = () => {
    const waiting = ended ?? []
    ended = null
    for (const done of waiting) done()
  }
  const onClose = () => {
    if (!raw.writableFinished) gone.abort()
    end()
  }
  raw.once('close', onClose)
  return {
    address: addressKey(request.ip),
    weight: weightOf(request.raw.headers),
    keepsLease,
    gone: gone.signal,
    tell(policy, standing) {
      // past Fastify: GraphQL's answers are written without it
      raw.setHeader('ratelimit-policy', policyText(policy, standing))
      raw.setHeader('ratelimit', standingText(policy, standing))
    },
    // who was gone while he waited for his turn must not keep it
    onEnd: (done) => void (ended ? ended.push(done) : done()),
    over() {
      raw.off('close', onClose)
      end()
    },
    recognized: () => connections?.recognize(request.raw.socket),
  }
}

/** Bytes of a body that cost about as much as another call. */
const CALL = 16 * 1024
/** Calls that a body without Content-Length counts as. */
const CHUNKED = 8

function weightOf(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return CHUNKED
  return 1 + Math.floor((Number(headers['content-length']) || 0) / CALL)
}

/** `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: the quota, and in how many seconds all of it comes back. */
function policyText(policy: string, { burst, perSecond }: Standing): string {
  return `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`
}

/** `RateLimit` of the same draft: what is left of it, and in how many seconds all of it is back. */
function standingText(policy: string, { remaining, fullIn }: Standing): string {
  return `"${policy}";r=${remaining};t=${fullIn}`
}
