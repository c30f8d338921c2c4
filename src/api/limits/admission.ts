/**
 * Rate limits: each key has so many calls a second and so many at once, over all transports. A call whose key is not yet
 * known is counted by its address, before the key is looked up. In memory, for this server alone.
 */

import { DomainError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import { sleep } from '../../platform/async/retry.ts'
import { KeyedSemaphore, type Release } from './keyed-semaphore.ts'
import type { LoadMonitor } from './load-shedding.ts'
import type { RequestScope } from './request-scope.ts'
import { type BucketState, TokenBuckets } from './token-buckets.ts'

export interface AdmissionOptions {
  /** calls a second of one key, and how many after a rest; 0 a second: no limit */
  key: { perSecond: number; burst: number }
  /** look-ups of keys that are not known, of one address; 0 a second: no limit */
  address: { perSecond: number; burst: number }
  /** calls of one key that run at once; 0: no limit */
  maxConcurrent: number
  /** whether keys compete for the CPU */
  load?: LoadMonitor
  /** ms of a clock that never goes back */
  now?: () => number
}

/** Of keys that were found valid, which are not strangers any more. */
const MAX_KNOWN_CREDENTIALS = 10_000
/** ms after which a call makes room for the next of its key: it waits for something, and not for the CPU. */
const SLOT_TIMEOUT_MS = 250
/** Calls that keep leases, of one key, that wait for their turn. */
const MAX_QUEUED_LEASE_CALLS = 10_000
/** Strangers at one address whose budget is spent, and who say that they keep a lease. */
const MAX_QUEUED_ANONYMOUS_CALLS = 100
/** ms for which a refusal is delayed while there is no time to spare, and the most that are at a time. */
const REFUSAL_DELAY_MS = 100
const MAX_DELAYED_REFUSALS = 1_000

export class Admission {
  readonly #keyBuckets: TokenBuckets | null
  readonly #addressBuckets: TokenBuckets | null
  readonly #callSlots: KeyedSemaphore
  readonly #leaseCallSlots: KeyedSemaphore
  readonly #anonymousSlots = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: MAX_QUEUED_ANONYMOUS_CALLS })
  readonly #load: LoadMonitor | undefined
  /** refusals that are being delayed */
  #delayedRefusals = 0
  /** hashes of keys that were valid when they were last shown, in the order in which they were first */
  readonly #knownCredentials = new Set<string>()

  constructor({ key, address, maxConcurrent: atOnce, load: pressure, now }: AdmissionOptions) {
    this.#keyBuckets = key.perSecond > 0 ? new TokenBuckets({ ...key, now }) : null
    this.#load = pressure
    this.#addressBuckets = address.perSecond > 0 ? new TokenBuckets({ ...address, now }) : null
    this.#callSlots = new KeyedSemaphore({
      maxConcurrent: atOnce,
      maxQueued: Math.max(key.burst, 1),
      slotTimeoutMs: SLOT_TIMEOUT_MS,
      load: pressure,
    })
    this.#leaseCallSlots = new KeyedSemaphore({
      maxConcurrent: atOnce,
      maxQueued: MAX_QUEUED_LEASE_CALLS,
      slotTimeoutMs: SLOT_TIMEOUT_MS,
      load: pressure,
    })
  }

  /**
   * Runs `find`, which throws UnauthenticatedError for a credential that is no good: that costs its address one of its
   * look-ups. Throws RATE_LIMITED when there is none left, before anything was looked up. `hash`: of the credential.
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

  /** Counts one who has shown no key where none is asked for. Throws RATE_LIMITED. */
  chargeAddress(requestScope: RequestScope): void {
    const state = this.#addressBuckets?.take(requestScope.address)
    if (!state) return
    requestScope.reportLimit('address', state)
    if (!state.admitted) throw addressBudgetSpent(state)
  }

  /** Gives back what `charge` took: it was not in vain. */
  refundAddress(requestScope: RequestScope): void {
    this.#addressBuckets?.refund(requestScope.address)
  }

  /**
   * Counts a call of somebody who is known, and waits until it is its turn, which mostly is at once; the turn is over with the
   * answer, or when what is returned is called. Rejects with RATE_LIMITED; for calls that keep a lease at most UNAVAILABLE.
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

  async #rejectOverBudget(state: BucketState): Promise<never> {
    await this.#delayRefusal()
    throw keyBudgetSpent(state)
  }

  async #waitForSlot(key: string, requestScope: RequestScope): Promise<Release> {
    const release = await (requestScope.keepsLease ? this.#leaseCallSlots : this.#callSlots).acquire(key, requestScope)
    if (!release) throw requestScope.keepsLease ? serverBusy() : tooManyConcurrent()
    requestScope.onEnd(release)
    return release
  }

  /** Before a refusal, while there is no time to spare: who comes again at once would have all of it for refusals. */
  async #delayRefusal(): Promise<void> {
    if (!this.#load?.isCpuBusy || this.#delayedRefusals >= MAX_DELAYED_REFUSALS) return
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
    // it may be the key of a listener, so it is looked up all the same: one at a time
    const release = await this.#anonymousSlots.acquire(requestScope.address, requestScope)
    if (!release) throw serverBusy()
    return { failed: release, succeeded: release }
  }

  #rememberCredential(hash: string): void {
    this.#knownCredentials.add(hash)
    if (this.#knownCredentials.size > MAX_KNOWN_CREDENTIALS)
      this.#knownCredentials.delete(this.#knownCredentials.values().next().value!)
  }
}

/** Of callers: they are the same objects for as long as their keys are known. */
const keys = new WeakMap<Actor, string>()

/** One budget for a key, or for a person whose JWTs come and go. */
export function rateLimitKey(actor: Actor): string {
  let key = keys.get(actor)
  if (key === undefined) {
    key = `${actor.organizationId} ${actor.subject}`
    keys.set(actor, key)
  }
  return key
}

function keyBudgetSpent({ perSecond, burst, retryAfterSeconds: retryAfter }: BucketState): DomainError {
  return new DomainError(
    'RATE_LIMITED',
    `Too many requests with this key: at most ${perSecond} a second, and ${burst} at once after a rest. Try again later.`,
    { retryAfterSeconds: retryAfter },
  )
}

function addressBudgetSpent({ retryAfterSeconds: retryAfter }: BucketState): DomainError {
  return new DomainError('RATE_LIMITED', 'Too many requests from this address without a valid key. Try again later.', {
    retryAfterSeconds: retryAfter,
  })
}

function tooManyConcurrent(): DomainError {
  return new DomainError('RATE_LIMITED', 'Too many requests with this key at once. Wait for the answers of some.', {
    retryAfterSeconds: 1,
  })
}

function serverBusy(): DomainError {
  return new DomainError('UNAVAILABLE', 'The server is too busy to take this call now. Try again.', {
    retryAfterSeconds: 1,
  })
}
