/**
 * Hides the values of secrets in whatever a build or an agent prints, before it is cut, stored or shown. What is to
 * hold only hidden text takes `Masked`, so that nothing can be cut first by mistake.
 */
import { HEALTH_PATH_SECRET } from '../../domain/values/health-path.ts'
import { type Form, formsOf, MIN_HIDDEN_CHARACTERS } from './mask-forms.ts'
import { commonLength, type PartialMatch, Scanner, type Span, spanOf } from './mask-scan.ts'

/** What stands in the place of a hidden value; the API shows the same for a value that may not be read. */
export const MASK = '••••••••'

declare const masked: unique symbol
/** Text in which a mask has hidden what it hides. */
export type Masked = string & { readonly [masked]: true }

export interface Mask {
  /** Of text that is whole. */
  (text: string): Masked
  /** Of text that others may have cut: what is left of a value at its beginning or end is hidden, too, but for a few characters. */
  cut(text: string, hidden?: Span[]): Masked
  /**
   * Of a stream, line after line: a value that goes on in the next lines is hidden in them, too. What of the line each mask
   * stands for is added to `hidden`.
   */
  lines(): (line: string, hidden?: Span[]) => Masked
  /** characters of the longest text that is hidden as one */
  maxFormLength: number
  /** Codes for colours are a part of a value: whatever is printed, they are not to be shown. */
  hidesCodes: boolean
}

/** A function that hides these values. Those with fewer than four characters are not hidden, see `unhidden`. */
export function createMask(values: Iterable<string>): Mask {
  const forms = new Map<string, Form>()
  let hidesCodes = false
  for (const value of values) {
    hidesCodes ||= value.includes('\u001b')
    for (const form of formsOf(value)) forms.set(form.text, form)
  }
  const scanner = new Scanner([...forms.values()])
  let maxFormLength = 0
  for (const { text, before, after } of forms.values())
    maxFormLength = Math.max(maxFormLength, before + text.length + after)
  const cut = (text: string, hidden?: Span[]) => {
    const { spans, partial: open } = scanner.scan(text)
    return hide(text, [...spans, ...formStarts(text, open), ...formEnds(text, forms.values())], hidden)
  }
  const lines = () => {
    let open: PartialMatch[] = []
    return (line: string, hidden?: Span[]) => {
      const found = scanner.scan(line)
      const { spans, still } = continuedForms(line, open)
      open = [...found.partial, ...still]
      return hide(line, [...found.spans, ...spans, ...formStarts(line, open)], hidden)
    }
  }
  return Object.assign((text: string) => hide(text, scanner.scan(text).spans), {
    cut,
    lines,
    maxFormLength,
    hidesCodes,
  })
}

/** Hides nothing: for output that no user's code and no secret has a part in. */
export const EMPTY_MASK = createMask([])

/** The values to hide: all but the health path, which messages name. */
export const hiddenValues = (secrets: readonly { name: string; value: string }[]): string[] =>
  secrets.flatMap(({ name, value }) => (name === HEALTH_PATH_SECRET ? [] : value))

/** Names of secrets that can't be hidden, in a line for the log; null: there are none. */
export function shortSecretsWarning(secrets: readonly { name: string; value: string }[]): string | null {
  // of several lines, what is left when they are put together
  const short = (value: string) => value !== '' && value.replace(/[\r\n]/g, '').trim().length < MIN_HIDDEN_CHARACTERS
  const names = secrets.filter(({ name, value }) => name !== HEALTH_PATH_SECRET && short(value)).map(({ name }) => name)
  if (names.length === 0) return null
  return `Values with fewer than ${MIN_HIDDEN_CHARACTERS} characters can't be hidden in logs: ${names.join(', ')}`
}

/** So much of a form tells that it is one: less, at a cut, may be any word. */
const minPartialLength = ({ text }: Form) => Math.max(MIN_HIDDEN_CHARACTERS, Math.min(8, Math.ceil(text.length / 2)))

/** Beginnings of forms at the end of the text. */
function formStarts(text: string, open: readonly PartialMatch[]): Span[] {
  return open
    .filter(({ form, length }) => length >= minPartialLength(form))
    .map(({ form, length }) => [text.length - Math.min(length, text.length) - form.before, text.length])
}

/** Ends of forms at the beginning of the text, and a text that is a part of a form. */
function formEnds(text: string, forms: Iterable<Form>): Span[] {
  const spans: Span[] = []
  for (const form of forms) {
    const start = text.slice(0, minPartialLength(form))
    if (start.length < minPartialLength(form)) continue
    for (let at = form.text.indexOf(start, 1); at > 0; at = form.text.indexOf(start, at + 1)) {
      const same = commonLength(form.text, at, text, 0)
      if (at + same === form.text.length || same === text.length) spans.push(spanOf(form, 0, same))
    }
  }
  return spans
}

/** What the line before has left open goes on in this one, to its end or through all of it. */
function continuedForms(line: string, before: readonly PartialMatch[]): { spans: Span[]; still: PartialMatch[] } {
  const spans: Span[] = []
  const still: PartialMatch[] = []
  for (const { form, length } of before) {
    const same = commonLength(form.text, length, line, 0)
    if (length + same === form.text.length) spans.push(spanOf(form, 0, same))
    else if (same === line.length) {
      if (length + same >= minPartialLength(form)) spans.push([0, same])
      still.push({ form, length: length + same })
    }
  }
  return { spans, still }
}

function hide(text: string, spans: readonly Span[], hidden?: Span[]): Masked {
  if (spans.length === 0) return text as Masked
  let shown = ''
  let end = 0
  for (const [from, to] of [...spans].sort(([a], [b]) => a - b)) {
    const start = Math.max(0, from)
    // one that begins in what is hidden already makes that longer
    if (to > start && start >= end) {
      shown += text.slice(end, start) + MASK
      hidden?.push([start, to])
    } else if (hidden && to > end) hidden.at(-1)![1] = to
    end = Math.max(end, to)
  }
  return (shown + text.slice(end)) as Masked
}
