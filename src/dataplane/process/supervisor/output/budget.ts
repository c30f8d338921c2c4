/** Limits the output of an agent: lines per second and bytes per second. An idle agent saves up some seconds. */

/** seconds of output that can be saved up */
const BURST_SECONDS = 5
/** average bytes of a line; longer lines reduce the number of lines */
const LINE_BYTES = 320
/** this multiple of the budget is useless to a reader */
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

  /** Null: there is room for a line. Else the exceeded rate, for a message. */
  exceededRate(): string | null {
    this.#refill()
    if (this.#lines <= 0) return `more than ${this.#rate}/s`
    return this.#bytes <= 0 ? `more than ${Math.ceil((this.#rate * LINE_BYTES) / 1000)} kB/s` : null
  }

  /** Whether this output, in this time, is far above the budget. */
  isFarBeyond(lines: number, bytes: number, seconds: number): boolean {
    const most = FAR_BEYOND_FACTOR * this.#rate * seconds
    return lines > most || bytes > most * LINE_BYTES
  }

  /** Charges one line. It may make the budget negative; later lines pay for that. */
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
