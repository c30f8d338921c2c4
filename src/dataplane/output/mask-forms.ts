/**
 * Finds secret values in output, in the forms in which programs print them: raw, line by line, JSON-escaped, URL-encoded,
 * base64. Pure.
 */
import { plainText } from './terminal-text.ts'

/** Shorter values are common words (`1`, `on`, `dev`): hiding them would only garble output. */
export const MIN_HIDDEN_CHARACTERS = 4

export interface Form {
  text: string
  /** characters before and after the text that contain bits of the value (base64 has 6 bits per character, a byte has 8) */
  before: 0 | 1
  after: 0 | 1
}

export function formsOf(value: string): Form[] {
  const forms = new Map<string, Form>()
  const add = (text: string, before: 0 | 1 = 0, after: 0 | 1 = 0) => {
    if (text.length >= MIN_HIDDEN_CHARACTERS && !forms.has(text)) forms.set(text, { text, before, after })
  }
  for (const part of partsOf(value)) {
    for (const text of [part, plainText(part), ...escaped(part), ...percentEncoded(part)]) add(text)
    for (const { text, before, after } of base64(part)) add(text, before, after)
  }
  // as a reader would join the printed lines
  const joined = plainText(value.replace(/[\r\n]/g, ''))
  for (const text of [joined, joined.trim()]) add(text)
  return [...forms.values()]
}

/** The value and its lines: output comes line by line and is often trimmed. */
function partsOf(value: string): Set<string> {
  const lines = value.split(/\r\n|\r|\n/)
  return new Set(
    [value, value.trim(), ...lines, ...lines.map((line) => line.trim())].filter(
      (part) => part.length >= MIN_HIDDEN_CHARACTERS,
    ),
  )
}

function escaped(part: string): string[] {
  const json = JSON.stringify(part).slice(1, -1)
  const ascii = json.replace(/[\u007f-\uffff]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // JSON logs often contain JSON
  const twice = JSON.stringify(json).slice(1, -1)
  return [json, ascii, json.replaceAll('/', '\\/'), json.replaceAll('\\"', '"'), twice]
}

/** Encoded as in URLs and forms. Encoders differ in what they escape and in the case of hex digits. */
function percentEncoded(part: string): string[] {
  const whole = part.replace(/\p{Surrogate}/gu, '\ufffd')
  const component = encodeURIComponent(whole)
  const strict = component.replace(/[!'()*~]/g, (it) => `%${it.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = new URLSearchParams({ '': whole }).toString().slice(1)
  // a path segment may contain these (RFC 3986); Go's url.PathEscape and others leave them
  const segment = component.replace(/%(24|26|2B|3A|3D|40)/g, decodeURIComponent)
  const ready = [
    component,
    strict,
    strict.replaceAll('%7E', '~'),
    form,
    segment,
    encodeURI(whole),
    encodeUserinfo(whole),
  ]
  return ready.flatMap((text) => {
    const path = text.replaceAll('%2F', '/')
    return [text, path, lowerCase(text), lowerCase(path)]
  })
}

function encodeUserinfo(text: string): string {
  const url = new URL('http://host')
  url.password = text
  return url.password
}

const lowerCase = (text: string) => text.replace(/%[0-9A-F]{2}/g, (it) => it.toLowerCase())

/**
 * The base64 text of a value at each of the three offsets in a group of three bytes, inside a longer text or alone. Without
 * padding and characters shared with neighbours.
 */
function base64(part: string): Form[] {
  const bytes = Buffer.from(part)
  return [0, 1, 2].flatMap((shift) => {
    const bits = 8 * (shift + bytes.length)
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    const text = encoded.slice(Math.ceil((8 * shift) / 6), Math.floor(bits / 6))
    const shared = { before: shift > 0 ? 1 : 0, after: bits % 6 > 0 ? 1 : 0 } as const
    return [text, text.replaceAll('+', '-').replaceAll('/', '_')].map((it) => ({ text: it, ...shared }))
  })
}

/** First index, and index after the last character. */
export type Span = [from: number, to: number]

/** A form whose first `length` characters are the end of the text. */
export interface PartialMatch {
  form: Form
  length: number
}

interface ScanResult {
  spans: Span[]
  partial: PartialMatch[]
}

/** Limits comparisons per character of text. A text that costs more was made to be slow, and is hidden from there on. */
const MAX_COMPARISONS_PER_CHARACTER = 64
const EXTRA_COMPARISONS = 100_000

/**
 * Finds forms of hidden values in text in one pass, for any number of values. A hash of four characters selects the positions
 * that are compared.
 */
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
