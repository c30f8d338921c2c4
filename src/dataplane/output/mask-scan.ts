/**
 * Finds forms of hidden values in text in one pass, for any number of values. A hash of four characters selects the positions
 * that are compared.
 */
import { type Form, MIN_HIDDEN_CHARACTERS } from './mask-forms.ts'

/** First index, and index after the last character. */
export type Span = [from: number, to: number]

/** A form whose first `length` characters are the end of the text. */
export interface PartialMatch {
  form: Form
  length: number
}

export interface ScanResult {
  spans: Span[]
  partial: PartialMatch[]
}

/** Limits comparisons per character of text. A text that costs more was made to be slow, and is hidden from there on. */
const MAX_COMPARISONS_PER_CHARACTER = 64
const EXTRA_COMPARISONS = 100_000

export class Scanner {
  /** whether a form starts with four characters of this hash */
  readonly #begins = new Uint8Array(1 << 16)
  /** forms by their first 1, 2, 3 and 4 characters, longest first */
  readonly #byStart = new Map<string, Form[]>()

  constructor(forms: readonly Form[]) {
    for (const form of [...forms].sort((a, b) => b.text.length - a.text.length)) {
      this.#begins[hash(form.text, 0)] = 1
      for (let length = 1; length <= MIN_HIDDEN_CHARACTERS; length++) {
        const start = form.text.slice(0, length)
        const others = this.#byStart.get(start)
        if (others) others.push(form)
        else this.#byStart.set(start, [form])
      }
    }
  }

  scan(text: string): ScanResult {
    const found: ScanResult = { spans: [], partial: [] }
    let budget = MAX_COMPARISONS_PER_CHARACTER * text.length + EXTRA_COMPARISONS
    let end = 0
    for (let at = 0; at + MIN_HIDDEN_CHARACTERS <= text.length; at++) {
      if (this.#begins[hash(text, at)] === 0) continue
      for (const form of this.#byStart.get(text.slice(at, at + MIN_HIDDEN_CHARACTERS)) ?? []) {
        if (at + form.text.length <= end) break
        const same = commonLength(form.text, 0, text, at)
        budget -= same
        if (budget < 0) return { ...found, spans: [...found.spans, [at, text.length]] }
        if (same === form.text.length) {
          end = at + same
          found.spans.push(spanOf(form, at, end))
          break
        }
        if (at + same === text.length) found.partial.push({ form, length: same })
      }
    }
    for (let length = 1; length < MIN_HIDDEN_CHARACTERS && length <= text.length; length++)
      for (const form of this.#byStart.get(text.slice(-length)) ?? []) found.partial.push({ form, length })
    return found
  }
}

export const spanOf = ({ before, after }: Form, from: number, to: number): Span => [from - before, to + after]

/** Number of equal characters of `a` from `i` and `b` from `j`. */
export function commonLength(a: string, i: number, b: string, j: number): number {
  const most = Math.min(a.length - i, b.length - j)
  let same = 0
  while (same < most && a.charCodeAt(i + same) === b.charCodeAt(j + same)) same++
  return same
}

function hash(text: string, at: number): number {
  const [a, b, c, d] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3)]
  return (a * 0x1f35 + b * 0x2d51 + c * 0x4e67 + d * 0x6a4b) & 0xffff
}
