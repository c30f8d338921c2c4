/** Appends lines to a file without delaying requests. Follows the path when the file is renamed or removed (log rotation). */
import fs from 'node:fs'
import { type FileHandle, lstat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { openToAppend } from '../platform/files/atomic-file.ts'

/** Lines wait this long for others, so that a busy door writes once for many. */
const WRITE_DELAY_MS = 100
const RETRY_DELAY_MS = 1000
/** interval in which the path is compared with the open file */
const COMPARE_INTERVAL_MS = 1000
/** After a rotation a server may have to give the new file to the door's account first. */
const REOPEN_GRACE_MS = 10_000
const MAX_WAITING_CHARACTERS = 4_000_000
const MAX_WRITE_CHARACTERS = 65_536
/** A pipe keeps writes of this size whole (POSIX, PIPE_BUF of Linux). */
const MAX_PIPE_CHARACTERS = 4096
/** name and file descriptor of the standard output */
export const STDOUT = '-'
const STDOUT_FD = 1

const write = promisify(fs.write) as (fd: number, bytes: Buffer) => Promise<{ bytesWritten: number }>

export class LogFile {
  readonly file: string
  /** lines that were not written: the buffer was full */
  dropped = 0
  #handle: FileHandle | null = null
  /** identity of the open file */
  #identity = ''
  #comparedAt = Number.NEGATIVE_INFINITY
  #openProblem: { message: string; since: number } | null = null
  #writeProblem: string | null = null
  #lines: string[] = []
  #waiting = 0
  /** the bytes of a write that has not ended */
  #rest: Buffer = Buffer.alloc(0)
  #timer: NodeJS.Timeout | null = null
  #isWriting = false
  #isClosed = false

  constructor(file: string) {
    this.file = file
    void this.#writeAll()
  }

  /** Why lines can't be written; null: they can. */
  get problem(): string | null {
    if (this.#writeProblem !== null || !this.#openProblem) return this.#writeProblem
    const { message, since } = this.#openProblem
    return performance.now() - since > REOPEN_GRACE_MS ? message : null
  }

  /** `line`: with its newline. */
  write(line: string): void {
    if (this.#waiting + line.length > MAX_WAITING_CHARACTERS) return void this.dropped++
    this.#lines.push(line)
    this.#waiting += line.length
    this.#schedule(WRITE_DELAY_MS)
  }

  /** Writes what waits, and ends. Waits for the disk. */
  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    const fd = this.#fd
    if (fd === null) return
    try {
      // a write that has begun completes by itself
      if (!this.#isWriting) fs.writeFileSync(fd, this.#rest)
      fs.writeFileSync(fd, this.#lines.splice(0).join(''))
    } catch {
      // the disk is full
    }
    if (!this.#isWriting) void this.#handle?.close()
  }

  get #fd(): number | null {
    return this.file === STDOUT ? STDOUT_FD : (this.#handle?.fd ?? null)
  }

  #schedule(ms: number): void {
    if (this.#timer || this.#isWriting || this.#isClosed) return
    this.#timer = setTimeout(() => void this.#writeAll(), ms).unref()
  }

  async #writeAll(): Promise<void> {
    this.#timer = null
    this.#isWriting = true
    let delay = WRITE_DELAY_MS
    try {
      do {
        await this.#follow()
        if (this.#rest.length === 0) this.#rest = this.#takeLines()
        const { bytesWritten } = await write(this.#fd!, this.#rest)
        this.#rest = this.#rest.subarray(bytesWritten)
        this.#writeProblem = null
      } while ((this.#rest.length > 0 || this.#waiting >= MAX_WRITE_CHARACTERS) && !this.#isClosed)
    } catch (error) {
      delay = RETRY_DELAY_MS
      const { code, message } = error as NodeJS.ErrnoException
      // the reader of a pipe is slow
      if (code !== 'EAGAIN') this.#writeProblem = code ? `the file can't be written (${code})` : message
    }
    this.#isWriting = false
    if (this.#isClosed) void this.#handle?.close()
    else if (this.#rest.length > 0 || this.#waiting > 0) this.#schedule(delay)
  }

  #takeLines(): Buffer {
    const limit = this.file === STDOUT ? MAX_PIPE_CHARACTERS : MAX_WRITE_CHARACTERS
    let [count, size] = [0, 0]
    for (const { length } of this.#lines) {
      if (count > 0 && size + length > limit) break
      count++
      size += length
    }
    this.#waiting -= size
    return Buffer.from(this.#lines.splice(0, count).join(''))
  }

  /** Opens the path when another file has it. Throws when no file is open. */
  async #follow(): Promise<void> {
    const now = performance.now()
    if (this.file === STDOUT || (this.#handle && now - this.#comparedAt < COMPARE_INTERVAL_MS)) return
    this.#comparedAt = now
    try {
      const there = await lstat(this.file).catch(() => null)
      if (this.#handle && there && identityOf(there) === this.#identity) return
      const next = await openToAppend(this.file)
      this.#identity = identityOf(await next.stat())
      await this.#handle?.close()
      this.#handle = next
      this.#openProblem = null
    } catch (error) {
      this.#openProblem ??= { message: (error as Error).message, since: now }
      if (!this.#handle) throw error
    }
  }
}

const identityOf = ({ dev, ino }: fs.Stats): string => `${dev} ${ino}`
