/** How much of an agent's output is taken: so many lines a second, and bytes for lines of a common length; more after a rest. */

/** seconds whose share can be saved up */
const BURST_SECONDS = 5
/** bytes a line on average: who prints longer ones has fewer of them */
const LINE_BYTES = 320
/** times as much as there is room for: nobody reads that */
const FAR_BEYOND_FACTOR = 5

export class Budget {
  readonly #rate: number
  #lines: number
  #bytes: number
  #since: number

  /** `rate`: lines per second. */
  constructor(rate: number) {
    this.#rate = rate
    this.#lines = rate * BURST_SECONDS
    this.#bytes = this.#lines * LINE_BYTES
    this.#since = performance.now()
  }

  /** Null: there is room for a line. Otherwise what there was too much of. */
  exceededRate(): string | null {
    this.#refill()
    if (this.#lines <= 0) return `more than ${this.#rate}/s`
    return this.#bytes <= 0 ? `more than ${Math.ceil((this.#rate * LINE_BYTES) / 1000)} kB/s` : null
  }

  /** Whether so many lines and bytes in so many seconds are far more than there is room for. */
  isFarBeyond(lines: number, bytes: number, seconds: number): boolean {
    const most = FAR_BEYOND_FACTOR * this.#rate * seconds
    return lines > most || bytes > most * LINE_BYTES
  }

  /** A line of so many bytes was taken; also one for which there was no room, which the next ones pay for. */
  charge(bytes: number): void {
    this.#lines -= 1
    this.#bytes -= bytes
  }

  #refill(): void {
    const now = performance.now()
    const lines = ((now - this.#since) / 1000) * this.#rate
    this.#since = now
    this.#lines = Math.min(this.#lines + lines, this.#rate * BURST_SECONDS)
    this.#bytes = Math.min(this.#bytes + lines * LINE_BYTES, this.#rate * BURST_SECONDS * LINE_BYTES)
  }
}
