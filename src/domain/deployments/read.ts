/** Reads deployments: one, a page by offset (REST) or a window by cursor (GraphQL). */
import { z } from 'zod'
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment, requireRole } from '../context/access.ts'
import type { RequestContext, Sql } from '../context/context.ts'
import { type Selection, type Written, writtenRow } from '../context/read-back.ts'
import { NotFoundError } from '../core/errors.ts'
import { cut, type OffsetPage, type Slice, type Window, windowSize } from '../core/paging.ts'
import { parse, type RawInput } from '../core/parse.ts'
import { CONDITION_FIELDS } from '../deployment-status/condition.ts'
import { deploymentFilter, deploymentPath, offsetQuery } from '../model/shapes.ts'
import { type DeploymentFilter, whereFilter } from './filter.ts'
import { type DeploymentOrder, keysetOf, orderOf } from './order.ts'

/** The relations that REST shows with a deployment. */
const DEPLOYMENT_PARTS = {
  latestRevision: true,
  secretSet: true,
  listener: CONDITION_FIELDS.listener,
  integration: CONDITION_FIELDS.integration,
} as const satisfies Prisma.DeploymentInclude

export type DeploymentView = Prisma.DeploymentGetPayload<{ include: typeof DEPLOYMENT_PARTS }>

export const getInput = z.object({ path: deploymentPath })

/** One deployment. Role: viewer. Throws NotFoundError. */
export async function getDeployment(ctx: RequestContext, raw: RawInput): Promise<DeploymentView> {
  return selectDeployment(ctx, raw, { include: DEPLOYMENT_PARTS }) as Promise<DeploymentView>
}

/** The same for GraphQL. `query`: the selection. Role: viewer. Throws NotFoundError. */
export async function selectDeployment(ctx: RequestContext, raw: RawInput, query: Selection): Promise<Deployment> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const where = { id: path.deployment_id, ...liveDeployment(ctx) }
  const found = await ctx.db.deployment.findFirst({ ...query, where })
  if (!found) throw new NotFoundError('Deployment', path.deployment_id)
  return found
}

/** The row after a write, for GraphQL. */
export const selectWritten = writtenRow((sql) => sql.deployment)

/** What REST shows after a write, with the revision that the write made or changed. */
export async function readWritten(
  sql: Sql,
  { deploymentId, revisionId }: Written,
): Promise<{ deployment: DeploymentView; revisionId: string | null }> {
  const deployment = await sql.deployment.findUniqueOrThrow({ where: { id: deploymentId }, include: DEPLOYMENT_PARTS })
  return { deployment, revisionId }
}

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
