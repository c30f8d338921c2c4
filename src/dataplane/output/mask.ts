/**
 * Hides secret values in output of builds and agents before it is cut, stored or shown. Code that may only hold masked text
 * requires the type `Masked`, so the compiler prevents earlier cuts.
 */

import type { LogType } from '../../domain/protocol/protocol.ts'
import { HEALTH_PATH_SECRET } from '../../domain/values/health-path.ts'
import type { RevisionLog } from '../runtimes/runtime.ts'
import {
  commonLength,
  type Form,
  formsOf,
  MIN_HIDDEN_CHARACTERS,
  type PartialMatch,
  Scanner,
  type Span,
  spanOf,
} from './mask-forms.ts'
import { StepFailure } from './step-failure.ts'

/** Replaces a hidden value. The API shows the same for values that the caller can't read. */
export const MASK = '••••••••'

declare const masked: unique symbol
export type Masked = string & { readonly [masked]: true }

export interface Mask {
  (text: string): Masked
  /** Masks text that may be cut: also hides parts of a value at its start and end, except very short ones. */
  cut(text: string, hidden?: Span[]): Masked
  /** Masks a stream's lines in order: also hides a value that continues in the next lines. Adds the hidden ranges to `hidden`. */
  lines(): (line: string, hidden?: Span[]) => Masked
  /** length in characters of the longest hidden form */
  maxFormLength: number
  /** a value contains colour codes, so no colour codes may be shown */
  hidesCodes: boolean
}

/** Creates a mask for these values. Values of fewer than four characters are not hidden, see `shortSecretsWarning`. */
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

export const EMPTY_MASK = createMask([])

/** The values to hide: all except the health path, which messages name. */
export const hiddenValues = (secrets: readonly { name: string; value: string }[]): string[] =>
  secrets.flatMap(({ name, value }) => (name === HEALTH_PATH_SECRET ? [] : value))

/** Passwords in URLs separated by spaces, such as those of package indexes. */
export function passwordsOf(urls: string): string[] {
  const found = urls.split(/\s+/).filter((url) => URL.canParse(url))
  return found.flatMap((url) => {
    const { password } = new URL(url)
    return password ? [password, decodeURIComponent(password)] : []
  })
}

/** A log line with the names of secrets that can't be hidden; null: none. */
export function shortSecretsWarning(secrets: readonly { name: string; value: string }[]): string | null {
  // joins the lines of a multi-line value
  const short = (value: string) => value !== '' && value.replace(/[\r\n]/g, '').trim().length < MIN_HIDDEN_CHARACTERS
  const names = secrets.filter(({ name, value }) => name !== HEALTH_PATH_SECRET && short(value)).map(({ name }) => name)
  if (names.length === 0) return null
  return `Values with fewer than ${MIN_HIDDEN_CHARACTERS} characters can't be hidden in logs: ${names.join(', ')}`
}

/** Least length of a partial form at a cut: a shorter one could be any word. */
const minPartialLength = ({ text }: Form) => Math.max(MIN_HIDDEN_CHARACTERS, Math.min(8, Math.ceil(text.length / 2)))

/** Starts of forms at the end of the text. */
function formStarts(text: string, open: readonly PartialMatch[]): Span[] {
  return open
    .filter(({ form, length }) => length >= minPartialLength(form))
    .map(({ form, length }) => [text.length - Math.min(length, text.length) - form.before, text.length])
}

/** Ends of forms at the start of the text, and text that is the middle of a form. */
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

/** Forms that started in earlier lines and continue in this one, to their end or through the whole line. */
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
    // an overlapping range extends the hidden one
    if (to > start && start >= end) {
      shown += text.slice(end, start) + MASK
      hidden?.push([start, to])
    } else if (hidden && to > end) hidden.at(-1)![1] = to
    end = Math.max(end, to)
  }
  return (shown + text.slice(end)) as Masked
}

const MAX_MESSAGE_CHARACTERS = 2000

/** Runs `work`. Masks the message of a StepFailure, logs its first line and throws it again. */
export async function maskFailures<T>(
  mask: Mask,
  logReason: (reason: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    const message = mask(error.message).slice(0, MAX_MESSAGE_CHARACTERS)
    logReason(message.split('\n')[0]!)
    throw new StepFailure(error.reason, message, { artifactLost: error.artifactLost })
  }
}

/** Masks secrets in failures' messages, which contain output and commands, and logs the reason as the last line. */
export function warnOfShortSecrets(
  secrets: readonly { name: string; value: string }[],
  log: RevisionLog,
  type: LogType,
): void {
  const line = shortSecretsWarning(secrets)
  if (line) log.write(type, line, 'warning')
}
