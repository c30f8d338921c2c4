/** Keyset windows of lists sorted by time of creation, newest first, then by id. */
import { z } from 'zod'
import { time, uuid } from './fields.ts'
import { decodeCursor, encodeCursor, type Window, windowSize } from './paging.ts'

interface Sorted {
  id: string
  createdAt: Date
}

/** The window's part of a Prisma query. It reads one extra row, which shows whether there are more. */
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
