/**
 * Listeners: reads (one, a page by offset for REST, a window by cursor for GraphQL), and the deployments that use
 * them: all that are not torn down, including those in deletion (docs/protocol.md). All reads check the plan.
 */
import { z } from 'zod'
import { type Listener, Prisma } from '../../generated/prisma/client.ts'
import type { Plan } from '../../generated/prisma/enums.ts'
import { isSilent } from '../deployment-status/status.ts'
import { ConflictError, ForbiddenError } from '../errors/errors.ts'
import { newestFirstSql, type OffsetPage, type Window } from '../paging/paging.ts'
import { type Total, totalsOf } from '../paging/total.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type CountedSlice, type Reading, readAll, readNewest, readOwn, selected } from '../query-engine/reading.ts'
import type { RowList } from '../query-engine/rows.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { ReadContext, Tx } from '../transaction/context.ts'
import { offsetQuery } from '../values/shapes.ts'
import { listenerPath } from './schemas.ts'

export const hasListeners = (plan: Plan): boolean => plan === 'self_hosted_enterprise'

/** Throws ForbiddenError (PLAN_REQUIRED). */
export function requireListenerPlan(ctx: ReadContext): void {
  if (hasListeners(ctx.workspace.plan)) return
  throw new ForbiddenError(
    `Listeners cannot be created for workspace ID '${ctx.workspace.id}'. ` +
      'Creating listeners is only allowed for organizations with self-hosted enterprise plans.',
    'PLAN_REQUIRED',
  )
}

export const LISTENER_STATUSES = ['ONLINE', 'OFFLINE'] as const
export type ListenerStatus = (typeof LISTENER_STATUSES)[number]

/** OFFLINE: the listener never called, or not for 90 s. Its deployments are then UNKNOWN. */
export function listenerStatus(listener: { lastSeenAt: Date | null; createdAt: Date }, now: Date): ListenerStatus {
  return listener.lastSeenAt === null || isSilent(listener, now) ? 'OFFLINE' : 'ONLINE'
}

export const getInput = z.object({ path: listenerPath })

const whole = selected<Listener>('Listener', {}, true)

export const getListener = (ctx: ReadContext, raw: RawInput): Promise<Listener> => readListener(ctx, raw, whole)

/** The same with the selected fields. Throws NotFoundError. */
export async function readListener<Row>(ctx: ReadContext, raw: RawInput, reading: Reading<Row>): Promise<Row> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return readOwn(ctx, 'Listener', parse(getInput, raw).path.listener_id, reading)
}

export const listInput = z.object({ query: z.object(offsetQuery) })

export async function listListeners(ctx: ReadContext, raw: RawInput): Promise<OffsetPage<Listener>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { limit, offset } = parse(listInput, raw).query
  const workspaceId = ctx.workspace.id
  const tail = Prisma.sql`
    WHERE d.workspace_id = ${workspaceId}::uuid ORDER BY d.created_at DESC, d.id DESC LIMIT ${Prisma.raw(String(limit))} OFFSET ${offset}`
  const resources = await readAll(ctx, whole, { from: Prisma.sql`listeners d`, tail, workspaceId })
  return { resources, offset: offset + resources.length }
}

/** A window of the list, with `counts` also its total. Throws ValidationError for a wrong window or cursor. */
export async function readListeners<Row>(
  ctx: ReadContext,
  reading: Reading<Row>,
  window: Window,
  counts = false,
): Promise<CountedSlice<Row>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return readNewest(ctx, reading, 'Listener', window, counts)
}

export async function countListeners(ctx: ReadContext): Promise<number> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return ctx.db.listener.count({ where: tenant(ctx) })
}

/** The deployments of a listener, newest first, also those that are being deleted. */
export const DEPLOYMENTS: RowList<Window> = {
  table: 'Deployment',
  isBelow: (own, above) =>
    `${own}.workspace_id = ${above}.workspace_id AND ${own}.listener_id = ${above}.id AND ${own}.torn_down_at IS NULL`,
  page: (own, window) => newestFirstSql(window, own),
}

/** Deployments that the message names. */
const MAX_NAMED = 5

/** Throws ConflictError with number and names of the deployments that use `what`. `where`: further conditions. */
export async function refuseIfUsed(
  tx: Tx,
  listenerId: string,
  what: string,
  where: Prisma.DeploymentWhereInput = {},
): Promise<void> {
  const used = { ...where, listenerId, tornDownAt: null }
  const count = await tx.sql.deployment.count({ where: used })
  if (count === 0) return
  const first = await tx.sql.deployment.findMany({
    where: used,
    select: { name: true, deletedAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: MAX_NAMED,
  })
  const names = first.map(({ name, deletedAt }) => (deletedAt ? `'${name}' (being deleted)` : `'${name}'`))
  const more = count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : ''
  throw new ConflictError(
    `${count === 1 ? '1 deployment uses' : `${count} deployments use`} ${what}: ${names.join(', ')}${more}. ` +
      'Delete them first, and wait until they are torn down.',
  )
}

/** Deployments of each listener. One statement. Role: viewer. */
export async function countDeploymentsOf(
  ctx: ReadContext,
  listenerIds: readonly string[],
): Promise<Map<string, Total>> {
  requireRole(ctx, 'viewer')
  return totalsOf(
    ctx.db,
    listenerIds,
    (id) => Prisma.sql`
      SELECT FROM deployments d
      WHERE d.workspace_id = ${ctx.workspace.id}::uuid AND d.listener_id = ${id} AND d.torn_down_at IS NULL`,
  )
}
