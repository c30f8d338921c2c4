/** Keyset windows of lists that are sorted by creation, newest first, with the id to make the order total. */
import { z } from 'zod'
import { time, uuid } from './fields.ts'
import { decodeCursor, encodeCursor, type Window, windowSize } from './page.ts'

interface Sorted {
  id: string
  createdAt: Date
}

/** What a window asks of the database: one row more than its size tells whether there is more. */
export function newestFirst(window: Window) {
  const { take, backward } = windowSize(window)
  const direction = backward ? ('asc' as const) : ('desc' as const)
  const sides = [
    ...(window.after ? [beyond(window.after, 'lt', 'after')] : []),
    ...(window.before ? [beyond(window.before, 'gt', 'before')] : []),
  ]
  return { keyset: { AND: sides }, orderBy: [{ createdAt: direction }, { id: direction }], take: take + 1 }
}

/** The opaque cursor of a row of such a list. */
export function newestCursor(row: Sorted): string {
  return encodeCursor([row.createdAt.toISOString(), row.id])
}

function beyond(cursor: string, op: 'lt' | 'gt', name: string) {
  const [createdAt, id] = decodeCursor(cursor, z.tuple([time, uuid]), ['query', name])
  return { OR: [{ createdAt: { [op]: createdAt } }, { createdAt, id: { [op]: id } }] }
}
