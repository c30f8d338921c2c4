/**
 * The sort orders of deployments and their keysets, for Prisma and as SQL; a test checks that the two agree. Each order ends
 * with the id, so that it is total.
 */
import { z } from 'zod'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import { decodeCursor, encodeCursor, type Window } from '../paging/paging.ts'
import { printableName, time, uuid } from '../parsing/fields.ts'
import { unseen } from '../sql/hide-from-planner.ts'

/** `ATTENTION` descending: what fails or is down, then what is under way, then the rest; in each the newest change first. */
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

const columnSql = (column: SortColumn) => Prisma.raw(`d.${SQL[column]}`)

const flip = (direction: 'asc' | 'desc') => (direction === 'asc' ? 'desc' : 'asc')

/** `backward`: reversed, for paging from the end. */
export function orderOf(order: DeploymentOrder, backward = false): Prisma.DeploymentOrderByWithRelationInput[] {
  const direction = backward ? flip(order.direction) : order.direction
  return [...COLUMNS[order.by], 'id' as const].map((column) => ({ [column]: direction }))
}

/** What follows ORDER BY, on deployments `d`. */
export function orderSql(order: DeploymentOrder, backward = false): Prisma.Sql {
  const direction = backward ? flip(order.direction) : order.direction
  const sort = direction === 'asc' ? Prisma.sql`ASC` : Prisma.sql`DESC`
  const columns = [...COLUMNS[order.by].map(columnSql), Prisma.sql`d.id`]
  return Prisma.join(columns.map((column) => Prisma.sql`${column} ${sort}`))
}

/** The opaque cursor of a row. It names the order, so that it is rejected in a list of another order. */
export function deploymentCursor({ by }: DeploymentOrder, row: Pick<Deployment, 'id' | SortColumn>): string {
  const values = COLUMNS[by].map((column) => row[column])
  return encodeCursor([by, ...values.map((value) => (value instanceof Date ? value.toISOString() : value)), row.id])
}

/** The conditions for `after` and `before`. Throws ValidationError for a cursor of another order. */
export function keysetOf(order: DeploymentOrder, window: Window): Prisma.DeploymentWhereInput[] {
  const sides: Prisma.DeploymentWhereInput[] = []
  if (window.after) sides.push(beyond(order, window.after, order.direction, 'after'))
  if (window.before) sides.push(beyond(order, window.before, flip(order.direction), 'before'))
  return sides
}

/** The same, on deployments `d`; null: neither is given. */
export function keysetSql(order: DeploymentOrder, window: Window): Prisma.Sql | null {
  const sides: Prisma.Sql[] = []
  if (window.after) sides.push(beyondSql(order, window.after, order.direction, 'after'))
  if (window.before) sides.push(beyondSql(order, window.before, flip(order.direction), 'before'))
  return sides.length > 0 ? Prisma.join(sides, ' AND ') : null
}

/** The sort values and the id of the row that a cursor names. */
function decode({ by }: DeploymentOrder, cursor: string, name: string): { values: SortValue[]; id: string } {
  const [first, second] = COLUMNS[by].map((column) => SHAPE[column])
  const shape = second ? z.tuple([z.literal(by), first!, second, uuid]) : z.tuple([z.literal(by), first!, uuid])
  const [, ...values] = decodeCursor(cursor, shape, ['query', name]) as [string, ...SortValue[]]
  return { id: values.pop() as string, values }
}

function beyond(
  order: DeploymentOrder,
  cursor: string,
  direction: 'asc' | 'desc',
  name: string,
): Prisma.DeploymentWhereInput {
  const { values, id } = decode(order, cursor, name)
  const op = direction === 'asc' ? 'gt' : 'lt'
  const columns: (SortColumn | 'id')[] = [...COLUMNS[order.by], 'id']
  const all = [...values, id]
  // beyond in one column, and equal in all columns before it
  const either = columns.map((column, at) => ({
    ...Object.fromEntries(columns.slice(0, at).map((before, place) => [before, all[place]])),
    [column]: { [op]: all[at] },
  }))
  // the first condition can use the index
  return { [columns[0]!]: { [`${op}e`]: all[0] }, OR: either }
}

function beyondSql(order: DeploymentOrder, cursor: string, direction: 'asc' | 'desc', name: string): Prisma.Sql {
  const { values, id } = decode(order, cursor, name)
  const op = direction === 'asc' ? Prisma.sql`>` : Prisma.sql`<`
  const columns = COLUMNS[order.by]
  const row = Prisma.join([...columns.map(columnSql), Prisma.sql`d.id`])
  const given = columns.map((column, at) => unseen(Prisma.sql`${values[at]}::${Prisma.raw(TYPE[column])}`))
  return Prisma.sql`(${row}) ${op} (${Prisma.join([...given, unseen(Prisma.sql`${id}::uuid`)])})`
}
