/**
 * Whether keys compete for the CPU: the event loop is busy, and calls of more than one key come. Then each key gets fewer
 * calls at once, so that one with few calls need not wait for one with many; a key that is alone has all there is.
 */
import { performance } from 'node:perf_hooks'

/** Share of the time in which the event loop is busy, from which on there is none to spare. */
const BUSY_UTILIZATION = 0.7
/** ms over which that is measured */
const SAMPLE_INTERVAL_MS = 100
/** ms after the last change of keys, for which they count as competing */
const COMPETITION_MS = 1_000

export class LoadMonitor {
  #lastKey: string | null = null
  /** performance.now() of when two keys came one after the other */
  #keySwitchedAt = Number.NEGATIVE_INFINITY
  #sampledAt = performance.now()
  #sample = performance.eventLoopUtilization()
  #isBusy = false

  /** A request of this key has come. */
  recordCall(key: string): void {
    if (this.#lastKey !== null && this.#lastKey !== key) this.#keySwitchedAt = performance.now()
    this.#lastKey = key
  }

  get keysCompete(): boolean {
    return this.isCpuBusy && performance.now() - this.#keySwitchedAt < COMPETITION_MS
  }

  /** The event loop has no time to spare, for however many keys. */
  get isCpuBusy(): boolean {
    const now = performance.now()
    if (now - this.#sampledAt >= SAMPLE_INTERVAL_MS) {
      const sample = performance.eventLoopUtilization()
      this.#isBusy = performance.eventLoopUtilization(sample, this.#sample).utilization > BUSY_UTILIZATION
      this.#sample = sample
      this.#sampledAt = now
    }
    return this.#isBusy
  }
}
