/** The content of each input: made from the stored value, and parsed into the value to send. */
import { type Field, SPEC_PATH } from './fields.ts'

/** A JSON value; null: not set. */
export type Value = unknown
export type Row = Record<string, string>
export type Input = string | number | boolean | readonly string[] | readonly Row[]

/** The source's input while its upload is running. */
export const UPLOADING = '\u0000uploading'

/** Drops null members and the cache's `__typename`, and sorts members by name. */
function normalise(value: Value): Value {
  if (Array.isArray(value)) return value.map(normalise)
  if (value === null || typeof value !== 'object') return value ?? null
  const members = Object.entries(value).filter(([name, one]) => name !== '__typename' && one != null)
  return Object.fromEntries(members.map(([name, one]) => [name, normalise(one)]).sort(([a], [b]) => (a! < b! ? -1 : 1)))
}

/** The value at a path of the settings. */
export const storedValue = (settings: object, path: string): Value =>
  normalise(path.split('.').reduce<unknown>((at, part) => (at as Row | null | undefined)?.[part], settings))

export function inputOf(settings: object, { kind, name, path }: Field): Input {
  const value = storedValue(settings, path)
  if (name === 'tags') return (value as Row[]).map(({ key, value }) => ({ key: key!, value: value! }))
  if (kind === 'switch') return value === true
  if (kind === 'pairs') return formatPairs((value ?? {}) as Row)
  if (kind === 'names') return ((value ?? []) as Row[]).map(({ name }) => name!)
  if (kind === 'rows') return (value ?? []) as Row[]
  if (kind === 'json') return value === null ? '' : JSON.stringify(value, null, 2)
  return (value ?? '') as Input
}

type Parsed = { value: Value; error?: undefined } | { value?: undefined; error: string }

export function parseInput({ kind, type, min, max, maxLength }: Field, input: Input): Parsed {
  switch (kind) {
    case 'integer':
    case 'cores': {
      const number = Number(input)
      if (input === '' || Number.isNaN(number)) return { value: null }
      return number < min! || number > max! ? { error: `Enter a number from ${min} to ${max}.` } : { value: number }
    }
    case 'pairs':
      return parsePairs(input as string)
    case 'names':
      return { value: emptyToNull((input as string[]).map((name) => ({ name }))) }
    case 'json':
      return parseJson(input as string, type.startsWith('['))
    case 'rows':
      return (input as Row[]).some((row) => Object.values(row).includes(''))
        ? { error: 'Fill in every field.' }
        : { value: input }
    case 'upload':
      return input === UPLOADING ? { error: 'The upload is still running.' } : { value: emptyToNull(input) }
    case 'text':
      if ((input as string).length > (maxLength ?? Number.POSITIVE_INFINITY))
        return { error: `At most ${maxLength} characters.` }
      return { value: emptyToNull(input) }
    case 'switch':
      return { value: input }
  }
}

/** Why the input can't be sent. */
export function inputError(field: Field, input: Input, stored: Input): string | undefined {
  const { kind, path, empty } = field
  // resources are sent as a whole
  const mustStay = kind === 'text' && !path.startsWith(SPEC_PATH) && empty === undefined
  if (mustStay && input === '' && stored !== '') return 'This can’t be empty.'
  return parseInput(field, input).error
}

export function isSameInput(field: Field, a: Input, b: Input): boolean {
  const [one, other] = [parseInput(field, a), parseInput(field, b)]
  const isParsed = one.error === undefined && other.error === undefined
  return isParsed
    ? JSON.stringify(normalise(one.value)) === JSON.stringify(normalise(other.value))
    : JSON.stringify(a) === JSON.stringify(b)
}

const emptyToNull = (value: Input | object): Value => (Object.keys(value).length === 0 ? null : value)

const formatPairs = (pairs: Row): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

/** Parses lines `name=value`. */
function parsePairs(text: string): Parsed {
  const pairs: Row = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    if (at < 1) return { error: `“${line.trim()}” is not name=value.` }
    pairs[line.slice(0, at).trim()] = line.slice(at + 1)
  }
  return { value: emptyToNull(pairs) }
}

function parseJson(text: string, isList: boolean): Parsed {
  if (text.trim() === '') return { value: null }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && Array.isArray(value) === isList)
      return { value: emptyToNull(value) }
    return { error: isList ? 'Enter a list: [ … ].' : 'Enter an object: { … }.' }
  } catch {
    return { error: 'This is not valid JSON.' }
  }
}

/** The input in words. */
export function formatInput({ kind, name, defaultText }: Field, input: Input): string {
  if (input === '' || (Array.isArray(input) && input.length === 0)) return defaultText ?? 'none'
  if (typeof input === 'boolean') return input ? 'on' : 'off'
  if (kind === 'names') return (input as string[]).join(', ')
  if (name === 'tags') return (input as Row[]).map(({ key, value }) => `${key}: ${value}`).join('\n')
  return typeof input === 'object' ? JSON.stringify(input, null, 2) : `${input}`
}

/** Parses an `.env` file. Null if no line has the form `NAME=value`. */
export function parseEnvFile(text: string): Map<string, string> | null {
  const found = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    const [, name, raw] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=(.*)$/.exec(line) ?? []
    if (name === undefined) continue
    const [, , quoted] = /^\s*(["'])(.*)\1\s*$/.exec(raw!) ?? []
    found.set(name, quoted ?? raw!.trim())
  }
  return found.size > 0 ? found : null
}
