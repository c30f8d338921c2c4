/**
 * Parses path, query and body of a call together, so one error reports all violations (docs/api-rules.md#errors). A PATCH
 * without changed fields writes nothing and emits no event.
 */

import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { type IfMatch, rejectIfAny, ValidationError, type Violation } from '../errors/errors.ts'
import { snake } from './codec.ts'

export interface RawInput {
  /** for a read with If-None-Match: whether the result differs from the caller's copy; a wait ends when it does */
  isNews?: (found: unknown) => boolean
  path?: unknown
  query?: unknown
  body?: unknown
  /** accepted versions of the resource (docs/api-rules.md#conditional-requests); absent: any */
  ifMatch?: IfMatch
  /** violations that the transport found; reported with the others */
  refused?: readonly Violation[]
  /** thrown when the input is valid, instead of running the verb */
  instead?: Error
}

/** Replaces a body that is not valid JSON. `message`: the reason, as a clause. */
export class MalformedJson {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** Stands for the type that zod's issue does not name. `describe` replaces it, so callers never see it. */
const EXPECTED_INT = 'int'

const REPORT = {
  /** Adds the input to issues, which distinguishes missing from wrong values. It is never shown or logged. */
  reportInput: true,
  /** For text in place of `z.int()`, zod's issue says only that it is not a number. */
  error: ({ code, inst }: z.core.$ZodRawIssue) =>
    code === 'invalid_type' && (inst as z.core.$ZodNumberFormat)._zod.def.format === 'safeint'
      ? EXPECTED_INT
      : undefined,
}

export interface ParseOptions {
  /** ignores unknown query parameters, because a third party writes the query */
  foreignQuery?: boolean
}

/**
 * Throws ValidationError with all violations, else `instead`. Unknown query parameters are violations
 * (docs/api-rules.md#errors), because an ignored filter gives wrong results. Other unknown members are removed.
 */
export function parse<S extends z.ZodType>(
  schema: S,
  raw: RawInput,
  { foreignQuery = false }: ParseOptions = {},
): z.output<S> {
  const malformed = raw.body instanceof MalformedJson ? raw.body : null
  const input = malformed ? { ...raw, body: {} } : raw
  let result = schema.safeParse(input)
  // parse again to report: zod takes four times as long when it collects details
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

function unknownParameters(schema: z.ZodType, query: unknown): Violation[] {
  const given = Object.keys(query ?? {})
  if (given.length === 0) return []
  const known = membersOf(membersOf(schema).query)
  const unknown = given.filter((name) => !Object.hasOwn(known, name))
  if (unknown.length === 0) return []
  const names = Object.keys(known)
  const msg =
    names.length === 0
      ? 'Unknown parameter; this call takes no query parameters.'
      : `Unknown parameter; this call takes: ${names.join(', ')}.`
  return unknown.map((name) => ({ loc: ['query', name], msg, type: 'extra_forbidden' }))
}

const membersOf = (schema: z.core.$ZodType | undefined): Record<string, z.core.$ZodType> =>
  schema instanceof z.ZodObject ? schema.shape : {}

/** Maximum nesting, counted from the call's parts. Readers walk the value recursively. */
const MAX_DEPTH = 32

const UNSTORABLE = /[\0\p{Surrogate}]/u

/** Whether `unstorable` would find nothing. This is the usual case, so it builds no paths. */
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

/** Finds values that JSON allows and Postgres cannot store. */
function unstorable(value: unknown, loc: (string | number)[]): Violation[] {
  if (loc.length > MAX_DEPTH)
    return [{ loc, msg: `Must not be nested deeper than ${MAX_DEPTH} levels.`, type: 'recursion_depth' }]
  if (typeof value === 'number')
    return Number.isFinite(value) ? [] : [{ loc, msg: 'The number is too large.', type: 'finite_number' }]
  if (typeof value === 'string')
    return UNSTORABLE.test(value)
      ? [{ loc, msg: 'Must not contain a NUL character or half a surrogate pair.', type: 'value_error' }]
      : []
  if (Array.isArray(value)) return value.flatMap((item, i) => unstorable(item, [...loc, i]))
  if (value === null || typeof value !== 'object' || value instanceof Date) return []
  return Object.entries(value).flatMap(([key, item]) => [...unstorable(key, loc), ...unstorable(item, [...loc, key])])
}

/** A violation in the body. `field`: a dotted path; digits are an index. */
export function violation(field: string, msg: string, type = 'value_error'): Violation {
  const path = field.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  return { loc: ['body', ...path], msg, type }
}

/** Keeps the last of equal issues, because zod reports the bounds of safe integers before ours. */
/** A violation unless the rule holds. */
export const violationUnless = (holds: boolean, field: string, msg: string, type?: string): Violation[] =>
  holds ? [] : [violation(field, msg, type)]

export const whyImmutable = (stored: unknown): string =>
  `Cannot be changed after creation; it is ${stored === null ? 'not set' : JSON.stringify(stored)}.`

/** Fields that can't be changed, as field, sent and stored value. Clients send stored values back, so those are accepted. */
export function immutableViolations(
  fields: readonly (readonly [field: string, sent: unknown, stored: unknown])[],
  message: (stored: unknown) => string = () => 'Cannot be changed.',
): Violation[] {
  return fields
    .filter(([, sent, stored]) => sent != null && sent !== stored)
    .map(([field, , stored]) => violation(field, message(stored)))
}

function violationsOf({ issues }: z.ZodError): Violation[] {
  const found = issues.map(toViolation)
  return [...new Map(found.map((one) => [JSON.stringify([one.loc, one.type]), one])).values()]
}

function toViolation(issue: z.core.$ZodIssue): Violation {
  const loc = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  return { loc, ...(isRepeated(issue) ? REPEATED : describe(issue)) }
}

const isRepeated = ({ code, path, input }: z.core.$ZodIssue) =>
  path[0] === 'query' && Array.isArray(input) && (code === 'invalid_type' || code === 'invalid_value')

const REPEATED = { msg: 'Must be given only once.', type: 'value_error' }

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
          msg: 'Must be an ISO 8601 date-time with a time zone, such as 2026-01-31T12:00:00Z.',
          type: 'datetime_parsing',
        }
      return { msg: issue.message, type: 'string_pattern_mismatch' }
    case 'custom':
      return { msg: issue.message, type: (issue.params?.type as string | undefined) ?? 'value_error' }
    default:
      return { msg: issue.message, type: 'value_error' }
  }
}

/** For query parameters, which are text. All numbers are integers. */
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

/** undefined means no change, as in Prisma */
type Changes<T> = { [K in keyof T]?: unknown }

/** Names in snake_case, for events, which never contain values. */
export function changedFields<T extends object>(stored: T, changes: Changes<T>): string[] {
  return (Object.entries(changes) as [string & keyof T, unknown][])
    .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, stored[name]))
    .map(([name]) => snake(name))
}
