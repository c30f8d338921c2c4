/**
 * Bounds the calls of each key that run at once (one, while keys compete for the CPU); the others wait in order. A call
 * that runs for long makes room for the next one and goes on: it waits for something (a lock, another server). While the
 * CPU is what is short none makes room, since more calls at once would only make all of them slower.
 */
import type { LoadMonitor } from './load-shedding.ts'
import type { RequestScope } from './request-scope.ts'

export interface KeyedSemaphoreOptions {
  /** at once, of each key; 0: no limit */
  maxConcurrent: number
  /** that wait, of each key */
  maxQueued: number
  /** ms that one waits at most; default: 10 s */
  queueTimeoutMs?: number
  /** ms after which one inside does not count any more, unless the CPU is short; default: it counts until it leaves */
  slotTimeoutMs?: number
  /** whether keys compete for the CPU; default: they never do */
  load?: Pick<LoadMonitor, 'recordCall' | 'keysCompete'>
}

/** Call it when done; more than once does no harm. */
export type Release = () => void
const NO_OP: Release = () => {}

interface KeyState {
  active: number
  /** in their order; each is called with whether it may come in */
  waiting: Set<(granted: boolean) => void>
}

/** One that has come in. */
interface Slot {
  key: string
  state: KeyState
  /** performance.now() of when its turn is over */
  expiresAt: number
  /** how often it was let be for the CPU's sake */
  extensions: number
  released: boolean
}

const QUEUE_TIMEOUT_MS = 10_000
/** ms that a timer may come before its time */
const TIMER_EARLY_MS = 1
/** ms that a timer of a server with time to spare may be late */
const TIMER_LATE_MS = 20
/** So often one that stays long is not let out for the CPU's sake. */
const MAX_EXTENSIONS = 20

export class KeyedSemaphore {
  readonly #options: KeyedSemaphoreOptions
  readonly #states = new Map<string, KeyState>()
  /** insiders by when their turns are over */
  readonly #expiring = new Set<Slot>()
  #timer: NodeJS.Timeout | null = null

  constructor(options: KeyedSemaphoreOptions) {
    this.#options = options
  }

  /** Null: too many wait already, it took too long, or who is to come in has gone. */
  async acquire(key: string, caller?: AbortSignal | Pick<RequestScope, 'gone'>): Promise<Release | null> {
    return this.tryAcquire(key) ?? this.#acquireQueued(key, caller)
  }

  /** Where there is room at once; null: there is none, then `enter` waits for it. */
  tryAcquire(key: string): Release | null {
    const { maxConcurrent: most, load: pressure } = this.#options
    if (most === 0) return NO_OP
    pressure?.recordCall(key)
    let state = this.#states.get(key)
    if (!state) {
      state = { active: 0, waiting: new Set() }
      this.#states.set(key, state)
    }
    if (state.active >= this.#limit) return null
    state.active++
    return this.#createSlot(key, state)
  }

  async #acquireQueued(key: string, caller?: AbortSignal | Pick<RequestScope, 'gone'>): Promise<Release | null> {
    // there are some inside
    const state = this.#states.get(key)!
    if (state.waiting.size >= this.#options.maxQueued || !(await this.#enqueue(state, signalOf(caller)))) return null
    return this.#createSlot(key, state)
  }

  /** At once, of each key, just now. */
  get #limit(): number {
    return this.#options.load?.keysCompete ? 1 : this.#options.maxConcurrent
  }

  /** Resolves with whether a place was handed over. */
  #enqueue(state: KeyState, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const settle = (granted: boolean) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', reject)
        state.waiting.delete(settle)
        // by way of the event loop, so that other work gets its turn in between
        if (granted && this.#options.load?.keysCompete) setImmediate(resolve, true)
        else resolve(granted)
      }
      const reject = () => settle(false)
      const timer = setTimeout(reject, this.#options.queueTimeoutMs ?? QUEUE_TIMEOUT_MS)
      signal?.addEventListener('abort', reject)
      state.waiting.add(settle)
    })
  }

  #createSlot(key: string, state: KeyState): Release {
    const slot: Slot = { key, state, expiresAt: 0, extensions: 0, released: false }
    if (this.#options.slotTimeoutMs !== undefined) this.#scheduleExpiry(slot, this.#options.slotTimeoutMs)
    return () => this.#release(slot)
  }

  #release(slot: Slot): void {
    if (slot.released) return
    slot.released = true
    this.#expiring.delete(slot)
    const { key, state } = slot
    state.active--
    // places are handed over, so that nobody who comes now takes them
    if (state.waiting.size > 0)
      for (const next of [...state.waiting].slice(0, Math.max(0, this.#limit - state.active))) {
        state.active++
        next(true)
      }
    if (state.active === 0) this.#states.delete(key)
  }

  /** One timer for all: nearly everybody has left when a turn is over. */
  #scheduleExpiry(slot: Slot, slotTimeoutMs: number): void {
    slot.expiresAt = performance.now() + slotTimeoutMs
    this.#expiring.add(slot)
    this.#timer ??= setTimeout(this.#expire, slotTimeoutMs).unref()
  }

  readonly #expire = (): void => {
    const { slotTimeoutMs = 0 } = this.#options
    this.#timer = null
    for (const slot of this.#expiring) {
      const lateMs = performance.now() - slot.expiresAt
      if (lateMs < -TIMER_EARLY_MS) {
        this.#timer = setTimeout(this.#expire, -lateMs).unref()
        return
      }
      this.#expiring.delete(slot)
      if (lateMs <= TIMER_LATE_MS || slot.extensions === MAX_EXTENSIONS) {
        this.#release(slot)
        continue
      }
      slot.extensions++
      // the last ones now: the loop comes to them, and sets the timer for whoever is the first
      slot.expiresAt = performance.now() + slotTimeoutMs
      this.#expiring.add(slot)
    }
  }
}

/** Of a visit it is made when it is asked for: who need not wait has no use for it. */
function signalOf(caller: AbortSignal | Pick<RequestScope, 'gone'> | undefined): AbortSignal | undefined {
  return caller instanceof AbortSignal ? caller : caller?.gone
}
