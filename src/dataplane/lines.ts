/**
 * Turns what a process prints into lines of text that are safe to store: whole characters, no colours, no
 * NUL (Postgres has none in text), and none longer than LONGEST.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'

/** characters; the rest of a longer line is dropped */
export const LONGEST = 8192

/** `cut`: the line went on, but the rest was dropped. */
export type OnLine = (line: string, cut: boolean) => void

/** One line without colours and NUL, as a person would have seen it. */
export function clean(raw: string): string {
  // a progress bar rewrites its line with \r: what stood there last is what stays
  const shown = raw.replace(/\r+$/, '')
  const text = shown.slice(shown.lastIndexOf('\r') + 1)
  return stripVTControlCharacters(text).replaceAll('\0', '\ufffd')
}

/** Calls `onLine` for each line until the stream has ended, also for a last one without newline. Memory is bounded. */
export async function readLines(stream: Readable, onLine: OnLine): Promise<void> {
  const decoder = new StringDecoder('utf8')
  let pending = ''
  let skipping = false
  const emit = (raw: string, cut: boolean) => onLine(clean(raw), cut)
  const take = (text: string) => {
    const parts = text.split('\n')
    for (const [index, part] of parts.entries()) {
      if (!skipping) pending += part
      if (pending.length > LONGEST) {
        emit(pending.slice(0, LONGEST), true)
        pending = ''
        skipping = true
      }
      if (index === parts.length - 1) return
      if (!skipping) emit(pending, false)
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
  if (pending) emit(pending, false)
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

  add(line: string): void {
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
