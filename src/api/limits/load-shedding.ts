/**
 * Whether keys compete for the CPU: the event loop is busy, and calls of more than one key come. Then each key gets fewer
 * calls at once, so that one with few calls need not wait for one with many; a key that is alone has all there is.
 */
import { performance } from 'node:perf_hooks'

/** Share of the time in which the event loop is busy, from which on there is none to spare. */
const BUSY = 0.7
/** ms over which that is measured */
const SAMPLE = 100
/** ms after the last change of keys, for which they count as competing */
const COMPETING = 1_000

export class Pressure {
  #last: string | null = null
  /** performance.now() of when two keys came one after the other */
  #switched = Number.NEGATIVE_INFINITY
  #sampledAt = performance.now()
  #sample = performance.eventLoopUtilization()
  #busy = false

  /** A request of this key has come. */
  called(key: string): void {
    if (this.#last !== null && this.#last !== key) this.#switched = performance.now()
    this.#last = key
  }

  get high(): boolean {
    return this.busy && performance.now() - this.#switched < COMPETING
  }

  /** The event loop has no time to spare, for however many keys. */
  get busy(): boolean {
    const now = performance.now()
    if (now - this.#sampledAt >= SAMPLE) {
      const sample = performance.eventLoopUtilization()
      this.#busy = performance.eventLoopUtilization(sample, this.#sample).utilization > BUSY
      this.#sample = sample
      this.#sampledAt = now
    }
    return this.#busy
  }
}
