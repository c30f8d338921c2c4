/** Offset pages of REST (docs/api-rules.md#paging) and keyset cursors of GraphQL, which contain a row's sort values. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { ValidationError } from '../errors/errors.ts'
import { time, uuid } from '../parsing/fields.ts'

/** An offset page. `offset` is the value that fetches the next page. */
export interface OffsetPage<T> {
  resources: T[]
  offset: number
}

export function encodeCursor(values: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url')
}

/** Throws ValidationError at `loc`. */
export function decodeCursor<S extends z.ZodType>(cursor: string, shape: S, loc: string[]): z.output<S> {
  const values = shape.safeParse(valuesOf(cursor))
  if (values.success) return values.data
  throw new ValidationError([{ loc, msg: 'Not a cursor of this list.', type: 'cursor_invalid' }])
}

function valuesOf(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}

export interface Window {
  first?: number | null
  after?: string | null
  last?: number | null
  before?: string | null
}

/** A page of a sorted list, and whether more rows exist in the direction of paging. */
export interface Slice<T> {
  rows: T[]
  hasMore: boolean
  /** paged from the end; `rows` are in list order anyway */
  backward: boolean
}

/** Makes a page of the rows that were read. These may be in reverse order and contain one extra row. */
export function cut<T>(window: Window, found: readonly T[]): Slice<T> {
  const { take, backward } = windowSize(window)
  const rows = found.slice(0, take)
  return { rows: backward ? rows.reverse() : rows, hasMore: found.length > take, backward }
}

/** Default size 20, maximum 100. Throws ValidationError for `first` with `last`, or a bad size. */
export function windowSize(window: Window): { take: number; backward: boolean } {
  const backward = window.last != null
  const take = window.last ?? window.first ?? 20
  const field = backward ? 'last' : 'first'
  if (backward && window.first != null)
    throw new ValidationError([{ loc: ['query', 'last'], msg: 'Use first or last, not both.', type: 'value_error' }])
  if (take < 0 || take > 100)
    throw new ValidationError([
      {
        loc: ['query', field],
        msg: 'Must be from 0 to 100.',
        type: take < 0 ? 'greater_than_equal' : 'less_than_equal',
      },
    ])
  return { take, backward }
}

interface Sorted {
  id: string
  createdAt: Date
}

/** Prisma's conditions, order and limit of a page. It reads one extra row, to find out whether more exist. */
export function newestFirst(window: Window) {
  const { take, backward } = windowSize(window)
  const direction = backward ? ('asc' as const) : ('desc' as const)
  const sides = [
    ...(window.after ? [beyond(window.after, 'lt', 'after')] : []),
    ...(window.before ? [beyond(window.before, 'gt', 'before')] : []),
  ]
  return { keyset: { AND: sides }, orderBy: [{ createdAt: direction }, { id: direction }], take: take + 1 }
}

/** The same as SQL for the rows of alias `own`. */
export function newestFirstSql(
  window: Window,
  own: string,
): { where: Prisma.Sql; order: Prisma.Sql; limit: Prisma.Sql } {
  const { take, backward } = windowSize(window)
  const [createdAt, id] = [Prisma.raw(`${own}.created_at`), Prisma.raw(`${own}.id`)]
  const side = (cursor: string, op: '<' | '>', name: string) => {
    const values = decoded(cursor, name)
    return Prisma.sql` AND (${createdAt}, ${id}) ${Prisma.raw(op)} (${values.createdAt}::timestamptz, ${values.id}::uuid)`
  }
  const direction = Prisma.raw(backward ? 'ASC' : 'DESC')
  return {
    where: Prisma.sql`${window.after ? side(window.after, '<', 'after') : Prisma.empty}${
      window.before ? side(window.before, '>', 'before') : Prisma.empty
    }`,
    order: Prisma.sql`${createdAt} ${direction}, ${id} ${direction}`,
    limit: Prisma.raw(`LIMIT ${take + 1}`),
  }
}

/** The columns that newestCursor() needs. */
export const NEWEST_FIELDS = { id: true, createdAt: true } as const

export function newestCursor(row: Sorted): string {
  return encodeCursor([row.createdAt.toISOString(), row.id])
}

function decoded(cursor: string, name: string): Sorted {
  const [createdAt, id] = decodeCursor(cursor, z.tuple([time, uuid]), ['query', name])
  return { createdAt, id }
}

function beyond(cursor: string, op: 'lt' | 'gt', name: string) {
  const { createdAt, id } = decoded(cursor, name)
  return { OR: [{ createdAt: { [op]: createdAt } }, { createdAt, id: { [op]: id } }] }
}
