/** One HTTP request, as the limits count it: its address and weight, the headers that report its limits, and when it is over. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressKey } from './address.ts'
import type { ConnectionLimit } from './connection-limit.ts'
import type { BucketState } from './token-buckets.ts'

export interface RequestScope {
  /** of the client, by which calls without a valid key are counted */
  address: string
  /** how many calls it counts as: one, and one more for each 16 KiB of its body */
  weight: number
  /** calls that keep a lease or end it: they wait for their turn, and are never answered 429 */
  keepsLease: boolean
  /** aborts when the client is gone before it had its answer */
  gone: AbortSignal
  /** Reports what is left of a limit in the headers of the answer, whatever that will be. */
  reportLimit(policy: string, state: BucketState): void
  /** Calls back when the answer has been written, or the client is gone, or `over` is called. */
  onEnd(done: () => void): void
  /** The answer goes on as a stream: as a call it is over, and nothing of it is kept. */
  end(): void
  /** A valid key was shown: its connection is not a stranger's any more. */
  markAuthenticated(): void
}

interface RequestScopeOptions {
  keepsLease?: boolean
  /** of the server that the request came to */
  connectionLimit?: ConnectionLimit
}

export function createRequestScope(
  request: FastifyRequest,
  { raw }: FastifyReply,
  options: RequestScopeOptions = {},
): RequestScope {
  return new HttpRequestScope(request, raw, options)
}

class HttpRequestScope implements RequestScope {
  readonly weight: number
  readonly keepsLease: boolean
  /** both null when it goes on as a stream, which must not keep them */
  #request: FastifyRequest | null
  #response: ServerResponse | null
  readonly #connectionLimit: ConnectionLimit | undefined
  readonly #onClose = () => this.#handleClose()
  /** made for who asks for it */
  #gone: AbortController | undefined
  /** null: it is over */
  #endCallbacks: (() => void)[] | null

  constructor(
    request: FastifyRequest,
    response: ServerResponse,
    { keepsLease = false, connectionLimit }: RequestScopeOptions,
  ) {
    this.weight = weightOf(request.raw.headers)
    this.keepsLease = keepsLease
    this.#request = request
    this.#response = response
    this.#connectionLimit = connectionLimit
    this.#endCallbacks = response.closed ? null : []
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

  reportLimit(policy: string, state: BucketState): void {
    // past Fastify: GraphQL's answers are written without it
    this.#response?.setHeader('ratelimit-policy', formatPolicy(policy, state))
    this.#response?.setHeader('ratelimit', formatLimit(policy, state))
  }

  onEnd(done: () => void): void {
    // who was gone while he waited for his turn must not keep it
    if (this.#endCallbacks) this.#endCallbacks.push(done)
    else done()
  }

  end(): void {
    this.#response?.off('close', this.#onClose)
    this.#request = null
    this.#response = null
    this.#runEndCallbacks()
  }

  markAuthenticated(): void {
    if (this.#request) this.#connectionLimit?.markAuthenticated(this.#request.raw.socket)
  }

  #handleClose(): void {
    if (!this.#response?.writableFinished) this.#gone?.abort()
    this.#runEndCallbacks()
  }

  #runEndCallbacks(): void {
    const waiting = this.#endCallbacks ?? []
    this.#endCallbacks = null
    for (const done of waiting) done()
  }
}

/** Bytes of a body that cost about as much as another call. */
const BYTES_PER_CALL = 16 * 1024
/** Bytes of a body that are read at most: one that says it is larger is refused, and what was said of it costs nothing. */
const MAX_BODY_BYTES = 1024 * 1024
/** Calls that a body without Content-Length counts as. */
const CHUNKED_BODY_WEIGHT = 8

function weightOf(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return CHUNKED_BODY_WEIGHT
  return 1 + Math.floor(Math.min(Number(headers['content-length']) || 0, MAX_BODY_BYTES) / BYTES_PER_CALL)
}

/** `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: the quota, and in how many seconds all of it comes back. */
function formatPolicy(policy: string, { burst, perSecond }: BucketState): string {
  return `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`
}

/** `RateLimit` of the same draft: what is left of it, and in how many seconds all of it is back. */
function formatLimit(policy: string, { remaining, fullInSeconds: fullIn }: BucketState): string {
  return `"${policy}";r=${remaining};t=${fullIn}`
}
