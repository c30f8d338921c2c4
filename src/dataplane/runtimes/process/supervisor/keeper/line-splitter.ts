/** Cuts what comes in on a connection into lines, none of them longer than a bound. */

const NEWLINE = 10

export class LineSplitter {
  #parts: Buffer[] = []
  #length = 0

  /** The lines that are whole now; null: one is longer than `longest` bytes. */
  push(chunk: Buffer, maxBytes: number): string[] | null {
    const lines: string[] = []
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#parts.push(chunk.subarray(from, at))
      if (this.#length + at - from > maxBytes) return null
      lines.push(Buffer.concat(this.#parts).toString())
      this.#parts = []
      this.#length = 0
      from = at + 1
    }
    this.#parts.push(chunk.subarray(from))
    this.#length += chunk.length - from
    return this.#length > maxBytes ? null : lines
  }
}
