/** Filters of log lines, as SQL conditions for stored lines and as a function for followed ones. Both ignore case. */
import type { LogLine } from '../../generated/prisma/client.ts'
import { Prisma } from '../../generated/prisma/client.ts'
import { LogLevel } from '../../generated/prisma/enums.ts'

export interface LogFilter {
  /** this level or a more severe one */
  level?: LogLevel
  text?: string
  /** of lines that are JSON objects */
  fields?: readonly LogField[]
  /** name of the pod in front of the line, which lines have in clusters */
  replica?: string
  /** inclusive; `to` is exclusive */
  from?: Date
  to?: Date
}

/** `name`: a member, or members joined by dots. `value`: a string, or the text of another JSON value. */
interface LogField {
  name: string
  value: string
}

const SEVERITY = Object.values(LogLevel)

export const isFiltered = ({ level, text, fields, replica, from, to }: LogFilter): boolean =>
  [level, text, fields?.[0], replica, from, to].some((value) => value !== undefined)

const replicaPrefix = (name: string) => `[${name}] `
/** Also in log_field(). */
const REPLICA_PREFIX = /^\[[a-z0-9-]+\] /

export function matches(line: LogLine & { gap: boolean }, filter: LogFilter): boolean {
  const { level, fields, replica, from, to } = filter
  if ((from && line.time < from) || (to && line.time >= to)) return false
  if (line.gap) return true
  if (level && SEVERITY.indexOf(line.level) < SEVERITY.indexOf(level)) return false
  if (replica !== undefined && !line.message.startsWith(replicaPrefix(replica))) return false
  const message = line.message.toLowerCase()
  if (!requiredTexts(filter).every((forms) => forms.some((text) => message.includes(text.toLowerCase())))) return false
  return !fields?.length || hasFields(line.message, fields)
}

/** Conditions on the message and level of a line `l`. */
export function lineFilterSql(filter: LogFilter): Prisma.Sql {
  const fields = (filter.fields ?? []).map(
    ({ name, value }) => Prisma.sql`lower(log_field(l.message, ${name})) = lower(${value}::text)`,
  )
  const level = filter.level ? [levelSql(Prisma.raw('l.level'), filter.level)] : []
  const replica = filter.replica ? [Prisma.sql`starts_with(l.message, ${replicaPrefix(filter.replica)})`] : []
  // most lines don't have the values, so no other text is searched in them
  const values = (filter.fields ?? []).map(({ value }) => [startOf(value)]).filter(([start]) => start !== '')
  const texts = textsSql(Prisma.raw('lower(l.message)'), [...values, ...requiredTexts(filter)])
  return and([...level, ...replica, ...texts, ...fields])
}

/** Whether lines of these times and levels may match: the first condition on rows `b` of log_blocks. */
export const blockScopeSql = ({ level, from, to }: LogFilter): Prisma.Sql => Prisma.sql`
  true ${and([
    ...(from ? [Prisma.sql`b.newest >= ${from}::timestamptz`] : []),
    ...(to ? [Prisma.sql`b.oldest < ${to}::timestamptz`] : []),
    ...(level ? [levelSql(Prisma.raw('b.level'), level)] : []),
  ])}`

/** Whether the column `text` of a block may have a matching line. */
export const blockTextSql = (filter: LogFilter): Prisma.Sql =>
  Prisma.sql`text IS NOT NULL ${and(textsSql(Prisma.raw('text'), requiredTexts(filter)))}`

export function timeFilterSql(column: Prisma.Sql, { from, to }: LogFilter): Prisma.Sql {
  return and([
    ...(from ? [Prisma.sql`${column} >= ${from}::timestamptz`] : []),
    ...(to ? [Prisma.sql`${column} < ${to}::timestamptz`] : []),
  ])
}

const and = (conditions: readonly Prisma.Sql[]): Prisma.Sql =>
  conditions.length === 0 ? Prisma.empty : Prisma.sql`AND ${Prisma.join([...conditions], ' AND ')}`

const levelSql = (column: Prisma.Sql, level: LogLevel) =>
  Prisma.sql`${column}::text = ANY (${SEVERITY.slice(SEVERITY.indexOf(level))})`

const textsSql = (lowered: Prisma.Sql, texts: readonly string[][]): Prisma.Sql[] =>
  texts.map((forms) => {
    const contains = forms.map((text) => Prisma.sql`position(lower(${text}::text) in ${lowered}) > 0`)
    return Prisma.sql`(${Prisma.join(contains, ' OR ')})`
  })

/** A matching line contains one text of each list. */
const requiredTexts = ({ text, replica, fields = [] }: LogFilter): string[][] =>
  [
    text === undefined ? [] : [text],
    replica === undefined ? [] : [replicaPrefix(replica)],
    ...fields.flatMap(formsOfField),
  ].filter((forms) => forms.length > 0)

/** The start of a value up to a character that JSON may escape. */
const startOf = (value: string): string => value.match(/^[\w .:,@=+-]*/)![0]
const UNESCAPED_NAME = /^(?!\d+$)[\w@$-]+$/
/** A number as JSON writes it, or a boolean; an id that begins with a digit is neither. */
const UNQUOTED = /^(-?\d[\d.e+-]*|true|false)$/i

/**
 * How a line has the field: with or without a space after the colon, as JSON is written in one line. First comes what rules out
 * most blocks with few searches: a string alone; for other values, no space after the colon.
 */
function formsOfField({ name, value }: LogField): string[][] {
  const start = startOf(value)
  const member = name.split('.').at(-1)!
  // the index of an array, or a name that may be escaped
  if (!UNESCAPED_NAME.test(member)) return start === '' ? [] : [[start]]
  const quoted = start === value ? `"${value}"` : `"${start}`
  const isUnquoted = UNQUOTED.test(value)
  const values = isUnquoted ? [start, quoted] : [quoted]
  const compact = values.map((one) => `${member}":${one}`)
  const forms = [...compact, ...values.map((one) => `${member}": ${one}`)]
  return [isUnquoted ? [`${member}": `, ...compact] : [quoted], forms]
}

/** Like log_field() in SQL. */
function hasFields(message: string, fields: readonly LogField[]): boolean {
  const text = message.replace(REPLICA_PREFIX, '')
  if (!text.trimStart().startsWith('{')) return false
  try {
    const line: unknown = JSON.parse(text)
    return fields.every(({ name, value }) => {
      const found = memberOf(line, name) ?? name.split('.').reduce(memberOf, line)
      return found != null && textOf(found).toLowerCase() === value.toLowerCase()
    })
  } catch {
    return false
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
