/**
 * Admits or refuses calls: rate and concurrency per API key over all transports, a rate per address for unknown keys, and
 * the concurrency of heavy documents and opening streams. State is in memory, for this server only. See README.md.
 */
import { KeyedSemaphore, type Release } from '../../domain/concurrency/keyed-semaphore.ts'
import { DomainError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import { sleep } from '../../platform/async/retry.ts'
import { type BucketState, TokenBuckets } from '../../platform/async/token-buckets.ts'
import { LoadMonitor } from './load-shedding.ts'
import type { RequestScope } from './request-scope.ts'

export interface AdmissionOptions {
  /** sustained calls per second and burst of one key; 0 per second disables the limit */
  key: { perSecond: number; burst: number }
  /** look-ups of unknown keys per address; 0 per second disables the limit */
  address: { perSecond: number; burst: number }
  /** concurrent calls of one key; 0 disables the limit */
  maxConcurrent: number
  /** concurrent heavy documents of one key; 0 disables the limit */
  maxHeavy: number
}

/** Longer GraphQL documents are heavy. An agent's document may not be longer. */
export const HEAVY_DOCUMENT_LENGTH = 2_048
/** GraphQL queries of a higher cost (cost.ts) are heavy. */
export const HEAVY_COST = 2_000
/** Queued heavy documents of one key. */
const MAX_QUEUED_HEAVY = 50
/** Streams of this server that open concurrently. Opening waits for the database, so one at a time would leave the CPU idle. */
const MAX_OPENING_STREAMS = 8
const MAX_QUEUED_STREAMS = 20_000
const STREAM_QUEUE_TIMEOUT_MS = 30_000

/** Valid credentials that skip the address limit. */
const MAX_KNOWN_CREDENTIALS = 10_000
/** After this time a call frees its slot for the next call of its key: it waits for I/O, not for the CPU. */
const SLOT_TIMEOUT_MS = 250
/** Queued calls of one key that keep leases. */
const MAX_QUEUED_LEASE_CALLS = 10_000
/** Queued calls of one address that keep leases but exceed the address limit. */
const MAX_QUEUED_ANONYMOUS_CALLS = 100
/** Delay of a 429 while the CPU is busy, and the number of 429s that may be delayed concurrently. */
const REFUSAL_DELAY_MS = 100
const MAX_DELAYED_REFUSALS = 1_000

export class Admission {
  readonly #load = new LoadMonitor()
  readonly #keyBuckets: TokenBuckets | null
  readonly #addressBuckets: TokenBuckets | null
  readonly #callSlots: KeyedSemaphore
  readonly #leaseCallSlots: KeyedSemaphore
  readonly #anonymousSlots = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: MAX_QUEUED_ANONYMOUS_CALLS })
  readonly #heavySlots: KeyedSemaphore
  readonly #openingSlots = new KeyedSemaphore({
    maxConcurrent: MAX_OPENING_STREAMS,
    maxQueued: MAX_QUEUED_STREAMS,
    queueTimeoutMs: STREAM_QUEUE_TIMEOUT_MS,
  })
  /** of running heavy documents; null: the document got no slot */
  readonly #heavyReleases = new WeakMap<RequestScope, Release | null>()
  #delayedRefusals = 0
  /** hashes of credentials that were valid when last used, oldest first */
  readonly #knownCredentials = new Set<string>()

  constructor({ key, address, maxConcurrent, maxHeavy }: AdmissionOptions) {
    const load = this.#load
    const calls = { maxConcurrent, slotTimeoutMs: SLOT_TIMEOUT_MS, load }
    this.#keyBuckets = key.perSecond > 0 ? new TokenBuckets(key) : null
    this.#addressBuckets = address.perSecond > 0 ? new TokenBuckets(address) : null
    this.#callSlots = new KeyedSemaphore({ ...calls, maxQueued: Math.max(key.burst, 1) })
    this.#leaseCallSlots = new KeyedSemaphore({ ...calls, maxQueued: MAX_QUEUED_LEASE_CALLS })
    this.#heavySlots = new KeyedSemaphore({ maxConcurrent: maxHeavy, maxQueued: MAX_QUEUED_HEAVY, load })
  }

  /**
   * Runs `find`, which throws UnauthenticatedError for an invalid credential. Each failure costs the address one look-up.
   * Throws RATE_LIMITED before the look-up when the address has none left. `hash`: the credential's hash.
   */
  async identify<T>(hash: string, requestScope: RequestScope, find: () => Promise<T>): Promise<T> {
    const done = this.#knownCredentials.has(hash)
      ? { failed() {}, succeeded() {} }
      : await this.#admitAnonymous(requestScope)
    try {
      const found = await find()
      done.succeeded()
      this.#rememberCredential(hash)
      requestScope.markAuthenticated()
      return found
    } catch (error) {
      if (error instanceof UnauthenticatedError) {
        done.failed()
        this.#knownCredentials.delete(hash)
      } else done.succeeded()
      throw error
    }
  }

  /** Charges the address for a request without a key. Throws RATE_LIMITED. */
  chargeAddress(requestScope: RequestScope): void {
    const state = this.#addressBuckets?.take(requestScope.address)
    if (!state) return
    requestScope.reportLimit('address', state)
    if (!state.admitted) throw addressBudgetSpent(state)
  }

  refundAddress(requestScope: RequestScope): void {
    this.#addressBuckets?.refund(requestScope.address)
  }

  /**
   * Charges the key for a call and waits for a free slot, usually not at all. The slot is released when the response ends,
   * or by the returned function. Rejects with RATE_LIMITED; a call that keeps a lease gets UNAVAILABLE at most.
   */
  admit(actor: Actor, requestScope: RequestScope): Release | Promise<Release> {
    const key = rateLimitKey(actor)
    const state = requestScope.keepsLease ? undefined : this.#keyBuckets?.take(key, requestScope.weight)
    if (state) {
      requestScope.reportLimit('key', state)
      if (!state.admitted) return this.#rejectOverBudget(state)
    }
    const release = (requestScope.keepsLease ? this.#leaseCallSlots : this.#callSlots).tryAcquire(key)
    if (!release) return this.#waitForSlot(key, requestScope)
    requestScope.onEnd(release)
    return release
  }

  /** Waits for a slot for a heavy document, once per request. Throws RATE_LIMITED. */
  async admitHeavy(actor: Actor, requestScope: RequestScope): Promise<void> {
    const known = this.#heavyReleases.get(requestScope)
    if (known) return
    // a refused document gets no second try when Yoga takes the request over
    const release = known === null ? null : await this.#heavySlots.acquire(rateLimitKey(actor), requestScope)
    this.#heavyReleases.set(requestScope, release)
    if (!release)
      throw refusal(
        'RATE_LIMITED',
        'This key has too many heavy GraphQL documents waiting. Send fewer of them concurrently.',
      )
    requestScope.onEnd(release)
  }

  /** The result is computed; the client may read it slowly. */
  releaseHeavy(requestScope: RequestScope): void {
    this.#heavyReleases.get(requestScope)?.()
  }

  /**
   * Waits for a slot to open a stream, which costs much more than keeping it open; the request's end releases it. Throws
   * UNAVAILABLE. Call it after the client has sent its whole request, so no slot is held while waiting for the client.
   */
  async admitStream(requestScope: RequestScope): Promise<void> {
    const release = await this.#openingSlots.acquire('', requestScope)
    if (!release) throw refusal('UNAVAILABLE', 'The server is opening too many streams now. Try again.')
    requestScope.onEnd(release)
    // other requests are served in between
    await new Promise((resolve) => setImmediate(resolve))
  }

  async #rejectOverBudget(state: BucketState): Promise<never> {
    await this.#delayRefusal()
    throw keyBudgetSpent(state)
  }

  async #waitForSlot(key: string, requestScope: RequestScope): Promise<Release> {
    const release = await (requestScope.keepsLease ? this.#leaseCallSlots : this.#callSlots).acquire(key, requestScope)
    if (!release)
      throw requestScope.keepsLease
        ? refusal('UNAVAILABLE', SERVER_BUSY)
        : refusal('RATE_LIMITED', 'This key has too many concurrent requests. Wait until some of them are answered.')
    requestScope.onEnd(release)
    return release
  }

  /** Delays a 429 while the CPU is busy. Otherwise a client that retries immediately would spend all CPU time on 429s. */
  async #delayRefusal(): Promise<void> {
    if (!this.#load.isCpuBusy || this.#delayedRefusals >= MAX_DELAYED_REFUSALS) return
    this.#delayedRefusals++
    await sleep(REFUSAL_DELAY_MS)
    this.#delayedRefusals--
  }

  async #admitAnonymous(requestScope: RequestScope): Promise<{ failed(): void; succeeded(): void }> {
    const state = this.#addressBuckets?.take(requestScope.address)
    if (!state) return { failed() {}, succeeded() {} }
    if (state.admitted)
      return {
        failed: () => requestScope.reportLimit('address', state),
        succeeded: () => this.refundAddress(requestScope),
      }
    if (!requestScope.keepsLease) {
      requestScope.reportLimit('address', state)
      await this.#delayRefusal()
      throw addressBudgetSpent(state)
    }
    // it may be a listener's key, so it is looked up anyway, one at a time
    const release = await this.#anonymousSlots.acquire(requestScope.address, requestScope)
    if (!release) throw refusal('UNAVAILABLE', SERVER_BUSY)
    return { failed: release, succeeded: release }
  }

  #rememberCredential(hash: string): void {
    this.#knownCredentials.add(hash)
    if (this.#knownCredentials.size > MAX_KNOWN_CREDENTIALS)
      this.#knownCredentials.delete(this.#knownCredentials.values().next().value!)
  }
}

/** Keys by actor. The credential cache returns the same actor object for each call. */
const keys = new WeakMap<Actor, string>()

/** The budget's key. A person has one budget across all their JWTs. */
function rateLimitKey(actor: Actor): string {
  let key = keys.get(actor)
  if (key === undefined) {
    key = `${actor.organizationId} ${actor.subject}`
    keys.set(actor, key)
  }
  return key
}

const SERVER_BUSY = 'The server is too busy to accept this call now. Try again.'

function refusal(code: 'RATE_LIMITED' | 'UNAVAILABLE', message: string, retryAfterSeconds = 1): DomainError {
  return new DomainError(code, message, { retryAfterSeconds })
}

const keyBudgetSpent = ({ perSecond, burst, retryAfterSeconds }: BucketState): DomainError =>
  refusal(
    'RATE_LIMITED',
    `This key exceeded its limit of ${perSecond} requests a second (bursts of up to ${burst}). Try again later.`,
    retryAfterSeconds,
  )

const addressBudgetSpent = ({ retryAfterSeconds }: BucketState): DomainError =>
  refusal(
    'RATE_LIMITED',
    'This address sent too many requests without a valid key. Try again later.',
    retryAfterSeconds,
  )
