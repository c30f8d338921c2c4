/**
 * Reads the files that a supervisor writes (supervisor/output), from any line on, in bounded memory. They may grow and
 * rotate meanwhile.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { filesIn, type OutputFile, type OutputLine, parseLine } from '../supervisor/output/line.ts'

/** bytes of one read; no line is longer */
const CHUNK = 256 * 1024

const NEWLINE = 10

/** Where the lines behind `after` begin. */
interface Place {
  name: string
  after: number
  offset: number
}

export class OutputReader {
  readonly #folder: string
  /** where the last read ended: the next one most often begins there */
  #place: Place | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Whose numbers the lines in the files have, the oldest first. */
  async sources(): Promise<string[]> {
    return [...new Set((await this.#files()).map(({ source }) => source))]
  }

  /**
   * At most `most` lines behind the line `after` of a source, with no gap between them. `missing`: so many before them are
   * not in the files any more.
   */
  async read(source: string, after: number, most: number): Promise<{ lines: OutputLine[]; missing: number }> {
    const files = (await this.#files()).filter((file) => file.source === source)
    const from = Math.max(
      0,
      files.findLastIndex(({ first }) => first <= after + 1),
    )
    for (const file of files.slice(from)) {
      const lines = await this.#linesOf(file, after, most)
      if (lines.length > 0) return { lines, missing: lines[0]!.n - after - 1 }
    }
    return { lines: [], missing: 0 }
  }

  async #files(): Promise<OutputFile[]> {
    return filesIn(await unlessGone(fs.readdir(this.#folder), []))
  }

  async #linesOf({ name }: OutputFile, after: number, most: number): Promise<OutputLine[]> {
    const file = await unlessGone(fs.open(path.join(this.#folder, name)), null)
    if (!file) return []
    const known = this.#place?.name === name && this.#place.after === after
    const place: Place = { name, after, offset: known ? this.#place!.offset : 0 }
    const lines: OutputLine[] = []
    try {
      const chunk = Buffer.allocUnsafe(CHUNK)
      for (let whole = true; whole; ) {
        const { bytesRead } = await file.read(chunk, 0, CHUNK, place.offset)
        whole = take(chunk.subarray(0, bytesRead), place, lines, most)
      }
    } finally {
      await file.close()
    }
    this.#place = place
    return lines
  }
}

/** Takes the lines of a chunk and moves `place` behind them. False: there is nothing more to take now. */
function take(chunk: Buffer, place: Place, lines: OutputLine[], most: number): boolean {
  let from = 0
  for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
    if (lines.length === most) return false
    const line = parseLine(chunk.toString('utf8', from, to))
    if (line && line.n > place.after) {
      if (lines.length > 0 && line.n !== place.after + 1) return false
      lines.push(line)
      place.after = line.n
    }
    place.offset += to + 1 - from
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
