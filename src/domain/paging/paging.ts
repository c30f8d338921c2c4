/** Offset pages of REST (docs/api-rules.md#paging) and keyset cursors of GraphQL, which contain a row's sort values. */
import type { z } from 'zod'
import { ValidationError } from '../errors/errors.ts'

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
