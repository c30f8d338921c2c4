/**
 * Writes numbered lines to files that rotate. Never throws on a disk error: counts the lost lines and later writes
 * their number.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import {
  gapMessage,
  newSource,
  type OutputFile,
  type OutputLine,
  outputFile,
  outputFilesIn,
  parseLine,
} from './output-line.ts'
import type { OutputSettings } from './protocol.ts'

export type NewLine = Omit<OutputLine, 'n'>

interface OpenFile extends OutputFile {
  fd: number
  /** bytes */
  size: number
}

export class OutputFiles {
  readonly #folder: string
  readonly #settings: OutputSettings
  #open: OpenFile | null = null
  /** number of the next line; null: the folder was not read yet */
  #next: number | null = null
  #source = ''
  #lost = 0

  constructor(folder: string, settings: OutputSettings) {
    this.#folder = folder
    this.#settings = settings
  }

  /** True: something was written. */
  write(lines: readonly NewLine[]): boolean {
    const all = this.#lost > 0 ? [this.#gapLine(lines[0]!), ...lines] : lines
    let written = 0
    try {
      written = this.#append(all)
    } catch {
      this.close()
    }
    // the next write makes a new gap line
    if (written === 0) this.#lost += lines.length
    else this.#lost = all.length - written
    return written > 0
  }

  close(): void {
    if (this.#open) fs.closeSync(this.#open.fd)
    this.#open = null
  }

  #gapLine({ time, revisionId, attempt }: NewLine): NewLine {
    const message = gapMessage(this.#lost, 'they could not be written to the disk')
    return { time, revisionId, attempt, level: 'warning', message }
  }

  /** Returns how many lines were written: a full disk may have room for some. Throws if the file can't be opened. */
  #append(lines: readonly NewLine[]): number {
    const open = this.#ready()
    const first = this.#next!
    const text = Buffer.from(lines.map((line, i) => `${JSON.stringify({ n: first + i, ...line })}\n`).join(''))
    let bytes = 0
    try {
      while (bytes < text.length) bytes += fs.writeSync(open.fd, text, bytes, text.length - bytes, open.size + bytes)
    } catch {
      bytes = text.subarray(0, bytes).lastIndexOf('\n') + 1
      fs.ftruncateSync(open.fd, open.size + bytes)
    }
    open.size += bytes
    const written = bytes === text.length ? lines.length : text.subarray(0, bytes).toString().split('\n').length - 1
    this.#next = first + written
    if (open.size >= this.#settings.fileBytes) this.close()
    return written
  }

  #ready(): OpenFile {
    if (this.#open) return this.#open
    if (this.#next === null) this.#resume()
    return this.#open ?? this.#begin()
  }

  /** Resumes after the last complete line. A crash may have cut the one behind it. */
  #resume(): void {
    fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const newest = outputFilesIn(fs.readdirSync(this.#folder)).at(-1)
    const file = newest && path.join(this.#folder, newest.name)
    // a power failure may lose lines that were already shipped, so their numbers are not used again
    if (!file || fs.statSync(file).mtimeMs < Date.now() - os.uptime() * 1000) {
      this.#source = newSource(randomBytes(4).toString('hex'))
      this.#next = 1
      return
    }
    const { size, next } = wholeLines(fs.readFileSync(file), newest.first)
    fs.truncateSync(file, size)
    if (size < this.#settings.fileBytes) this.#open = { ...newest, fd: fs.openSync(file, 'r+'), size }
    this.#source = newest.source
    this.#next = next
  }

  #begin(): OpenFile {
    const names = outputFilesIn(fs.readdirSync(this.#folder))
    const tooMany = Math.max(0, names.length + 1 - this.#settings.files)
    for (const { name } of names.slice(0, tooMany)) fs.rmSync(path.join(this.#folder, name), { force: true })
    const file = outputFile(this.#source, this.#next!)
    const fd = fs.openSync(path.join(this.#folder, file.name), 'w', 0o600)
    this.#open = { ...file, fd, size: 0 }
    return this.#open
  }
}

/** Size in bytes of the valid lines in sequence, and the number of the next line. */
function wholeLines(bytes: Buffer, first: number): { size: number; next: number } {
  let size = 0
  let next = first
  for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', size)) {
    if (parseLine(bytes.subarray(size, end).toString())?.n !== next) break
    size = end + 1
    next++
  }
  return { size, next }
}
