/**
 * Turns what a process prints into lines of text that are safe to store: whole characters, no control characters (Postgres has
 * no NUL in text), and none longer than LONGEST. Their colours are beside them.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { MASK, type Mask, type Masked } from './mask.ts'
import type { Span } from './mask-scan.ts'
import { encodeStyles, moveToMaskedText } from './styles.ts'
import { lastOverprint, renderLine } from './terminal-text.ts'

/** characters */
export const MAX_LINE_CHARACTERS = 8192

/**
 * `shown`: with all values hidden, for people. `line`: as it was printed, but for control characters, for programs. `styles`: the
 * colours of `shown` (domain/protocol/line-styles.ts); null: it has none.
 */
export type OnLine = (shown: Masked, line: string, styles: string | null) => void

export interface RenderedLine {
  text: Masked
  line: string
  styles: string | null
}

/** Of a stream, line after line. `isCut`: what comes before it was dropped, a hidden value may have begun there. */
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
 * Calls `onLine` for each line until the stream has ended, also for a last one without newline. Memory is bounded: the
 * rest of a longer line is dropped, after `mask` has hidden what it hides, so that no value is cut in two. `rewrite` changes
 * a line before it is masked.
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
  // with the codes of its colours
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
    // the pipe broke because the process was killed: what came until then counts
  }
  take(decoder.end())
  if (pending) emit(pending)
}

/** How Node, Python and most programs print the error that ends them; its stack is indented. */
const ERROR_LINE = /^(?:Uncaught )?(?:[A-Za-z_][\w.]*(?:Error|Exception)\b(?: \[\w+\])?(?::|$)|(?:error|fatal|panic): )/

/** Lines of a stack and what is printed with it: an error further up is no cause of the end. */
const MAX_STACK_LINES = 20

/** So many of the lines that are kept beside the last ones. */
const MAX_HEAD_LINES = 6

/**
 * The last lines of an output, for the message of a failure. `first`: of lines like these the first ones are kept, too,
 * for programs that say what is wrong before they say much else.
 */
export class OutputTail {
  readonly #head: string[] = []
  readonly #lines: string[] = []
  readonly #keep: number
  readonly #first: RegExp | null
  #dropped = false
  /** the last error, and how many lines came after it */
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

  /** As `under`, with the last error that was printed before the headline: a list may show no more than the beginning. */
  appendToWithCause(headline: string): string {
    const { text, before } = this.#cause ?? { text: '', before: Number.POSITIVE_INFINITY }
    return this.appendTo(before <= MAX_STACK_LINES ? `${text.replace(/\.$/, '')}. ${headline}` : headline)
  }

  /** `headline`, and below it what was printed last. */
  appendTo(headline: string): string {
    const gap = this.#head.length > 0 && this.#dropped ? ['…'] : []
    return [headline, ...this.#head, ...gap, ...this.#lines].join('\n')
  }
}
