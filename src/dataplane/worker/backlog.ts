/** Bounded queue of unsent log lines. Overflow drops middle lines, except Pilothouse's own; a marker replaces them. */
import type { LogEntry } from '../../domain/protocol/protocol.ts'

export interface Line extends LogEntry {
  revisionId: string
  attempt: number
}

/** Consecutive dropped lines of one log. */
interface Gap {
  lines: number
  last: Line
}

interface Limit {
  lines: number
  characters: number
}

/** limit of the first part, and of the last part */
const PART_LIMIT: Limit = { lines: 2500, characters: 500_000 }
/** limit of Pilothouse's own lines in the middle part */
const OWN_LIMIT: Limit = { lines: 500, characters: 250_000 }

export class Backlog {
  readonly #first = new Part()
  /** Pilothouse's own lines and the gaps between the first and last parts */
  readonly #middle: (Line | Gap)[] = []
  readonly #own = { lines: 0, characters: 0 }
  readonly #last = new Part()

  get length(): number {
    return this.#first.lines.length + this.#middle.length + this.#last.lines.length
  }

  add(line: Line, own: boolean): void {
    const inOrder = this.#middle.length === 0 && this.#last.lines.length === 0
    const part = inOrder && this.#first.hasRoom ? this.#first : this.#last
    part.push(line, own)
    while (this.#last.isOver) {
      const oldest = this.#last.shift()
      if (oldest.own) this.#keep(oldest.line)
      else this.#leaveOut(oldest.line)
    }
  }

  /** Returns up to `most` lines of one log without removing them. */
  next(max: number): Line[] {
    if (this.#first.lines.length === 0) this.#moveUp()
    const lines = this.#first.lines.slice(0, max).map(({ line }) => line)
    const other = lines.findIndex((line) => !isOfSameLog(line, lines[0]!))
    return other < 0 ? lines : lines.slice(0, other)
  }

  /** Removes the first `count` lines, which are sent. */
  remove(count: number): void {
    for (let i = 0; i < count; i++) this.#first.shift()
  }

  clear(): void {
    this.#moveUp()
    this.remove(this.#first.lines.length)
  }

  /** Moves all parts into the empty first part. */
  #moveUp(): void {
    for (const entry of this.#middle.splice(0)) this.#first.push('lines' in entry ? markOf(entry) : entry, true)
    Object.assign(this.#own, { lines: 0, characters: 0 })
    while (this.#last.lines.length > 0) {
      const { line, own } = this.#last.shift()
      this.#first.push(line, own)
    }
  }

  #keep(line: Line): void {
    this.#middle.push(line)
    this.#own.lines++
    this.#own.characters += sizeOf(line)
    while (this.#own.lines > OWN_LIMIT.lines || this.#own.characters > OWN_LIMIT.characters) this.#giveUpOne()
  }

  /** Drops the oldest own line of the middle part and merges the gaps around it, per log. */
  #giveUpOne(): void {
    const at = this.#middle.findIndex((entry) => !('lines' in entry))
    const line = this.#middle[at] as Line
    this.#own.lines--
    this.#own.characters -= sizeOf(line)
    const after = this.#middle.findIndex((entry, i) => i > at && !('lines' in entry))
    const around = this.#middle.splice(0, after < 0 ? this.#middle.length : after)
    const gaps: Gap[] = []
    for (const entry of around) widen(gaps, 'lines' in entry ? entry : { lines: 1, last: entry })
    this.#middle.unshift(...gaps)
  }

  #leaveOut(line: Line): void {
    const from = this.#middle.findLastIndex((kept) => !('lines' in kept)) + 1
    const gaps = this.#middle.slice(from) as Gap[]
    const before = gaps.length
    widen(gaps, { lines: 1, last: line })
    if (gaps.length > before) this.#middle.push(gaps.at(-1)!)
  }
}

/** Extends the gap of the same log, or adds a gap. */
function widen(gaps: Gap[], { lines, last }: Gap): void {
  const same = gaps.find((gap) => isOfSameLog(gap.last, last))
  if (!same) gaps.push({ lines, last })
  else {
    same.lines += lines
    same.last = last
  }
}

function markOf({ lines, last }: Gap): Line {
  return {
    ...last,
    level: 'warning',
    message: lines === 1 ? '… 1 line was left out' : `… ${lines} lines were left out`,
    styles: undefined,
  }
}

function isOfSameLog(a: Line, b: Line): boolean {
  return a.revisionId === b.revisionId && a.attempt === b.attempt && a.type === b.type
}

const sizeOf = ({ message, styles }: Line) => message.length + (styles?.length ?? 0)

/** Ordered lines with their total size. */
class Part {
  readonly lines: { line: Line; own: boolean }[] = []
  #characters = 0

  get hasRoom(): boolean {
    return this.lines.length < PART_LIMIT.lines && this.#characters < PART_LIMIT.characters
  }

  get isOver(): boolean {
    return this.lines.length > PART_LIMIT.lines || this.#characters > PART_LIMIT.characters
  }

  push(line: Line, own: boolean): void {
    this.#characters += sizeOf(line)
    this.lines.push({ line, own })
  }

  shift(): { line: Line; own: boolean } {
    const oldest = this.lines.shift()!
    this.#characters -= sizeOf(oldest.line)
    return oldest
  }
}
