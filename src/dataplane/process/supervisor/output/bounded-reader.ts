/** Reads the output of a process line by line, within a budget. Output above it is a flood (README.md). */
import type { Readable } from 'node:stream'
import { createLineRenderer, LineSplitter, MAX_LINE_CHARACTERS, type RenderedLine } from '../../../output/lines.ts'
import type { Mask } from '../../../output/mask.ts'
import type { Budget } from './budget.ts'
import { RawTail } from './raw-tail.ts'

/** from the first line above the budget until the flood's last lines are emitted */
const FLOOD_MS = 2000
/** pause between two reads during a flood; each read takes what fits into a pipe */
const READ_INTERVAL_MS = 5
/** last lines emitted at the end of a flood */
const LAST_LINES = 100
/** lines emitted while a flood continues far above the budget */
const SAMPLE_LINES = 20

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
  const reader = new BoundedReader(budget, mask, sink)
  return new Promise((resolve) => {
    let pause: NodeJS.Timeout | null = null
    const end = () => {
      if (pause) clearTimeout(pause)
      reader.end()
      resolve()
    }
    stream.on('data', (chunk: Buffer) => {
      reader.read(chunk)
      if (!reader.isFlooded) return
      stream.pause()
      pause = setTimeout(() => stream.resume(), READ_INTERVAL_MS)
    })
    stream.once('end', end)
    stream.once('close', end)
    // a killed process breaks its pipe; the output before that counts
    stream.on('error', end)
  })
}

class BoundedReader {
  readonly #budget: Budget
  readonly #mask: Mask
  readonly #sink: LineSink
  readonly #splitter: LineSplitter
  #show: (raw: string, isCut?: boolean) => RenderedLine
  /** the start of the incomplete last line was dropped */
  #isCut = false
  #flood: Flood | null = null
  #ended = false

  constructor(budget: Budget, mask: Mask, sink: LineSink) {
    this.#budget = budget
    this.#mask = mask
    this.#sink = sink
    this.#show = createLineRenderer(mask)
    this.#splitter = new LineSplitter(mask, (raw) => {
      this.#emitLine(raw, Date.now(), this.#isCut)
      this.#isCut = false
    })
  }

  get isFlooded(): boolean {
    return this.#flood !== null
  }

  read(chunk: Buffer): void {
    if (this.#flood) {
      this.#flood.tail.add(chunk)
      this.#flood.time = Date.now()
      return
    }
    let why: string | null = null
    const rest = this.#splitter.add(chunk, () => {
      why = this.#budget.exceededRate()
      return why !== null
    })
    if (rest) this.#beginFlood(why!, rest)
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#endFlood()
    this.#splitter.end()
  }

  /** `outOfFlood`: the dropped part may contain the start of a hidden value. */
  #emitLine(raw: Buffer, time: number, outOfFlood: boolean): void {
    this.#budget.charge(Math.min(raw.length, MAX_LINE_CHARACTERS))
    this.#sink.line(this.#show(raw.toString(), outOfFlood), time)
  }

  #beginFlood(why: string, rest: Buffer): void {
    const tail = new RawTail()
    for (const part of [this.#splitter.takePending(), rest]) tail.add(part)
    const timer = setTimeout(() => this.#endFlood(), FLOOD_MS)
    this.#flood = { why, tail, timer, began: performance.now(), time: Date.now() }
  }

  #endFlood(): void {
    if (!this.#flood) return
    const { why, tail, timer, began, time } = this.#flood
    clearTimeout(timer)
    this.#flood = null
    this.#show = createLineRenderer(this.#mask)
    const goesOn = !this.#ended && this.#budget.isFarBeyond(tail.lines, tail.bytes, (performance.now() - began) / 1000)
    const { lines, rest, isCut } = tail.last(goesOn ? SAMPLE_LINES : LAST_LINES)
    const left = tail.lines - lines.length
    if (left > 0) this.#sink.gap(left, why, time)
    for (const line of lines) this.#emitLine(line, time, true)
    this.#isCut = isCut || left > 0
    if (goesOn) this.#beginFlood(why, rest)
    else this.#splitter.add(rest)
  }
}
