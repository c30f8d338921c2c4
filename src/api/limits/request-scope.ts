/** One HTTP request, as the limits count it: its address and weight, the headers that report its limits, and when it is over. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey } from './address.ts'
import type { Connections } from './connection-limit.ts'
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

interface VisitOptions {
  keepsLease?: boolean
  /** of the server that the request came to */
  connections?: Connections
}

export function visitOf(request: FastifyRequest, { raw }: FastifyReply, options: VisitOptions = {}): Visit {
  return new HttpVisit(request, raw, options)
}

class HttpVisit implements Visit {
  readonly weight: number
  readonly keepsLease: boolean
  /** both null when it goes on as a stream, which must not keep them */
  #request: FastifyRequest | null
  #response: ServerResponse | null
  readonly #connections: Connections | undefined
  readonly #onClose = () => this.#closed()
  /** made for who asks for it */
  #gone: AbortController | undefined
  /** null: it is over */
  #ended: (() => void)[] | null

  constructor(request: FastifyRequest, response: ServerResponse, { keepsLease = false, connections }: VisitOptions) {
    this.weight = weightOf(request.raw.headers)
    this.keepsLease = keepsLease
    this.#request = request
    this.#response = response
    this.#connections = connections
    this.#ended = response.closed ? null : []
    response.on('close', this.#onClose)
  }

  get address(): string {
    return addressKey(this.#request?.ip)
  }

  get gone(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController()
      if (this.#response?.closed && !this.#response.writableFinished) this.#gone.abort()
    }
    return this.#gone.signal
  }

  tell(policy: string, standing: Standing): void {
    // past Fastify: GraphQL's answers are written without it
    this.#response?.setHeader('ratelimit-policy', policyText(policy, standing))
    this.#response?.setHeader('ratelimit', standingText(policy, standing))
  }

  onEnd(done: () => void): void {
    // who was gone while he waited for his turn must not keep it
    if (this.#ended) this.#ended.push(done)
    else done()
  }

  over(): void {
    this.#response?.off('close', this.#onClose)
    this.#request = null
    this.#response = null
    this.#end()
  }

  recognized(): void {
    if (this.#request) this.#connections?.recognize(this.#request.raw.socket)
  }

  #closed(): void {
    if (!this.#response?.writableFinished) this.#gone?.abort()
    this.#end()
  }

  #end(): void {
    const waiting = this.#ended ?? []
    this.#ended = null
    for (const done of waiting) done()
  }
}

/** Bytes of a body that cost about as much as another call. */
const CALL = 16 * 1024
/** Bytes of a body that are read at most: one that says it is larger is refused, and what was said of it costs nothing. */
const MOST_READ = 1024 * 1024
/** Calls that a body without Content-Length counts as. */
const CHUNKED = 8

function weightOf(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return CHUNKED
  return 1 + Math.floor(Math.min(Number(headers['content-length']) || 0, MOST_READ) / CALL)
}

/** `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: the quota, and in how many seconds all of it comes back. */
function policyText(policy: string, { burst, perSecond }: Standing): string {
  return `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`
}

/** `RateLimit` of the same draft: what is left of it, and in how many seconds all of it is back. */
function standingText(policy: string, { remaining, fullIn }: Standing): string {
  return `"${policy}";r=${remaining};t=${fullIn}`
}
