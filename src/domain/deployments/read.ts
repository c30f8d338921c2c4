/** Reads deployments: one, a page by offset (REST) or a window by cursor (GraphQL). */
import { z } from 'zod'
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment, requireRole } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import { type Selection, writtenRow } from '../context/read-back.ts'
import { hasEnded, waitUntil } from '../context/wait.ts'
import { NotFoundError } from '../core/errors.ts'
import { waitSeconds } from '../core/fields.ts'
import { cut, type OffsetPage, type Slice, type Window, windowSize } from '../core/paging.ts'
import { parse, type RawInput } from '../core/parse.ts'
import { CONDITION_FIELDS } from '../deployment-status/condition.ts'
import { isTerminal } from '../model/lifecycle.ts'
import type { RevisionStatus } from '../model/rows.ts'
import { deploymentFilter, deploymentPath, offsetQuery } from '../model/shapes.ts'
import { type DeploymentFilter, whereFilter } from './filter.ts'
import { type DeploymentOrder, keysetOf, orderOf } from './order.ts'

/** The relations that REST shows with a deployment. */
export const DEPLOYMENT_PARTS = {
  latestRevision: true,
  secretSet: true,
  listener: CONDITION_FIELDS.listener,
  integration: CONDITION_FIELDS.integration,
} as const satisfies Prisma.DeploymentInclude

export type DeploymentView = Prisma.DeploymentGetPayload<{ include: typeof DEPLOYMENT_PARTS }>

export const getInput = z.object({
  path: deploymentPath,
  query: z.object({ wait: waitSeconds.describe('Seconds to wait at most until its newest rollout has ended.') }),
})

/** The same for a call that waits: the newest rollout is that of a new revision or of a redeploy, whichever came last. */
const WAITING_PARTS = {
  ...DEPLOYMENT_PARTS,
  revisions: { orderBy: { rollout: 'desc' }, take: 1, select: { status: true } },
} as const satisfies Prisma.DeploymentInclude

/**
 * One deployment; with `wait` when its newest rollout has ended, or it is news, or as it is when the time is up. Role:
 * viewer. Throws NotFoundError, and what a wait throws (context/wait.ts).
 */
export async function getDeployment(ctx: RequestContext, raw: RawInput): Promise<DeploymentView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(getInput, { query: {}, ...raw })
  const deploymentId = path.deployment_id
  const include = query.wait > 0 ? WAITING_PARTS : DEPLOYMENT_PARTS
  return waitUntil<WaitingView>(ctx, {
    seconds: query.wait,
    scope: { deploymentId },
    key: `deployment ${deploymentId}`,
    read: () => findDeployment(ctx, deploymentId, { include }) as Promise<DeploymentView>,
    wakes: raw.isNews ? () => true : hasEnded,
    done: raw.isNews ?? (({ revisions = [] }) => revisions.every(({ status }) => isTerminal(status))),
  })
}

type WaitingView = DeploymentView & { revisions?: { status: RevisionStatus }[] }

const selectInput = z.object({ path: deploymentPath })

/** One deployment for GraphQL. `query`: the selection. Role: viewer. Throws NotFoundError. */
export async function selectDeployment(ctx: RequestContext, raw: RawInput, query: Selection): Promise<Deployment> {
  requireRole(ctx, 'viewer')
  const { path } = parse(selectInput, raw)
  return findDeployment(ctx, path.deployment_id, query)
}

async function findDeployment(ctx: RequestContext, id: string, query: Selection): Promise<Deployment> {
  const found = await ctx.db.deployment.findFirst({ ...query, where: { id, ...liveDeployment(ctx) } })
  if (!found) throw new NotFoundError('Deployment', id)
  return found
}

/** The row after a write, for GraphQL. */
export const selectWritten = writtenRow((sql) => sql.deployment)

export const listInput = z.object({ query: z.object({ ...offsetQuery, ...deploymentFilter }) })

/** An offset page, newest first. Role: viewer. */
export async function listDeployments(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<DeploymentView>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(listInput, raw)
  const orderBy = orderOf({ by: 'CREATED_AT', direction: 'desc' })
  // the ids first: otherwise Postgres would join the relations of skipped rows, too
  const page = await ctx.db.deployment.findMany({
    where: whereFilter(ctx, query),
    select: { id: true },
    orderBy,
    take: query.limit,
    skip: query.offset,
  })
  const ids = page.map((row) => row.id)
  const where = { id: { in: ids }, ...liveDeployment(ctx) }
  const resources = await ctx.db.deployment.findMany({ where, include: DEPLOYMENT_PARTS, orderBy })
  return { resources, offset: query.offset + ids.length }
}

/** A window of the list, for GraphQL. `query`: the selection. Role: viewer. */
export async function windowDeployments(
  ctx: RequestContext,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  query: Selection,
): Promise<Slice<Deployment>> {
  requireRole(ctx, 'viewer')
  const { take, backward } = windowSize(window)
  const found = await ctx.db.deployment.findMany({
    ...query,
    where: { AND: [whereFilter(ctx, filter), ...keysetOf(order, window)] },
    orderBy: orderOf(order, backward),
    take: take + 1,
  })
  return cut(window, found)
}
