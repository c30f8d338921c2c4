/** The sort orders of deployments with their cursors. Each order ends with the id, so it is total. */
import { z } from 'zod'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import { decodeCursor, encodeCursor, type Window } from '../paging/paging.ts'
import { hideFromPlanner } from '../paging/statements.ts'
import { printableName, time, uuid } from '../parsing/fields.ts'

/** `ATTENTION` descending: failed or down, then in progress, then the rest; the newest change first within each. */
export interface DeploymentOrder {
  by: 'ATTENTION' | 'CREATED_AT' | 'UPDATED_AT' | 'NAME'
  direction: 'asc' | 'desc'
}

type SortColumn = 'attention' | 'createdAt' | 'updatedAt' | 'name'
type SortValue = string | number | Date

const COLUMNS: Record<DeploymentOrder['by'], readonly SortColumn[]> = {
  ATTENTION: ['attention', 'updatedAt'],
  CREATED_AT: ['createdAt'],
  UPDATED_AT: ['updatedAt'],
  NAME: ['name'],
}

const SQL = { attention: 'attention', createdAt: 'created_at', updatedAt: 'updated_at', name: 'name' } as const
const TYPE = { attention: 'int', createdAt: 'timestamptz', updatedAt: 'timestamptz', name: 'text' } as const
const SHAPE = { attention: z.int32(), createdAt: time, updatedAt: time, name: printableName } as const

/** The columns that deploymentCursor() needs. */
export const SORT_FIELDS = { id: true, attention: true, createdAt: true, updatedAt: true, name: true } as const

const columnSql = (column: SortColumn) => Prisma.raw(`d.${SQL[column]}`)

const flip = (direction: 'asc' | 'desc') => (direction === 'asc' ? 'desc' : 'asc')

/** The columns after ORDER BY, on deployments `d`. `backward`: reversed, to read a window from its end. */
export function orderSql(order: DeploymentOrder, backward = false): Prisma.Sql {
  const direction = backward ? flip(order.direction) : order.direction
  const sort = direction === 'asc' ? Prisma.sql`ASC` : Prisma.sql`DESC`
  const columns = [...COLUMNS[order.by].map(columnSql), Prisma.sql`d.id`]
  return Prisma.join(columns.map((column) => Prisma.sql`${column} ${sort}`))
}

/** The opaque cursor of a row. It names the order, so lists in another order refuse it. */
export function deploymentCursor({ by }: DeploymentOrder, row: Pick<Deployment, 'id' | SortColumn>): string {
  const values = COLUMNS[by].map((column) => row[column])
  return encodeCursor([by, ...values.map((value) => (value instanceof Date ? value.toISOString() : value)), row.id])
}

/**
 * The conditions for `after` and `before` on deployments `d`; null: no cursor is given. Throws ValidationError for a cursor of
 * another order.
 */
export function keysetSql(order: DeploymentOrder, window: Window): Prisma.Sql | null {
  const sides: Prisma.Sql[] = []
  if (window.after) sides.push(beyond(order, window.after, order.direction, 'after'))
  if (window.before) sides.push(beyond(order, window.before, flip(order.direction), 'before'))
  return sides.length > 0 ? Prisma.join(sides, ' AND ') : null
}

function decode({ by }: DeploymentOrder, cursor: string, name: string): { values: SortValue[]; id: string } {
  const [first, second] = COLUMNS[by].map((column) => SHAPE[column])
  const shape = second ? z.tuple([z.literal(by), first!, second, uuid]) : z.tuple([z.literal(by), first!, uuid])
  const [, ...values] = decodeCursor(cursor, shape, ['query', name]) as [string, ...SortValue[]]
  return { id: values.pop() as string, values }
}

function beyond(order: DeploymentOrder, cursor: string, direction: 'asc' | 'desc', name: string): Prisma.Sql {
  const { values, id } = decode(order, cursor, name)
  const op = direction === 'asc' ? Prisma.sql`>` : Prisma.sql`<`
  const columns = COLUMNS[order.by]
  const row = Prisma.join([...columns.map(columnSql), Prisma.sql`d.id`])
  const given = columns.map((column, at) => hideFromPlanner(Prisma.sql`${values[at]}::${Prisma.raw(TYPE[column])}`))
  return Prisma.sql`(${row}) ${op} (${Prisma.join([...given, hideFromPlanner(Prisma.sql`${id}::uuid`)])})`
}
