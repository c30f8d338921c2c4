/**
 * A semaphore with a queue per key: limits the concurrent calls of each key, and the writers of each row. While keys
 * compete for the CPU each key gets one slot. See api/limits/README.md.
 */

export interface KeyedSemaphoreOptions {
  /** slots per key; 0: no limit */
  maxConcurrent: number
  /** queue length per key */
  maxQueued: number
  /** default: 10 s */
  queueTimeoutMs?: number
  /** after this time a call frees its slot, unless the CPU is busy; default: never */
  slotTimeoutMs?: number
  load?: { recordCall(key: string): void; readonly keysCompete: boolean }
}

/** Its `gone` is read only when the call must wait, because a request creates the signal on first use. */
type Caller = { readonly gone: AbortSignal }

/** Releases the slot. Further calls have no effect. */
export type Release = () => void
const NO_OP: Release = () => {}

interface KeyState {
  active: number
  /** queued calls in order; the argument tells whether the call got a slot */
  waiting: Set<(granted: boolean) => void>
}

interface Slot {
  key: string
  state: KeyState
  expiresAt: number
  /** how often its expiry was postponed because the CPU was busy */
  extensions: number
  released: boolean
}

const QUEUE_TIMEOUT_MS = 10_000
/** Timers may fire this much early. */
const TIMER_EARLY_MS = 1
/** A later timer means that the event loop is busy. */
const TIMER_LATE_MS = 20
/** After this many postponements a slot expires even on a busy CPU. */
const MAX_EXTENSIONS = 20

export class KeyedSemaphore {
  readonly #options: KeyedSemaphoreOptions
  readonly #states = new Map<string, KeyState>()
  readonly #expiring = new Set<Slot>()
  #timer: NodeJS.Timeout | null = null

  constructor(options: KeyedSemaphoreOptions) {
    this.#options = options
  }

  /** Waits for a slot. Null: the queue is full, the wait timed out, or the caller is gone. */
  async acquire(key: string, caller?: Caller): Promise<Release | null> {
    return this.tryAcquire(key) ?? this.#acquireQueued(key, caller)
  }

  /** Takes a free slot without waiting. Null: none is free. */
  tryAcquire(key: string): Release | null {
    const { maxConcurrent, load } = this.#options
    if (maxConcurrent === 0) return NO_OP
    load?.recordCall(key)
    let state = this.#states.get(key)
    if (!state) {
      state = { active: 0, waiting: new Set() }
      this.#states.set(key, state)
    }
    if (state.active >= this.#limit) return null
    state.active++
    return this.#createSlot(key, state)
  }

  /** Rejects all queued calls of the key. */
  rejectQueued(key: string): void {
    for (const settle of [...(this.#states.get(key)?.waiting ?? [])]) settle(false)
  }

  async #acquireQueued(key: string, caller?: Caller): Promise<Release | null> {
    const state = this.#states.get(key)!
    if (state.waiting.size >= this.#options.maxQueued || !(await this.#enqueue(state, caller?.gone))) return null
    return this.#createSlot(key, state)
  }

  get #limit(): number {
    return this.#options.load?.keysCompete ? 1 : this.#options.maxConcurrent
  }

  #enqueue(state: KeyState, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const settle = (granted: boolean) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', reject)
        state.waiting.delete(settle)
        // through the event loop, so other work runs in between
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
    // hand slots over directly, so a new call can't overtake the queue
    if (state.waiting.size > 0)
      for (const next of [...state.waiting].slice(0, Math.max(0, this.#limit - state.active))) {
        state.active++
        next(true)
      }
    if (state.active === 0) this.#states.delete(key)
  }

  /** One timer for all slots: nearly every call ends before its timeout. */
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
      // appended at the end: the loop reaches it and sets the timer for the earliest slot
      slot.expiresAt = performance.now() + slotTimeoutMs
      this.#expiring.add(slot)
    }
  }
}
