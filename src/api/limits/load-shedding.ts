/**
 * Detects when load must be shed: the event loop is busy and several keys send calls. Then each key gets fewer concurrent
 * calls, so a key with many calls can't starve the others.
 */
import { performance } from 'node:perf_hooks'

/** Event loop utilization above which the CPU counts as busy. */
const BUSY_UTILIZATION = 0.7
const SAMPLE_INTERVAL_MS = 100
/** Keys compete for this long after two different keys called one after the other. */
const COMPETITION_MS = 1_000

export class LoadMonitor {
  #lastKey: string | null = null
  /** performance.now() of the last call whose key differed from the call before it */
  #keySwitchedAt = Number.NEGATIVE_INFINITY
  #sampledAt = performance.now()
  #sample = performance.eventLoopUtilization()
  #isBusy = false

  recordCall(key: string): void {
    if (this.#lastKey !== null && this.#lastKey !== key) this.#keySwitchedAt = performance.now()
    this.#lastKey = key
  }

  get keysCompete(): boolean {
    return this.isCpuBusy && performance.now() - this.#keySwitchedAt < COMPETITION_MS
  }

  /** Whether the event loop is busy, with one key or many. */
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
