/** Reads the output of a process line by line, within a budget. Output above it is a flood (README.md). */
import type { Readable } from 'node:stream'
import { createLineRenderer, LineSplitter, MAX_LINE_CHARACTERS, type RenderedLine } from '../../output/lines.ts'
import type { Mask } from '../../output/mask.ts'

/** seconds of output that an idle agent can save up */
const BURST_SECONDS = 5
/** average bytes of a line; longer lines reduce the number of lines */
const LINE_BYTES = 320
/** this multiple of the budget is useless to a reader */
const FAR_BEYOND_FACTOR = 5
/** from the first line above the budget until the flood's last lines are emitted */
const FLOOD_MS = 2000
/** pause between two reads during a flood; each read takes what fits into a pipe */
const READ_INTERVAL_MS = 5
/** last lines emitted at the end of a flood */
const LAST_LINES = 100
/** lines emitted while a flood continues far above the budget */
const SAMPLE_LINES = 20
/** minimum that is kept of a flood */
const KEPT_BYTES = 64 * 1024
const NEWLINE = 10

/** Limits the output of an agent: lines per second and bytes per second. */
export class Budget {
  /** lines per second */
  readonly #rate: number
  #lines: number
  #bytes: number
  #since = performance.now()

  constructor(rate: number) {
    this.#rate = rate
    this.#lines = rate * BURST_SECONDS
    this.#bytes = this.#lines * LINE_BYTES
  }

  /** Null: there is room for a line. Else the exceeded rate, for a message. */
  exceededRate(): string | null {
    const now = performance.now()
    const [lines, most] = [((now - this.#since) / 1000) * this.#rate, this.#rate * BURST_SECONDS]
    this.#since = now
    this.#lines = Math.min(this.#lines + lines, most)
    this.#bytes = Math.min(this.#bytes + lines * LINE_BYTES, most * LINE_BYTES)
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
}

export interface LineSink {
  /** `time`: ms since 1970. */
  line(shown: RenderedLine, time: number): void
  /** `lines` lines before the next one were left out. */
  gap(lines: number, why: string, time: number): void
}

/** Lines above the budget. */
interface Flood {
  why: string
  tail: RawTail
  timer: NodeJS.Timeout
  /** performance.now() of its start */
  began: number
  /** Date.now() of its last output */
  time: number
}

/** Resolves at the end of the stream, when all lines are in `sink`. Never throws. */
export function readWithinBudget(budget: Budget, stream: Readable, mask: Mask, sink: LineSink): Promise<void> {
  let show = createLineRenderer(mask)
  /** the start of the incomplete last line was dropped */
  let isCut = false
  let flood: Flood | null = null
  let ended = false
  const splitter = new LineSplitter(mask, (raw) => {
    emit(raw, Date.now(), isCut)
    isCut = false
  })

  /** `outOfFlood`: the dropped part may contain the start of a hidden value. */
  function emit(raw: Buffer, time: number, outOfFlood: boolean): void {
    budget.charge(Math.min(raw.length, MAX_LINE_CHARACTERS))
    sink.line(show(raw.toString(), outOfFlood), time)
  }

  function read(chunk: Buffer): void {
    if (flood) {
      flood.tail.add(chunk)
      flood.time = Date.now()
      return
    }
    let why: string | null = null
    const rest = splitter.add(chunk, () => {
      why = budget.exceededRate()
      return why !== null
    })
    if (rest) beginFlood(why!, rest)
  }

  function beginFlood(why: string, rest: Buffer): void {
    const tail = new RawTail()
    for (const part of [splitter.takePending(), rest]) tail.add(part)
    flood = { why, tail, timer: setTimeout(endFlood, FLOOD_MS), began: performance.now(), time: Date.now() }
  }

  function endFlood(): void {
    if (!flood) return
    const { why, tail, timer, began, time } = flood
    clearTimeout(timer)
    flood = null
    show = createLineRenderer(mask)
    const goesOn = !ended && budget.isFarBeyond(tail.lines, tail.bytes, (performance.now() - began) / 1000)
    const { lines, rest, isCut: isRestCut } = tail.last(goesOn ? SAMPLE_LINES : LAST_LINES)
    const left = tail.lines - lines.length
    if (left > 0) sink.gap(left, why, time)
    for (const line of lines) emit(line, time, true)
    isCut = isRestCut || left > 0
    if (goesOn) beginFlood(why, rest)
    else splitter.add(rest)
  }

  return new Promise((resolve) => {
    let pause: NodeJS.Timeout | undefined
    const end = () => {
      clearTimeout(pause)
      ended = true
      endFlood()
      splitter.end()
      resolve()
    }
    stream.on('data', (chunk: Buffer) => {
      read(chunk)
      if (!flood) return
      stream.pause()
      pause = setTimeout(() => stream.resume(), READ_INTERVAL_MS)
    })
    stream.once('end', end)
    stream.once('close', end)
    // a killed process breaks its pipe; the output before that counts
    stream.on('error', end)
  })
}

/** Keeps the end of a byte stream in bounded memory and counts its lines. Cheap at any speed. */
class RawTail {
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
