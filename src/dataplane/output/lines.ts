/**
 * Splits process output into lines that are safe to store: whole characters, no control characters (Postgres text has no NUL), at
 * most MAX_LINE_CHARACTERS. Colours are kept separately.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { MASK, type Mask, type Masked } from './mask.ts'
import type { Span } from './mask-scan.ts'
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

/**
 * Calls `onLine` for each line, also for a last one without newline. The rest of a very long line is dropped after masking, so
 * memory is limited and no value is cut in two. `rewrite` changes a line before it is masked.
 */
export async function readLines(
  stream: Readable,
  mask: Mask,
  onLine: OnLine,
  rewrite: (raw: string) => string = (raw) => raw,
): Promise<void> {
  const decoder = new StringDecoder('utf8')
  let pending = ''
  let skipping = false
  const show = createLineRenderer(mask)
  // leaves room for colour codes
  const most = 4 * (MAX_LINE_CHARACTERS + mask.maxFormLength)
  const emit = (raw: string) => {
    const { text, line, styles } = show(rewrite(raw))
    onLine(text, line, styles)
  }
  const take = (text: string) => {
    const parts = text.split('\n')
    for (const [index, part] of parts.entries()) {
      if (!skipping) pending += part
      if (pending.length > most) pending = lastOverprint(pending)
      if (pending.length > most) {
        emit(pending.slice(0, most))
        pending = ''
        skipping = true
      }
      if (index === parts.length - 1) return
      if (!skipping) emit(pending)
      pending = ''
      skipping = false
    }
  }
  try {
    for await (const chunk of stream) take(decoder.write(chunk as Buffer))
  } catch {
    // the pipe broke because the process was killed: keep the output so far
  }
  take(decoder.end())
  if (pending) emit(pending)
}

/** How Node, Python and most programs print the error that ends them; the stack is indented. */
const ERROR_LINE = /^(?:Uncaught )?(?:[A-Za-z_][\w.]*(?:Error|Exception)\b(?: \[\w+\])?(?::|$)|(?:error|fatal|panic): )/

/** An error followed by more lines than a stack has did not end the program. */
const MAX_STACK_LINES = 20

const MAX_HEAD_LINES = 6

/**
 * Keeps the last lines of an output for a failure's message. `first`: also keep the first lines that match, for programs that
 * print the cause before other text.
 */
export class OutputTail {
  readonly #head: string[] = []
  readonly #lines: string[] = []
  readonly #keep: number
  readonly #first: RegExp | null
  #dropped = false
  /** the last error line, and the number of lines after it */
  #cause: { text: string; before: number } | null = null

  constructor(keep = 10, first: RegExp | null = null) {
    this.#keep = keep
    this.#first = first
  }

  add(line: Masked): void {
    if (!line.trim()) return
    if (ERROR_LINE.test(line)) this.#cause = { text: line.slice(0, 300).trim(), before: 0 }
    else if (this.#cause) this.#cause.before++
    this.#lines.push(line.slice(0, 300))
    if (this.#lines.length <= this.#keep) return
    const oldest = this.#lines.shift()!
    if (this.#head.length < MAX_HEAD_LINES && this.#first?.test(oldest)) this.#head.push(oldest)
    else this.#dropped = true
  }

  /** Like `appendTo`, with the last error before the headline, because a list may show only the beginning. */
  appendToWithCause(headline: string): string {
    const { text, before } = this.#cause ?? { text: '', before: Number.POSITIVE_INFINITY }
    return this.appendTo(before <= MAX_STACK_LINES ? `${text.replace(/\.$/, '')}. ${headline}` : headline)
  }

  appendTo(headline: string): string {
    const gap = this.#head.length > 0 && this.#dropped ? ['…'] : []
    return [headline, ...this.#head, ...gap, ...this.#lines].join('\n')
  }
}
