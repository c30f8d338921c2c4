/** The lease of a claim, by this process's own clock. It is given up shortly before its end. */

/** ms that a timer may come too early */
const TIMER_EARLY_MS = 2

export class Lease {
  readonly #onEnd: () => void
  /** performance.now() of when it is given up */
  #end = 0
  #timer: NodeJS.Timeout | null = null

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  /** ms until it is given up, unless it is renewed. */
  get left(): number {
    return this.#end - performance.now()
  }

  /** It lasts `seconds` from `since` (performance.now()). */
  renewed(since: number, seconds: number): void {
    this.stop()
    // to end a step takes a moment, and must be over when somebody else may take it
    const margin = Math.min(5000, seconds * 250)
    this.#end = since + seconds * 1000 - margin
    const giveUp = () => {
      if (this.left <= TIMER_EARLY_MS) this.#onEnd()
    }
    // in a process that was busy for long, the answer that renews it may be there and only not have been read yet
    this.#timer = setTimeout(() => setImmediate(giveUp), Math.max(0, this.left))
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
  }
}
