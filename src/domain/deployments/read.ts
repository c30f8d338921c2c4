/** Reads deployments: one, a page by offset (REST) or a window by cursor (GraphQL). */
import { z } from 'zod'
import type { Deployment } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { cut, type OffsetPage, type Slice, type Window, windowSize } from '../paging/paging.ts'
import { waitSeconds } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { liveDeployment, requireRole, seesValues } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type Selection, writtenRow } from '../transaction/once.ts'
import { hasEnded, waitUntil } from '../transaction/wait.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { deploymentFilter, deploymentPath, offsetQuery } from '../values/shapes.ts'
import { type DeploymentFilter, whereFilter } from './filter.ts'
import { type DeploymentOrder, keysetOf, orderOf } from './order.ts'
import { type DeploymentView, readView, readViews, readWaitingView, type WaitingView } from './rest-view.ts'

export type { DeploymentView }

export const getInput = z.object({
  path: deploymentPath,
  query: z.object({ wait: waitSeconds.describe('The longest wait, in seconds, for the newest rollout to end.') }),
})

/**
 * Reads one deployment. With `wait`, returns when its newest rollout ends, when `isNews` says so, or when the time is up.
 * Role: viewer. Throws NotFoundError, and the errors of waitUntil().
 */
export async function getDeployment(ctx: RequestContext, raw: RawInput): Promise<DeploymentView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(getInput, { query: {}, ...raw })
  const deploymentId = path.deployment_id
  if (query.wait === 0) return readView(ctx, deploymentId)
  return waitUntil<WaitingView>(ctx, {
    seconds: query.wait,
    scope: { deploymentId },
    // callers with different rights must not share an answer
    key: `deployment ${deploymentId} ${seesValues(ctx.actor)}`,
    read: () => readWaitingView(ctx, deploymentId),
    wakes: raw.isNews ? () => true : hasEnded,
    done: raw.isNews ?? (({ newestStatus }) => newestStatus === null || isTerminal(newestStatus)),
  })
}

const selectInput = z.object({ path: deploymentPath })

/** For GraphQL. `query`: the selection. Role: viewer. Throws NotFoundError. */
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
  const { limit, offset, ...filter } = query
  const resources = await readViews(ctx, filter, { limit, offset })
  return { resources, offset: offset + resources.length }
}

/** For GraphQL. `query`: the selection. Role: viewer. */
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
