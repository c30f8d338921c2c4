/** Reads of listeners for compiled GraphQL queries: one, a window of the list, and windows of their deployments. */
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { newestFirstSql } from '../paging/newest-first.ts'
import type { Window } from '../paging/paging.ts'
import { EXACT_UP_TO } from '../paging/total.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type CountedSlice, type Reading, readNewest } from '../query-engine/reading.ts'
import type { Call, Key, Raw, RowSelection, SelectedRow } from '../query-engine/rows.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { getInput } from './read.ts'

/** Like `getListener`. Throws NotFoundError. */
export async function readListener(
  ctx: RequestContext,
  { selection, variables }: Reading,
  raw: RawInput,
): Promise<Raw> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { listener_id: id } = parse(getInput, raw).path
  const workspaceId = ctx.workspace.id
  const tail = Prisma.sql`WHERE d.id = ${id}::uuid AND d.workspace_id = ${workspaceId}::uuid`
  const [found] = await selection.read(ctx, { from: Prisma.raw('listeners d'), tail, workspaceId, variables })
  if (!found) throw new NotFoundError('Listener', id)
  return found
}

/** Like `listeners.window`, and like `listeners.count` where `counts`. Throws like readNewest(). */
export async function readListeners(
  ctx: RequestContext,
  reading: Reading,
  window: Window,
  counts: boolean,
): Promise<CountedSlice> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return readNewest(ctx, reading, 'Listener', window, counts)
}

const usedBy = (own: string, above: string) =>
  `${own}.workspace_id = ${above}.workspace_id AND ${own}.listener_id = ${above}.id AND ${own}.torn_down_at IS NULL`

/** A window of each listener's deployments. `windowOf` computes it from the caller's variables. */
export function deploymentsOf(
  listener: SelectedRow,
  windowOf: (variables: Call['variables']) => Window,
): { key: Key; rows: RowSelection } {
  return listener.many(
    'Deployment',
    (own, above) => [
      usedBy(own, above),
      ({ variables }) => {
        const { where, order, limit } = newestFirstSql(windowOf(variables), own)
        return Prisma.sql`${where} ORDER BY ${order} ${limit}`
      },
    ],
    (own) =>
      ({ variables }) =>
        newestFirstSql(windowOf(variables), own).order,
  )
}

/** Number of each listener's deployments, or the first number above the counting limit (paging/total.ts). */
export const deploymentCountOf = (listener: SelectedRow): Key =>
  listener.count('Deployment', (own, above) => [`${usedBy(own, above)} LIMIT ${EXACT_UP_TO + 1}`])
