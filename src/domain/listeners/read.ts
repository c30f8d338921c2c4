/** Reads listeners: one, a page by offset (REST), windows by cursor (GraphQL), and compiled reads. All check the plan. */
import { z } from 'zod'
import { type Listener, Prisma } from '../../generated/prisma/client.ts'
import type { Plan } from '../../generated/prisma/enums.ts'
import { isSilent } from '../deployment-status/status.ts'
import { ForbiddenError, NotFoundError } from '../errors/errors.ts'
import { newestFirstSql, type OffsetPage, type Window } from '../paging/paging.ts'
import { EXACT_UP_TO } from '../paging/total.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type CountedSlice, type Reading, readNewest } from '../query-engine/reading.ts'
import type { Call, Key, Raw, RowSelection, SelectedRow } from '../query-engine/rows.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { Selection } from '../transaction/once.ts'
import { resource } from '../transaction/resource.ts'
import { offsetQuery } from '../values/shapes.ts'
import { listenerPath } from './schemas.ts'

export const listeners = resource<Listener>({
  name: 'Listener',
  table: (sql) => sql.listener,
  visible: tenant,
  check(ctx) {
    requireRole(ctx, 'viewer')
    requireListenerPlan(ctx)
  },
})

export const getInput = z.object({ path: listenerPath })

export const getListener = (ctx: RequestContext, raw: RawInput, query: Selection = {}): Promise<Listener> =>
  listeners.get(ctx, () => parse(getInput, raw).path.listener_id, query)

export const listInput = z.object({ query: z.object(offsetQuery) })

export const listListeners = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Listener>> =>
  listeners.page(ctx, () => parse(listInput, raw).query)

export const hasListeners = (plan: Plan): boolean => plan === 'self_hosted_enterprise'

/** Throws ForbiddenError (PLAN_REQUIRED). */
export function requireListenerPlan(ctx: RequestContext): void {
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

/** Derived fields, with the columns that each needs. */
export const LISTENER_DERIVED = {
  status: { select: { lastSeenAt: true, createdAt: true }, derive: listenerStatus },
} as const

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
