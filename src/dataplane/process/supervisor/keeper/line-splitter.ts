/** Splits the bytes of a connection into lines of limited length. */

const NEWLINE = 10

export class LineSplitter {
  #parts: Buffer[] = []
  #length = 0

  /** Returns the complete lines; null: a line is longer than `maxBytes`. */
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
