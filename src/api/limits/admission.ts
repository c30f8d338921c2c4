/**
 * Rate limits: each key has so many calls a second and so many at once, over all transports. A call whose key is not yet
 * known is counted by its address, before the key is looked up. In memory, for this server alone.
 */

import { DomainError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import { sleep } from '../../platform/async/retry.ts'
import { Gate, type Leave } from './keyed-semaphore.ts'
import type { Pressure } from './load-shedding.ts'
import type { Visit } from './request-scope.ts'
import { type Standing, TokenBuckets } from './token-buckets.ts'

export interface AdmissionOptions {
  /** calls a second of one key, and how many after a rest; 0 a second: no limit */
  key: { perSecond: number; burst: number }
  /** look-ups of keys that are not known, of one address; 0 a second: no limit */
  address: { perSecond: number; burst: number }
  /** calls of one key that run at once; 0: no limit */
  atOnce: number
  /** whether keys compete for the CPU */
  pressure?: Pressure
  /** ms of a clock that never goes back */
  now?: () => number
}

/** Of keys that were found valid, which are not strangers any more. */
const REMEMBERED = 10_000
/** ms after which a call makes room for the next of its key: it waits for something, and not for the CPU. */
const TURN_MS = 250
/** Calls that keep leases, of one key, that wait for their turn. */
const LEASE_QUEUE = 10_000
/** Strangers at one address whose budget is spent, and who say that they keep a lease. */
const STRANGERS_QUEUE = 100
/** ms for which a refusal is delayed while there is no time to spare, and the most that are at a time. */
const SLOWED = 100
const MOST_SLOWED = 1_000

export class Admission {
  readonly #keys: TokenBuckets | null
  readonly #addresses: TokenBuckets | null
  readonly #turns: Gate
  readonly #leaseTurns: Gate
  readonly #strangers = new Gate({ most: 1, queue: STRANGERS_QUEUE })
  readonly #pressure: Pressure | undefined
  /** refusals that are being delayed */
  #slowed = 0
  /** hashes of keys that were valid when they were last shown, in the order in which they were first */
  readonly #known = new Set<string>()

  constructor({ key, address, atOnce, pressure, now }: AdmissionOptions) {
    this.#keys = key.perSecond > 0 ? new TokenBuckets({ ...key, now }) : null
    this.#pressure = pressure
    this.#addresses = address.perSecond > 0 ? new TokenBuckets({ ...address, now }) : null
    this.#turns = new Gate({ most: atOnce, queue: Math.max(key.burst, 1), turnMs: TURN_MS, pressure })
    this.#leaseTurns = new Gate({ most: atOnce, queue: LEASE_QUEUE, turnMs: TURN_MS, pressure })
  }

  /**
   * Runs `find`, which throws UnauthenticatedError for a credential that is no good: that costs its address one of its
   * look-ups. Throws RATE_LIMITED when there is none left, before anything was looked up. `hash`: of the credential.
   */
  async identify<T>(hash: string, visit: Visit, find: () => Promise<T>): Promise<T> {
    const done = this.#known.has(hash) ? { inVain() {}, well() {} } : await this.#admitStranger(visit)
    try {
      const found = await find()
      done.well()
      this.#remember(hash)
      visit.recognized()
      return found
    } catch (error) {
      if (error instanceof UnauthenticatedError) {
        done.inVain()
        this.#known.delete(hash)
      } else done.well()
      throw error
    }
  }

  /** Counts one who has shown no key where none is asked for. Throws RATE_LIMITED. */
  charge(visit: Visit): void {
    const standing = this.#addresses?.take(visit.address)
    if (!standing) return
    visit.tell('address', standing)
    if (!standing.admitted) throw tooManyStrangers(standing)
  }

  /** Gives back what `charge` took: it was not in vain. */
  refund(visit: Visit): void {
    this.#addresses?.giveBack(visit.address)
  }

  /**
   * Counts a call of somebody who is known, and waits until it is its turn, which mostly is at once; the turn is over with the
   * answer, or when what is returned is called. Rejects with RATE_LIMITED; for calls that keep a lease at most UNAVAILABLE.
   */
  admit(actor: Actor, visit: Visit): Leave | Promise<Leave> {
    const key = keyOf(actor)
    const standing = visit.keepsLease ? undefined : this.#keys?.take(key, visit.weight)
    if (standing) {
      visit.tell('key', standing)
      if (!standing.admitted) return this.#refuse(standing)
    }
    const leave = (visit.keepsLease ? this.#leaseTurns : this.#turns).enterNow(key)
    if (!leave) return this.#wait(key, visit)
    visit.onEnd(leave)
    return leave
  }

  async #refuse(standing: Standing): Promise<never> {
    await this.#slowDown()
    throw tooMany(standing)
  }

  async #wait(key: string, visit: Visit): Promise<Leave> {
    const leave = await (visit.keepsLease ? this.#leaseTurns : this.#turns).enter(key, visit)
    if (!leave) throw visit.keepsLease ? tooBusy() : tooManyAtOnce()
    visit.onEnd(leave)
    return leave
  }

  /** Before a refusal, while there is no time to spare: who comes again at once would have all of it for refusals. */
  async #slowDown(): Promise<void> {
    if (!this.#pressure?.busy || this.#slowed >= MOST_SLOWED) return
    this.#slowed++
    await sleep(SLOWED)
    this.#slowed--
  }

  async #admitStranger(visit: Visit): Promise<{ inVain(): void; well(): void }> {
    const standing = this.#addresses?.take(visit.address)
    if (!standing) return { inVain() {}, well() {} }
    if (standing.admitted) return { inVain: () => visit.tell('address', standing), well: () => this.refund(visit) }
    if (!visit.keepsLease) {
      visit.tell('address', standing)
      await this.#slowDown()
      throw tooManyStrangers(standing)
    }
    // it may be the key of a listener, so it is looked up all the same: one at a time
    const leave = await this.#strangers.enter(visit.address, visit)
    if (!leave) throw tooBusy()
    return { inVain: leave, well: leave }
  }

  #remember(hash: string): void {
    this.#known.add(hash)
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.values().next().value!)
  }
}

/** Of callers: they are the same objects for as long as their keys are known. */
const keys = new WeakMap<Actor, string>()

/** One budget for a key, or for a person whose JWTs come and go. */
export function keyOf(actor: Actor): string {
  let key = keys.get(actor)
  if (key === undefined) {
    key = `${actor.organizationId} ${actor.subject}`
    keys.set(actor, key)
  }
  return key
}

function tooMany({ perSecond, burst, retryAfter }: Standing): DomainError {
  return new DomainError(
    'RATE_LIMITED',
    `Too many requests with this key: at most ${perSecond} a second, and ${burst} at once after a rest. Try again later.`,
    { retryAfterSeconds: retryAfter },
  )
}

function tooManyStrangers({ retryAfter }: Standing): DomainError {
  return new DomainError('RATE_LIMITED', 'Too many requests from this address without a valid key. Try again later.', {
    retryAfterSeconds: retryAfter,
  })
}

function tooManyAtOnce(): DomainError {
  return new DomainError('RATE_LIMITED', 'Too many requests with this key at once. Wait for the answers of some.', {
    retryAfterSeconds: 1,
  })
}

function tooBusy(): DomainError {
  return new DomainError('UNAVAILABLE', 'The server is too busy to take this call now. Try again.', {
    retryAfterSeconds: 1,
  })
}
