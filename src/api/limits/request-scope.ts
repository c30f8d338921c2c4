/** One HTTP request as the limits see it: address, weight, rate limit headers, and its end. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BucketState } from '../../platform/async/token-buckets.ts'
import { addressKey } from '../../platform/http/client-address.ts'
import type { RequestTrace } from '../../platform/tracing/tracing.ts'
import { markAuthenticated } from './address-limits.ts'

export interface RequestScope {
  /** the client's address key; counts calls without a valid key */
  address: string
  /** calls that it counts as: one, plus one per 16 KiB of body */
  weight: number
  /** the call keeps or ends a lease: it waits for a slot and never gets a 429 */
  keepsLease: boolean
  /** absent: no collector is set */
  trace?: RequestTrace | undefined
  /** aborts when the client disconnects before its answer is complete */
  gone: AbortSignal
  /** Reports a limit's state in the headers of the answer, for any status. */
  reportLimit(policy: string, state: BucketState): void
  /** Calls back when the answer is written, the client disconnects, or `end` is called. */
  onEnd(done: () => void): void
  /** The answer continues as a stream: the call ends, and its request and response are released. */
  end(): void
  /** The request had a valid key, so its connection no longer counts as unauthenticated. */
  markAuthenticated(): void
}

export class HttpRequestScope implements RequestScope {
  readonly weight: number
  readonly keepsLease: boolean
  readonly trace: RequestTrace | undefined
  /** null once the answer is a stream, so that a long stream does not retain them */
  #request: FastifyRequest | null
  #response: ServerResponse | null
  readonly #onClose = () => this.#handleClose()
  #gone: AbortController | undefined
  #endCallbacks: (() => void)[] | null

  constructor(request: FastifyRequest, { raw: response }: FastifyReply, keepsLease = false) {
    this.weight = weightOf(request.raw.headers)
    this.keepsLease = keepsLease
    this.trace = request.trace ?? undefined
    this.#request = request
    this.#response = response
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
    // on the raw response, because GraphQL's answers bypass Fastify
    this.#response?.setHeader('ratelimit-policy', formatPolicy(policy, state))
    this.#response?.setHeader('ratelimit', formatLimit(policy, state))
  }

  onEnd(done: () => void): void {
    // the client may have disconnected while it waited for a slot; release the slot now
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
    if (this.#request) markAuthenticated(this.#request.raw.socket)
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

/** A body of this size costs about as much as another call. */
const BYTES_PER_CALL = 16 * 1024
/** A longer body is rejected unread, so it must not cost more than this. */
const MAX_BODY_BYTES = 1024 * 1024
/** Weight of a body without Content-Length, in calls. */
const CHUNKED_BODY_WEIGHT = 8

function weightOf(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return CHUNKED_BODY_WEIGHT
  return 1 + Math.floor(Math.min(Number(headers['content-length']) || 0, MAX_BODY_BYTES) / BYTES_PER_CALL)
}

/** `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers: the quota, and the seconds until an empty bucket is full. */
function formatPolicy(policy: string, { burst, perSecond }: BucketState): string {
  return `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`
}

/** `RateLimit` of the same draft: the remaining calls, and the seconds until the bucket is full. */
function formatLimit(policy: string, { remaining, fullInSeconds: fullIn }: BucketState): string {
  return `"${policy}";r=${remaining};t=${fullIn}`
}
