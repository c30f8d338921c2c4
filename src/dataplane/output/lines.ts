/**
 * Splits process output into lines that are safe to store: whole characters, no control characters (Postgres text has no NUL), at
 * most MAX_LINE_CHARACTERS. Colours are kept separately.
 */
import type { Readable } from 'node:stream'
import { MASK, type Mask, type Masked } from './mask.ts'
import type { Span } from './mask-forms.ts'
import { encodeStyles, moveToMaskedText } from './styles.ts'
import { lastOverprint, renderLine } from './terminal-text.ts'

export const MAX_LINE_CHARACTERS = 8192

/**
 * `shown`: masked, for people. `line`: as printed, without control characters, for programs. `styles`: colours of `shown`
 * (domain/protocol/line-styles.ts); null: none.
 */
export type OnLine = (shown: Masked, line: string, styles: string | null) => void

export interface RenderedLine {
  text: Masked
  line: string
  styles: string | null
}

/**
 * Returns a function that renders a stream's lines in order. `isCut`: text before this line was dropped, so it may start in the
 * middle of a hidden value.
 */
export function createLineRenderer(mask: Mask): (raw: string, isCut?: boolean) => RenderedLine {
  const hide = mask.lines()
  let style = ''
  return (raw, isCut = false) => {
    const { text: line, styles, endStyle: after, isOverprinted: isRest } = renderLine(raw, style)
    if (!mask.hidesCodes) style = after
    const coloured = styles !== null && !mask.hidesCodes
    const [hidden, ended]: [Span[], Span[]] = [[], []]
    const whole = hide(line, hidden)
    const text = (isCut || isRest ? mask.cut(whole, ended) : whole).slice(0, MAX_LINE_CHARACTERS) as Masked
    return {
      text,
      line: line.slice(0, MAX_LINE_CHARACTERS),
      styles: coloured
        ? encodeStyles(moveToMaskedText(moveToMaskedText(styles, hidden, MASK.length), ended, MASK.length), text.length)
        : null,
    }
  }
}

const NEWLINE = 10

/** Splits bytes into raw lines. The rest of a very long line is dropped, so memory is limited. */
export class LineSplitter {
  readonly #emit: (raw: Buffer) => void
  readonly #maxBytes: number
  /** the incomplete last line */
  #pending: Buffer[] = []
  #pendingBytes = 0
  /** dropping the rest of a line that was too long */
  #skipping = false

  constructor(mask: Mask, emit: (raw: Buffer) => void) {
    this.#emit = emit
    // a hidden value that starts in the visible part must fit, at 4 bytes for each UTF-8 character
    this.#maxBytes = 4 * (MAX_LINE_CHARACTERS + mask.maxFormLength)
  }

  /** Emits the lines that end in this chunk. Stops before a line when `isOver`, and returns the rest of the chunk then. */
  add(chunk: Buffer, isOver: () => boolean = () => false): Buffer | null {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      if (!this.#skipping && isOver()) return chunk.subarray(from)
      this.#push(chunk.subarray(from, to))
      this.#endLine()
      from = to + 1
    }
    this.#push(chunk.subarray(from))
    return null
  }

