/** Keeps the end of a byte stream in bounded memory and counts its lines. Cheap at any speed. */

/** minimum that is kept */
const KEPT_BYTES = 64 * 1024

const NEWLINE = 10

export class RawTail {
  readonly #buffer = Buffer.allocUnsafe(2 * KEPT_BYTES)
  #length = 0
  #isCut = false
  lines = 0
  bytes = 0

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) this.lines++
    const part = chunk.length > KEPT_BYTES ? chunk.subarray(chunk.length - KEPT_BYTES) : chunk
    if (part !== chunk) {
      this.#length = 0
      this.#isCut = true
    } else if (this.#length + part.length > this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#length - KEPT_BYTES, this.#length)
      this.#length = KEPT_BYTES
      this.#isCut = true
    }
    this.#length += part.copy(this.#buffer, this.#length)
  }

  /** Returns up to `maxLines` last lines and the incomplete line behind them. `isCut`: the start of `rest` is lost. */
  last(maxLines: number): { lines: Buffer[]; rest: Buffer; isCut: boolean } {
    const kept = this.#buffer.subarray(0, this.#length)
    const end = kept.lastIndexOf(NEWLINE) + 1
    const lines: Buffer[] = []
    let to = end - 1
    while (to >= 0 && lines.length < maxLines) {
      // a negative offset would count from the end
      const from = to === 0 ? 0 : kept.lastIndexOf(NEWLINE, to - 1) + 1
      lines.unshift(kept.subarray(from, to))
      to = from - 1
    }
    return { lines, rest: kept.subarray(end), isCut: this.#isCut && end === 0 }
  }
}
