/** Keyset pages of lists that are sorted by creation time, newest first, then by id. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { time, uuid } from '../parsing/fields.ts'
import { decodeCursor, encodeCursor, type Window, windowSize } from './paging.ts'

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
