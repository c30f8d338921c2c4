/** The lease of a claim, by this process's clock. It is given up shortly before it expires. */

/** ms by which a timer may fire early */
const TIMER_EARLY_MS = 2

export class Lease {
  readonly #onEnd: () => void
  /** performance.now() when the lease is given up */
  #end = 0
  #timer: NodeJS.Timeout | null = null

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get left(): number {
    return this.#end - performance.now()
  }

  /** Extends the lease to `seconds` after `since` (performance.now()). */
  renewed(since: number, seconds: number): void {
    this.stop()
    // the steps must have ended before another worker may claim the deployment
    const margin = Math.min(5000, seconds * 250)
    this.#end = since + seconds * 1000 - margin
    const giveUp = () => {
      if (this.left <= TIMER_EARLY_MS) this.#onEnd()
    }
    // after a stall, the renewing response may have arrived but not been read yet
    this.#timer = setTimeout(() => setImmediate(giveUp), Math.max(0, this.left))
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
  }
}
