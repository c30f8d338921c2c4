/** Limits the requests of one deployment, so that a flood of it costs other deployments little (docs/operations.md#bounds). */
import type { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, type Readable, Transform } from 'node:stream'
import type { Bounds } from '../dataplane/process/door/messages.ts'
import { TokenBuckets } from '../platform/async/token-buckets.ts'
import { addressKey, clientAddress, matcher } from '../platform/http/client-address.ts'
import { answer, refuse } from './answers.ts'

export interface Refusal {
  status: 413 | 429 | 503
  detail: string
  retryAfterSeconds?: number
}

/** A client that retries immediately would otherwise use all CPU time of the door. */
const REFUSAL_DELAY_MS = 1000
/** Refusals of one deployment that wait. Above this number, connections are closed. */
const MAX_DELAYED_REFUSALS = 5000
/** time for a client to stop sending a refused body */
const DISCARD_MS = 5000
/** requests that may come in one moment, in seconds of the rate */
const BURST_SECONDS = 2

const TOO_LARGE = 'The body of the request is larger than this server allows for a deployment.'
const TOO_MANY_OPEN: Refusal = {
  status: 503,
  detail: 'This deployment has too many open requests. Try again.',
}

export class RequestBounds {
  #bounds: Bounds | null = null
  #deploymentBucket: TokenBuckets | null = null
  #clientBuckets: TokenBuckets | null = null
  #isTrustedProxy: (address: string | undefined) => boolean = () => false
  #open = 0
  #delayed = 0

  /** Undefined: no limits. */
  set(bounds: Bounds | undefined): void {
    // buckets must not be full again at each change of the state
    if (JSON.stringify(bounds ?? null) === JSON.stringify(this.#bounds)) return
    this.#bounds = bounds ?? null
    this.#deploymentBucket = bucketsOf(bounds?.requestsPerSecond)
    this.#clientBuckets = bucketsOf(bounds?.clientRequestsPerSecond)
    this.#isTrustedProxy = matcher(bounds?.trustProxy ?? [])
  }

  /** Counts `exchange`, a response or socket, until it closes. Null: it is admitted. */
  admit(request: IncomingMessage, exchange: EventEmitter): Refusal | null {
    const { requests = null, bodyBytes = null } = this.#bounds ?? {}
    const length = request.headers['content-length']
    if (bodyBytes !== null && length !== undefined && Number(length) > bodyBytes)
      return { status: 413, detail: TOO_LARGE }
    // first, so that a refused client takes nothing from the others
    const client = this.#clientBuckets?.take(addressKey(clientAddress(request, this.#isTrustedProxy)))
    if (client && !client.admitted)
      return tooOften('This client sends too many requests to this deployment.', client.retryAfterSeconds)
    const all = this.#deploymentBucket?.take('')
    if (all && !all.admitted) return tooOften('This deployment gets too many requests.', all.retryAfterSeconds)
    if (requests !== null && this.#open >= requests) return TOO_MANY_OPEN
    this.#open++
    exchange.once('close', () => this.#open--)
    return null
  }

  /** Answers a request that was not admitted. */
  answerRefused(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    if (refusal.status === 413) return void answerTooLarge(request, response)
    this.#delay(response, () => {
      answer(response, refusal.status, refusal.detail, retryAfter(refusal))
      discardBody(request)
    })
  }

  /** Answers a WebSocket that was not admitted. */
  refuseUpgrade(socket: Duplex, refusal: Refusal): void {
    this.#delay(socket, () => refuse(socket, refusal.status, retryAfter(refusal)))
  }

  /** A body of unknown length, up to the limit. Undefined: the request has no such body, or there is no limit. */
  limitedBody(request: IncomingMessage, response: ServerResponse, onTooLarge: () => void): Readable | undefined {
    let left = this.#bounds?.bodyBytes ?? null
    if (left === null || request.headers['transfer-encoding'] === undefined) return undefined
    const body = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        left! -= chunk.length
        if (left! >= 0) return done(null, chunk)
        request.unpipe(body)
        answerTooLarge(request, response)
        onTooLarge()
      },
    })
    return request.pipe(body)
  }

  /** Closes an upgraded socket that has no traffic. */
  closeWhenIdle(socket: Duplex & { setTimeout?(ms: number, onTimeout: () => void): unknown }): void {
    const idleMs = this.#bounds?.idleMs
    if (idleMs) socket.setTimeout?.(idleMs, () => socket.destroy())
  }

  /** Calls `act` later, unless the client leaves. */
  #delay(exchange: ServerResponse | Duplex, act: () => void): void {
    if (this.#delayed >= MAX_DELAYED_REFUSALS) return void exchange.destroy()
    this.#delayed++
    const timer = setTimeout(act, REFUSAL_DELAY_MS)
    exchange.once('close', () => {
      clearTimeout(timer)
      this.#delayed--
    })
  }
}

const bucketsOf = (perSecond: number | null | undefined) =>
  perSecond ? new TokenBuckets({ perSecond, burst: perSecond * BURST_SECONDS }) : null

const retryAfter = ({ retryAfterSeconds }: Refusal): Record<string, string> =>
  retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }

const tooOften = (cause: string, retryAfterSeconds: number): Refusal => ({
  status: 429,
  detail: `${cause} Try again in ${retryAfterSeconds} s.`,
  retryAfterSeconds,
})

function answerTooLarge(request: IncomingMessage, response: ServerResponse): void {
  answer(response, 413, TOO_LARGE)
  discardBody(request)
}

/** A connection that is reset while the client sends would hide the answer from it. */
function discardBody(request: IncomingMessage): void {
  if (request.complete) return
  request.resume()
  setTimeout(() => request.complete || request.destroy(), DISCARD_MS).unref()
}

/** A request takes the door about 0.1 ms of CPU. More turns cost CPU, too, so a deployment that is alone begins more in one. */
const PER_TURN = { alone: 8, shared: 1 }
/** After a request of another deployment, a deployment is not alone for this time, in ms. */
const SHARED_MS = 100

/** of the whole door: who began the last request, and `performance.now()` of the last change */
let last: Turns | null = null
let changedAt = Number.NEGATIVE_INFINITY

/** Lets a deployment begin a few requests in each turn of the event loop, so that a flood of it delays others by moments only. */
export class Turns {
  #begun = 0
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  /** Calls `begin` immediately, or in a later turn after those that wait. */
  take(begin: () => void): void {
    if (last !== this) {
      if (last) changedAt = performance.now()
      last = this
    }
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#turn())
    }
    if (this.#waiting.length === 0 && this.#begun < perTurn()) {
      this.#begun++
      begin()
    } else this.#waiting.push(begin)
  }

  #turn(): void {
    const begun = this.#waiting.splice(0, perTurn())
    this.#begun = begun.length
    for (const begin of begun) begin()
    this.#isScheduled = begun.length > 0
    if (this.#isScheduled) setImmediate(() => this.#turn())
  }
}

const perTurn = () => (performance.now() - changedAt < SHARED_MS ? PER_TURN.shared : PER_TURN.alone)
