/**
 * Parses the raw parts of a call (path, query, body) together, so that all violations are reported at once, with the
 * codes that clients of such APIs know (docs/api-rules.md#errors).
 */
import { z } from 'zod'
import { rejectIfAny, ValidationError, type Violation } from '../errors/errors.ts'
import type { IfMatch } from '../errors/precondition.ts'

/** What a transport hands to a verb: the raw parts, snake_case, unparsed. */
export interface RawInput {
  /** of a read with If-None-Match: whether what was found differs from what the caller has. A wait ends with it */
  isNews?: (found: unknown) => boolean
  path?: unknown
  query?: unknown
  body?: unknown
  /** edits of which the resource has to be at one (docs/api-rules.md#conditional-requests); absent: it may be at any */
  ifMatch?: IfMatch
  /** what the transport has found wrong: reported with the rest */
  refused?: readonly Violation[]
  /** thrown as soon as it is known that nothing is wrong: the call ends with it */
  instead?: Error
}

/** Stands in for a body that is not valid JSON. `message`: a clause that says why. */
export class MalformedJson {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** In place of the message: the type that zod's issue does not name. `describe` reads it; nobody is shown it. */
const EXPECTED_INT = 'int'

const REPORT = {
  /** Issues have their input, which distinguishes missing from wrong values. It is never shown or logged. */
  reportInput: true,
  /** For a text where `z.int()` expects a number, zod's issue says only that it is not a number. */
  error: ({ code, inst }: z.core.$ZodRawIssue) =>
    code === 'invalid_type' && (inst as z.core.$ZodNumberFormat)._zod.def.format === 'safeint'
      ? EXPECTED_INT
      : undefined,
}

/** How `parse` reads a call. */
export interface ParseOptions {
  /** a third party writes the query: parameters that the schema does not know are ignored */
  foreignQuery?: boolean
}

/**
 * Throws ValidationError with every violation, then `instead`. Unknown query parameters are violations (docs/api-rules.md#errors), since
 * ignoring a misspelt filter would give wrong answers; elsewhere unknown members are left out.
 */
export function parse<S extends z.ZodType>(
  schema: S,
  raw: RawInput,
  { foreignQuery = false }: ParseOptions = {},
): z.output<S> {
  const malformed = raw.body instanceof MalformedJson ? raw.body : null
  const input = malformed ? { ...raw, body: {} } : raw
  let result = schema.safeParse(input)
  // to be reported it is parsed once more: zod takes four times as long where it has to note what it would report
  if (!result.success) result = schema.safeParse(input, REPORT)
  const found: Violation[] = raw.refused ? [...raw.refused] : []
  if (!foreignQuery) found.push(...unknownParameters(schema, raw.query))
  if (!result.success) found.push(...violationsOf(result.error))
  if (malformed)
    throw new ValidationError([
      ...found.filter((v) => v.loc[0] !== 'body'),
      { loc: ['body'], msg: `The body is not valid JSON: ${malformed.message}`, type: 'json_invalid' },
    ])
  rejectIfAny(found)
  const parsed = result.data as z.output<S>
  if (!isStorable(parsed, 0)) rejectIfAny(unstorable(parsed, []))
  if (raw.instead) throw raw.instead
  return parsed
}

/** One violation for each unknown name in `query`. */
function unknownParameters(schema: z.ZodType, query: unknown): Violation[] {
  const given = Object.keys(query ?? {})
  if (given.length === 0) return []
  const known = membersOf(membersOf(schema).query)
  const unknown = given.filter((name) => !Object.hasOwn(known, name))
  if (unknown.length === 0) return []
  const names = Object.keys(known)
  const msg =
    names.length === 0
      ? 'There is no such parameter: this call takes none in its query.'
      : `There is no such parameter; this call takes: ${names.join(', ')}.`
  return unknown.map((name) => ({ loc: ['query', name], msg, type: 'extra_forbidden' }))
}

const membersOf = (schema: z.core.$ZodType | undefined): Record<string, z.core.$ZodType> =>
  schema instanceof z.ZodObject ? schema.shape : {}

/** Levels of nesting, counted from the call's parts: readers have to walk them recursively. */
const MAX_DEPTH = 32

const UNSTORABLE = /[\0\p{Surrogate}]/u

/** Whether `unstorable` finds nothing: nearly always, and without a list of where it has looked. */
function isStorable(value: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return false
  if (typeof value === 'string') return !UNSTORABLE.test(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value !== 'object' || value instanceof Date) return true
  if (Array.isArray(value)) return value.every((item) => isStorable(item, depth + 1))
  for (const key in value)
    if (!isStorable(key, depth) || !isStorable((value as Record<string, unknown>)[key], depth + 1)) return false
  return true
}

/** What JSON can express and Postgres can't store: NUL, half a surrogate pair, infinite numbers, unlimited nesting. */
function unstorable(value: unknown, loc: (string | number)[]): Violation[] {
  if (loc.length > MAX_DEPTH)
    return [{ loc, msg: `Must not be nested deeper than ${MAX_DEPTH} levels.`, type: 'recursion_depth' }]
  if (typeof value === 'number')
    return Number.isFinite(value) ? [] : [{ loc, msg: 'Is too large a number.', type: 'finite_number' }]
  if (typeof value === 'string')
    return UNSTORABLE.test(value)
      ? [{ loc, msg: 'Must not contain a NUL character or half a surrogate pair.', type: 'value_error' }]
      : []
  if (Array.isArray(value)) return value.flatMap((item, i) => unstorable(item, [...loc, i]))
  if (value === null || typeof value !== 'object' || value instanceof Date) return []
  return Object.entries(value).flatMap(([key, item]) => [...unstorable(key, loc), ...unstorable(item, [...loc, key])])
}

/** A violation in the body. `field`: dotted path; digits are an index. */
export function violation(field: string, msg: string, type = 'value_error'): Violation {
  const path = field.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  return { loc: ['body', ...path], msg, type }
}

/** Of several issues of one type in one place the last one counts: zod reports the bounds of safe integers before ours. */
function violationsOf({ issues }: z.ZodError): Violation[] {
  const found = issues.map(toViolation)
  return [...new Map(found.map((one) => [JSON.stringify([one.loc, one.type]), one])).values()]
}

function toViolation(issue: z.core.$ZodIssue): Violation {
  const loc = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  return { loc, ...(isRepeated(issue) ? REPEATED : describe(issue)) }
}

/** A query parameter that takes one value and was given several times. */
const isRepeated = ({ code, path, input }: z.core.$ZodIssue) =>
  path[0] === 'query' && Array.isArray(input) && (code === 'invalid_type' || code === 'invalid_value')

const REPEATED = { msg: 'Is given more than once, and takes one value.', type: 'value_error' }

function describe(issue: z.core.$ZodIssue): { msg: string; type: string } {
  const absent = issue.input === undefined
  switch (issue.code) {
    case 'invalid_type': {
      const expected = issue.message === EXPECTED_INT ? 'int' : issue.expected
      if (!absent && issue.path[0] === 'query' && UNREADABLE[expected]) return UNREADABLE[expected]!
      return absent
        ? { msg: 'This field is required.', type: 'missing' }
        : { msg: `Must be ${article(expected)}.`, type: TYPE_WORD[expected] ?? 'type_error' }
    }
    case 'invalid_value':
      return absent
        ? { msg: 'This field is required.', type: 'missing' }
        : { msg: `Must be one of: ${issue.values.map(String).join(', ')}.`, type: 'enum' }
    case 'too_small':
      return size(issue.origin, 'small', Number(issue.minimum), issue.inclusive ?? true)
    case 'too_big':
      return size(issue.origin, 'big', Number(issue.maximum), issue.inclusive ?? true)
    case 'invalid_format':
      if (issue.format === 'uuid' || issue.format === 'guid') return { msg: 'Must be a UUID.', type: 'uuid_parsing' }
      if (issue.format === 'datetime')
        return {
          msg: 'Must be an ISO 8601 date-time with its zone, as 2026-01-31T12:00:00Z.',
          type: 'datetime_parsing',
        }
      return { msg: issue.message, type: 'string_pattern_mismatch' }
    case 'custom':
      return { msg: issue.message, type: (issue.params?.type as string | undefined) ?? 'value_error' }
    default:
      return { msg: issue.message, type: 'value_error' }
  }
}

/** For query parameters, which are text. All their numbers are integers. */
const UNREADABLE: Record<string, { msg: string; type: string }> = {
  number: { msg: 'Must be an integer.', type: 'int_parsing' },
  int: { msg: 'Must be an integer.', type: 'int_parsing' },
  boolean: { msg: 'Must be true or false.', type: 'bool_parsing' },
}

const TYPE_WORD: Record<string, string> = {
  string: 'string_type',
  number: 'float_type',
  int: 'int_type',
  boolean: 'bool_type',
  array: 'list_type',
  object: 'dict_type',
  record: 'dict_type',
}

const article = (word: string) => (word === 'int' ? 'an integer' : /^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`)

function size(origin: string, side: 'small' | 'big', limit: number, inclusive: boolean): { msg: string; type: string } {
  if (origin === 'string')
    return side === 'small'
      ? { msg: `Must have at least ${limit} characters.`, type: 'string_too_short' }
      : { msg: `Must have at most ${limit} characters.`, type: 'string_too_long' }
  if (origin === 'array')
    return side === 'small'
      ? { msg: `Must have at least ${limit} items.`, type: 'too_short' }
      : { msg: `Must have at most ${limit} items.`, type: 'too_long' }
  const word = side === 'small' ? 'greater_than' : 'less_than'
  return inclusive
    ? { msg: `Must be ${side === 'small' ? 'at least' : 'at most'} ${limit}.`, type: `${word}_equal` }
    : { msg: `Must be ${side === 'small' ? 'greater' : 'less'} than ${limit}.`, type: word }
}
