/**
 * The sort orders of deployments and their keysets, for Prisma and as SQL; a test checks that the two agree. Each order ends
 * with the id, so that it is total.
 */
import { z } from 'zod'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import { printableName, time, uuid } from '../core/fields.ts'
import { decodeCursor, encodeCursor, type Window } from '../core/paging.ts'
import { unseen } from '../core/unseen.ts'

export interface DeploymentOrder {
  by: 'CREATED_AT' | 'UPDATED_AT' | 'NAME'
  direction: 'asc' | 'desc'
}

const COLUMN = { CREATED_AT: 'createdAt', UPDATED_AT: 'updatedAt', NAME: 'name' } as const

const COLUMN_SQL = {
  CREATED_AT: Prisma.sql`d.created_at`,
  UPDATED_AT: Prisma.sql`d.updated_at`,
  NAME: Prisma.sql`d.name`,
} as const

const flip = (direction: 'asc' | 'desc') => (direction === 'asc' ? 'desc' : 'asc')

/** `backward`: reversed, for paging from the end. */
export function orderOf(order: DeploymentOrder, backward = false): Prisma.DeploymentOrderByWithRelationInput[] {
  const direction = backward ? flip(order.direction) : order.direction
  return [{ [COLUMN[order.by]]: direction }, { id: direction }]
}

/** What follows ORDER BY, on deployments `d`. */
export function orderSql(order: DeploymentOrder, backward = false): Prisma.Sql {
  const direction = backward ? flip(order.direction) : order.direction
  const sort = direction === 'asc' ? Prisma.sql`ASC` : Prisma.sql`DESC`
  return Prisma.sql`${COLUMN_SQL[order.by]} ${sort}, d.id ${sort}`
}

/** The opaque cursor of a row. It names the order, so that it is rejected in a list of another order. */
export function deploymentCursor(
  order: DeploymentOrder,
  row: Pick<Deployment, 'id' | 'createdAt' | 'updatedAt' | 'name'>,
): string {
  const value = row[COLUMN[order.by]]
  return encodeCursor([order.by, value instanceof Date ? value.toISOString() : value, row.id])
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

/** The sort value and the id of the row that a cursor names. */
function decode(order: DeploymentOrder, cursor: string, name: string): { value: string | Date; id: string } {
  const shape = z.tuple([z.literal(order.by), order.by === 'NAME' ? printableName : time, uuid])
  const [, value, id] = decodeCursor(cursor, shape, ['query', name])
  return { value, id }
}

function beyond(
  order: DeploymentOrder,
  cursor: string,
  direction: 'asc' | 'desc',
  name: string,
): Prisma.DeploymentWhereInput {
  const { value, id } = decode(order, cursor, name)
  const op = direction === 'asc' ? 'gt' : 'lt'
  const column = COLUMN[order.by]
  // the first condition can use the index; the second excludes rows with an equal value before the cursor
  return { [column]: { [`${op}e`]: value }, OR: [{ [column]: { [op]: value } }, { [column]: value, id: { [op]: id } }] }
}

function beyondSql(order: DeploymentOrder, cursor: string, direction: 'asc' | 'desc', name: string): Prisma.Sql {
  const { value, id } = decode(order, cursor, name)
  const op = direction === 'asc' ? Prisma.sql`>` : Prisma.sql`<`
  const type = order.by === 'NAME' ? Prisma.sql`text` : Prisma.sql`timestamptz`
  return Prisma.sql`(${COLUMN_SQL[order.by]}, d.id) ${op} (${unseen(Prisma.sql`${value}::${type}`)}, ${unseen(Prisma.sql`${id}::uuid`)})`
}
