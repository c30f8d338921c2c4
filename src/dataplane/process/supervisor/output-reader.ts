/** Reads the files that a supervisor writes (output-files.ts), in bounded memory, while they grow and rotate. */
import fs from 'node:fs/promises'
import path from 'node:path'
import { type OutputFile, type OutputLine, outputFilesIn, parseLine } from './output-line.ts'

/** one read; no line is longer */
const CHUNK_BYTES = 256 * 1024

const NEWLINE = 10

/** Where the lines after `after` begin. */
interface ReadPosition {
  name: string
  after: number
  offset: number
}

export class OutputReader {
  readonly #folder: string
  /** end of the last read; the next one usually starts there */
  #position: ReadPosition | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The sources in the files, oldest first. */
  async sources(): Promise<string[]> {
    return [...new Set((await this.#files()).map(({ source }) => source))]
  }

  /**
   * Reads up to `maxLines` consecutive lines after the line `after` of a source. `missing`: number of lines before
   * them that were already removed.
   */
  async read(source: string, after: number, maxLines: number): Promise<{ lines: OutputLine[]; missing: number }> {
    const files = (await this.#files()).filter((file) => file.source === source)
    const from = Math.max(
      0,
      files.findLastIndex(({ first }) => first <= after + 1),
    )
    for (const file of files.slice(from)) {
      const lines = await this.#linesOf(file, after, maxLines)
      if (lines.length > 0) return { lines, missing: lines[0]!.n - after - 1 }
    }
    return { lines: [], missing: 0 }
  }

  async #files(): Promise<OutputFile[]> {
    return outputFilesIn(await unlessGone(fs.readdir(this.#folder), []))
  }

  async #linesOf({ name }: OutputFile, after: number, maxLines: number): Promise<OutputLine[]> {
    const file = await unlessGone(fs.open(path.join(this.#folder, name)), null)
    if (!file) return []
    const known = this.#position?.name === name && this.#position.after === after
    const position: ReadPosition = { name, after, offset: known ? this.#position!.offset : 0 }
    const lines: OutputLine[] = []
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
      for (let whole = true; whole; ) {
        const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position.offset)
        whole = takeLines(chunk.subarray(0, bytesRead), position, lines, maxLines)
      }
    } finally {
      await file.close()
    }
    this.#position = position
    return lines
  }
}

/** Takes the lines of a chunk and moves `position` behind them. False: nothing more to take now. */
function takeLines(chunk: Buffer, position: ReadPosition, lines: OutputLine[], maxLines: number): boolean {
  let from = 0
  for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
    if (lines.length === maxLines) return false
    const line = parseLine(chunk.toString('utf8', from, to))
    if (line && line.n > position.after) {
      if (lines.length > 0 && line.n !== position.after + 1) return false
      lines.push(line)
      position.after = line.n
    }
    position.offset += to + 1 - from
    from = to + 1
  }
  return from > 0
}

async function unlessGone<T, E>(opened: Promise<T>, otherwise: E): Promise<T | E> {
  return opened.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return otherwise
    throw error
  })
}
