/** The orders in which deployments are listed, and their keysets: each ends with the id, so that it is total. */
import { z } from 'zod'
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'
import { printableName, time, uuid } from '../fields.ts'
import { decodeCursor, encodeCursor, type Window } from '../page.ts'

export interface DeploymentOrder {
  by: 'CREATED_AT' | 'UPDATED_AT' | 'NAME'
  direction: 'asc' | 'desc'
}

const COLUMN = { CREATED_AT: 'createdAt', UPDATED_AT: 'updatedAt', NAME: 'name' } as const

const flip = (direction: 'asc' | 'desc') => (direction === 'asc' ? 'desc' : 'asc')

/** `backward`: the same order, read from its end. */
export function orderOf(order: DeploymentOrder, backward = false): Prisma.DeploymentOrderByWithRelationInput[] {
  const direction = backward ? flip(order.direction) : order.direction
  return [{ [COLUMN[order.by]]: direction }, { id: direction }]
}

/** The opaque cursor of a row: it names the order too, so that it is refused in another one. */
export function deploymentCursor(
  order: DeploymentOrder,
  row: Pick<Deployment, 'id' | 'createdAt' | 'updatedAt' | 'name'>,
): string {
  const value = row[COLUMN[order.by]]
  return encodeCursor([order.by, value instanceof Date ? value.toISOString() : value, row.id])
}

/** The conditions that `after` and `before` put on the rows. Throws ValidationError for what is no cursor of this order. */
export function keysetOf(order: DeploymentOrder, window: Window): Prisma.DeploymentWhereInput[] {
  const sides: Prisma.DeploymentWhereInput[] = []
  if (window.after) sides.push(beyond(order, window.after, order.direction, 'after'))
  if (window.before) sides.push(beyond(order, window.before, flip(order.direction), 'before'))
  return sides
}

function beyond(
  order: DeploymentOrder,
  cursor: string,
  direction: 'asc' | 'desc',
  name: string,
): Prisma.DeploymentWhereInput {
  const shape = z.tuple([z.literal(order.by), order.by === 'NAME' ? printableName : time, uuid])
  const [, value, id] = decodeCursor(cursor, shape, ['query', name])
  const op = direction === 'asc' ? 'gt' : 'lt'
  const column = COLUMN[order.by]
  // the first condition lets Postgres walk the index to the place; the second takes out equal values already seen
  return { [column]: { [`${op}e`]: value }, OR: [{ [column]: { [op]: value } }, { [column]: value, id: { [op]: id } }] }
}
