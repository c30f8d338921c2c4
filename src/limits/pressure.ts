/**
 * Whether keys are in each other's way now: the event loop has no time to spare, and more than one key asks for it. Then
 * each is given less at once, so that whoever asks for little waits for little; a key that is alone has all there is.
 */
import { performance } from 'node:perf_hooks'

/** Share of the time in which the event loop is busy, from which on there is none to spare. */
const BUSY = 0.7
/** ms over which that is measured */
const SAMPLE = 100
/** ms for which a key that was heard of is thought to come again */
const REMEMBERED = 1_000

export class Pressure {
  #last: string | null = null
  /** performance.now() of when two keys came one after the other */
  #switched = Number.NEGATIVE_INFINITY
  #sampledAt = performance.now()
  #sample = performance.eventLoopUtilization()
  #busy = false

  /** A request of this key has come. */
  heard(key: string): void {
    if (this.#last !== null && this.#last !== key) this.#switched = performance.now()
    this.#last = key
  }

  get high(): boolean {
    return this.busy && performance.now() - this.#switched < REMEMBERED
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
