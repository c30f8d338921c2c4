/** Decodes values of statements into the values that Prisma returns. */
import type { ColumnType } from '../../generated/tables.ts'

/** A timestamptz in UTC, as Postgres prints it. Trailing zeros of the milliseconds are missing. */
const USUAL = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/

export function isoOf(text: string): string {
  // nine of ten have three digits
  if (text.length === 26 && text.charCodeAt(10) === 32 && text.endsWith('+00'))
    return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  const [, day, time, fraction = ''] = USUAL.exec(text) ?? []
  if (day !== undefined) return `${day}T${time}.${fraction.padEnd(3, '0')}Z`
  return new Date(text).toISOString()
}

const dateOf = (text: string): Date => new Date(isoOf(text))

/** Converts a value to what Prisma returns for such a column. Null: no conversion is needed. */
export function decoderOf(kind: ColumnType): ((value: unknown) => unknown) | null {
  if (kind === 'time') return dateOf as (value: unknown) => unknown
  if (kind === 'bigint') return (value) => BigInt(value as string)
  if (kind === 'bytes') return (value) => Buffer.from((value as string).slice(2), 'hex')
  return null
}
