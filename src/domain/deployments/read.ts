/** Reads deployments: one, a page by offset (REST), a window by cursor (GraphQL). Newest first unless asked otherwise. */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment, requireRole } from '../access.ts'
import type { RequestContext, Sql } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { cut, type OffsetPage, type Slice, type Window, windowSize } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import type { Written } from '../written.ts'
import { type DeploymentFilter, whereFilter } from './filter.ts'
import { type DeploymentOrder, keysetOf, orderOf } from './order.ts'
import { deploymentFilter, deploymentPath, offsetQuery } from './schemas.ts'
import { STANDING_FIELDS } from './standing.ts'

/** What an answer about a deployment is made of. */
const DEPLOYMENT_PARTS = {
  latestRevision: true,
  secretSet: true,
  listener: STANDING_FIELDS.listener,
  integration: STANDING_FIELDS.integration,
} as const satisfies Prisma.DeploymentInclude

export type DeploymentView = Prisma.DeploymentGetPayload<{ include: typeof DEPLOYMENT_PARTS }>

export const getInput = z.object({ path: deploymentPath })

/** One deployment. Role: viewer. Throws NotFoundError. */
export async function getDeployment(ctx: RequestContext, raw: RawInput): Promise<DeploymentView> {
  return selectDeployment(ctx, raw, { include: DEPLOYMENT_PARTS })
}

/** For GraphQL: the same with the selection's own part (select or include). Role: viewer. Throws NotFoundError. */
export async function selectDeployment<
  Q extends { include?: Prisma.DeploymentInclude; select?: Prisma.DeploymentSelect },
>(ctx: RequestContext, raw: RawInput, query: Q): Promise<Prisma.DeploymentGetPayload<Q>> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const where = { id: path.deployment_id, ...liveDeployment(ctx) }
  const found = await ctx.db.deployment.findFirst({ ...query, where })
  if (!found) throw new NotFoundError('Deployment', path.deployment_id)
  return found as Prisma.DeploymentGetPayload<Q>
}

/** What a write has left, in its transaction, with the selection's own part. */
export async function selectWritten<Q extends { include?: Prisma.DeploymentInclude; select?: Prisma.DeploymentSelect }>(
  sql: Sql,
  id: string,
  query: Q,
): Promise<Prisma.DeploymentGetPayload<Q>> {
  return (await sql.deployment.findUniqueOrThrow({ ...query, where: { id } })) as Prisma.DeploymentGetPayload<Q>
}

/** The same as an answer about a deployment needs it, and the revision that the write made or moved. */
export async function readWritten(
  sql: Sql,
  { deploymentId, revisionId }: Written,
): Promise<{ deployment: DeploymentView; revisionId: string | null }> {
  return { deployment: await selectWritten(sql, deploymentId, { include: DEPLOYMENT_PARTS }), revisionId }
}

export const listInput = z.object({ query: z.object({ ...offsetQuery, ...deploymentFilter }) })

/** An offset page, newest first. Role: viewer. */
export async function listDeployments(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<DeploymentView>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(listInput, raw)
  const orderBy = orderOf({ by: 'CREATED_AT', direction: 'desc' })
  // the page's ids first: Postgres would put together the parts of every row that is skipped
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

/** A window of the list for GraphQL. `query` is the selection's own part (select or include). Role: viewer. */
export async function windowDeployments<
  Q extends { include?: Prisma.DeploymentInclude; select?: Prisma.DeploymentSelect },
>(
  ctx: RequestContext,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  query: Q,
): Promise<Slice<Prisma.DeploymentGetPayload<Q>>> {
  requireRole(ctx, 'viewer')
  const { take, backward } = windowSize(window)
  const found = await ctx.db.deployment.findMany({
    ...query,
    where: { AND: [whereFilter(ctx, filter), ...keysetOf(order, window)] },
    orderBy: orderOf(order, backward),
    take: take + 1,
  })
  return cut(window, found as Prisma.DeploymentGetPayload<Q>[])
}
