/**
 * Turns what a process prints into lines of text that are safe to store: whole characters, no colours, no
 * NUL (Postgres has none in text), and none longer than LONGEST.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Mask, Masked } from './mask.ts'
import { clean } from './text.ts'

/** characters */
export const LONGEST = 8192

/** `shown`: with all values hidden, for people. `line`: as it was printed, for programs. */
export type OnLine = (shown: Masked, line: string) => void

/**
 * Calls `onLine` for each line until the stream has ended, also for a last one without newline. Memory is bounded: the
 * rest of a longer line is dropped, after `mask` has hidden what it hides, so that no value is cut in two.
 */
export async function readLines(stream: Readable, mask: Mask, onLine: OnLine): Promise<void> {
  const decoder = new StringDecoder('utf8')
  let pending = ''
  let skipping = false
  const hide = mask.lines()
  const most = LONGEST + mask.longest
  const emit = (raw: string) => {
    const line = clean(raw)
    onLine(hide(line).slice(0, LONGEST) as Masked, line.slice(0, LONGEST))
  }
  const take = (text: string) => {
    const parts = text.split('\n')
    for (const [index, part] of parts.entries()) {
      if (!skipping) pending += part
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

/** So many of the lines that are kept beside the last ones. */
const FIRST = 6

/**
 * The last lines of an output, for the message of a failure. `first`: of lines like these the first ones are kept, too,
 * for programs that say what is wrong before they say much else.
 */
export class Tail {
  readonly #head: string[] = []
  readonly #lines: string[] = []
  readonly #keep: number
  readonly #first: RegExp | null
  #dropped = false

  constructor(keep = 10, first: RegExp | null = null) {
    this.#keep = keep
    this.#first = first
  }

  add(line: Masked): void {
    if (!line.trim()) return
    this.#lines.push(line.slice(0, 300))
    if (this.#lines.length <= this.#keep) return
    const oldest = this.#lines.shift()!
    if (this.#head.length < FIRST && this.#first?.test(oldest)) this.#head.push(oldest)
    else this.#dropped = true
  }

  /** `headline`, and below it what was printed last. */
  under(headline: string): string {
    const gap = this.#head.length > 0 && this.#dropped ? ['…'] : []
    return [headline, ...this.#head, ...gap, ...this.#lines].join('\n')
  }
}