  /** Emits an incomplete last line. */
  end(): void {
    if (this.#pendingBytes > 0) this.#endLine()
  }

  takePending(): Buffer {
    const pending = Buffer.concat(this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    return pending
  }

  #push(part: Buffer): void {
    if (this.#skipping || part.length === 0) return
    this.#pending.push(part)
    this.#pendingBytes += part.length
    if (this.#pendingBytes < this.#maxBytes) return
    // a progress bar overwrites its line many times
    const last = Buffer.from(lastOverprint(this.takePending().toString()))
    if (last.length < this.#maxBytes) {
      this.#pending = [last]
      this.#pendingBytes = last.length
    } else {
      this.#emit(last.subarray(0, this.#maxBytes))
      this.#skipping = true
    }
  }

  #endLine(): void {
    if (!this.#skipping) this.#emit(this.takePending())
    this.#skipping = false
  }
}

/** Calls `onLine` for each line, also for a last one without newline. `rewrite` changes a line before it is masked. */
export async function readLines(
  stream: Readable,
  mask: Mask,
  onLine: OnLine,
  rewrite: (raw: string) => string = (raw) => raw,
): Promise<void> {
  const show = createLineRenderer(mask)
  const splitter = new LineSplitter(mask, (raw) => {
    const { text, line, styles } = show(rewrite(raw.toString()))
    onLine(text, line, styles)
  })
  try {
    for await (const chunk of stream) splitter.add(chunk as Buffer)
  } catch {
    // the pipe broke because the process was killed: keep the output so far
  }
  splitter.end()
}

/** How Node, Python and most programs print the error that ends them; the stack is indented. */
const ERROR_LINE =
  /^(?!Error: building )(?:Uncaught )?(?:(?:\w+\.)*\w*(?:Error|Exception)\b(?: \[\w+\])?(?::|$)|(?:error|fatal|panic): (?!Command failed))/

/** How build tools print one. npm's codes, paths and commands are excluded: they don't say what failed. */
const TOOL_ERRORS = [
  /^npm (error|ERR!) (?!code |errno |syscall |path |command |signal |A complete log|Lifecycle script|\s*at |.*(node_modules|_logs)\/)\S/,
  // pip prints this after `Could not find a version …`, with the same requirement in short form
  /^ERROR: (?!Could not find a version|Exception:|failed to (solve|build))\S/,
  /^(× )?No solution found|^(╰─▶|└─▶) Because /,
  // uv, cargo, yarn 1, gcc
  /^error(\[\w+\])?:? (?!Command failed)\S/,
  /^ERR_PNPM_\w+/,
  /^➤ YN\d{4}:.*(not found|can't|cannot|doesn't|error)/i,
  // tsc, with and without --pretty
  /: error TS\d+: |\berror TS\d+: /,
  /^E: \S/,
  /: (command not found|not found)$/,
]

/** BuildKit's prefix of a step's lines: `#8 1.234 `. */
const STEP_PREFIX = /^#\d+ (\d+\.\d+ )?/

/** An error followed by more lines than a stack has did not end the program. */
const MAX_STACK_LINES = 20
const MAX_HEAD_LINES = 6
const MAX_SHOWN_CHARACTERS = 300

/**
 * Keeps the last lines of an output for a failure's message, and the lines that name its cause. `first`: also keep the first
 * lines that match, for programs that print the cause before other text.
 */
export class OutputTail {
  readonly #head: string[] = []
  readonly #lines: string[] = []
  readonly #keep: number
  readonly #first: RegExp | null
  #dropped = false
  #firstError: string | null = null
  /** `before`: the number of lines after it */
  #lastError: { text: string; before: number } | null = null

  constructor(keep = 10, first: RegExp | null = null) {
    this.#keep = keep
    this.#first = first
  }

  add(line: Masked): void {
    if (!line.trim()) return
    this.#findError(line)
    this.#lines.push(line.slice(0, MAX_SHOWN_CHARACTERS))
    if (this.#lines.length <= this.#keep) return
    const oldest = this.#lines.shift()!
    if (this.#head.length < MAX_HEAD_LINES && this.#first?.test(oldest)) this.#head.push(oldest)
    else this.#dropped = true
  }

  #findError(line: Masked): void {
    const text = line.replace(STEP_PREFIX, '').trim()
    const shown = text.slice(0, MAX_SHOWN_CHARACTERS)
    const isError = ERROR_LINE.test(text)
    if (isError || TOOL_ERRORS.some((pattern) => pattern.test(text))) this.#firstError ??= shown
    if (isError && !/^\s/.test(line)) this.#lastError = { text: shown, before: 0 }
    else if (this.#lastError) this.#lastError.before++
  }

  /** Like `appendTo`, with the first error above the headline: a tool's later errors follow from it. */
  appendToWithFirstError(headline: string): string {
    return this.appendTo(this.#firstError === null ? headline : `${this.#firstError}\n${headline}`)
  }

  /** Like `appendTo`, with the error that ended the program before the headline: a list may show only the first line. */
  appendToWithCause(headline: string): string {
    const { text, before } = this.#lastError ?? { text: '', before: Number.POSITIVE_INFINITY }
    return this.appendTo(before <= MAX_STACK_LINES ? `${text.replace(/\.$/, '')}. ${headline}` : headline)
  }

  appendTo(headline: string): string {
    const gap = this.#head.length > 0 && this.#dropped ? ['…'] : []
    return [headline, ...this.#head, ...gap, ...this.#lines].join('\n')
  }
}
