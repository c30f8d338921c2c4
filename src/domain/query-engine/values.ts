/** Decodes values of statements into the values that Prisma returns. */
import type { ColumnType } from '../sql/columns.ts'

/** As Postgres writes a timestamptz in UTC: trailing zeros of the milliseconds are left out. */
const USUAL = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/

/** Text of a timestamptz as ISO 8601 with milliseconds in UTC, as Date has it. */
export function isoOf(text: string): string {
  // nine in ten have all three digits
  if (text.length === 26 && text.charCodeAt(10) === 32 && text.endsWith('+00'))
    return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  const [, day, time, fraction = ''] = USUAL.exec(text) ?? []
  if (day !== undefined) return `${day}T${time}.${fraction.padEnd(3, '0')}Z`
  return new Date(text).toISOString()
}

const dateOf = (text: string): Date => new Date(isoOf(text))

/** How a value becomes what Prisma gives for such a column; null: it is that already. */
export function decoderOf(kind: ColumnType): ((value: unknown) => unknown) | null {
  if (kind === 'time') return dateOf as (value: unknown) => unknown
  if (kind === 'bigint') return (value) => BigInt(value as string)
  // `\x6f6b`
  if (kind === 'bytes') return (value) => Buffer.from((value as string).slice(2), 'hex')
  return null
}
