/** Computes the forms in which programs print a value: raw, line by line, JSON-escaped, URL-encoded, base64. Pure. */
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
