/**
 * The filter of deployments: as Prisma's where-clause for lists, and as SQL for counts, which group by derived values. A
 * test checks for every member that the two agree.
 */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import { escapeLike } from '../core/like-pattern.ts'
import { parse } from '../core/parse.ts'
import { servingSql, whereServing } from '../deployment-status/serving.ts'
import { statusSql, whereStatus } from '../deployment-status/status.ts'
import { deploymentFilter } from '../model/shapes.ts'

const filterSchema = z.object(deploymentFilter)
const filterInput = z.object({ query: filterSchema })
export type DeploymentFilter = z.output<typeof filterSchema>

/** Parses a filter that did not come from a query string. */
export function parseFilter(raw: unknown): DeploymentFilter {
  return parse(filterInput, { query: raw ?? {} }).query
}

/** The tenant's deployments that match. */
export function whereFilter(ctx: RequestContext, filter: DeploymentFilter): Prisma.DeploymentWhereInput {
  const and: Prisma.DeploymentWhereInput[] = [liveDeployment(ctx)]
  if (filter.name !== undefined) and.push({ name: filter.name })
  if (filter.name_contains !== undefined)
    and.push({ name: { contains: escapeLike(filter.name_contains), mode: 'insensitive' } })
  if (filter.status !== undefined) and.push(whereStatus(filter.status, ctx.clock()))
  if (filter.serving !== undefined) and.push(whereServing(filter.serving, ctx.clock()))
  if (filter.latest_revision_status) and.push({ latestRevision: { status: { in: filter.latest_revision_status } } })
  if (filter.source !== undefined) and.push({ source: filter.source })
  if (filter.listener_id !== undefined) and.push({ listenerId: filter.listener_id })
  if (filter.remote_reconciled !== undefined) and.push({ listenerId: filter.remote_reconciled ? { not: null } : null })
  if (filter.tag_value_ids) and.push({ tags: { some: { tagId: { in: filter.tag_value_ids } } } })
  if (filter.image_version !== undefined) and.push({ imageVersion: filter.image_version })
  if (filter.deployment_type !== undefined) and.push({ deploymentType: filter.deployment_type })
  if (filter.deployment_ids) and.push({ id: { in: filter.deployment_ids } })
  return { AND: and }
}

/** The same, on deployments `d` with their listeners `l` and latest revisions `r`. */
export function filterSql(ctx: RequestContext, filter: DeploymentFilter): Prisma.Sql {
  const and = [Prisma.sql`d.workspace_id = ${ctx.workspace.id}::uuid AND d.torn_down_at IS NULL`]
  if (filter.name !== undefined) and.push(Prisma.sql`d.name = ${filter.name}`)
  if (filter.name_contains !== undefined) and.push(Prisma.sql`d.name ILIKE ${`%${escapeLike(filter.name_contains)}%`}`)
  if (filter.status !== undefined) and.push(Prisma.sql`${statusSql(ctx.clock())} = ${filter.status}`)
  if (filter.serving !== undefined) and.push(Prisma.sql`${servingSql(ctx.clock())} = ${filter.serving}`)
  if (filter.latest_revision_status)
    and.push(Prisma.sql`r.status::text = ANY (${filter.latest_revision_status}::text[])`)
  if (filter.source !== undefined) and.push(Prisma.sql`d.source::text = ${filter.source}`)
  if (filter.listener_id !== undefined) and.push(Prisma.sql`d.listener_id = ${filter.listener_id}::uuid`)
  if (filter.remote_reconciled !== undefined)
    and.push(Prisma.sql`(d.listener_id IS NOT NULL) = ${filter.remote_reconciled}`)
  if (filter.tag_value_ids)
    and.push(Prisma.sql`EXISTS (
      SELECT 1 FROM deployment_tags t WHERE t.deployment_id = d.id AND t.tag_id = ANY (${filter.tag_value_ids}::uuid[]))`)
  if (filter.image_version !== undefined) and.push(Prisma.sql`d.image_version = ${filter.image_version}`)
  if (filter.deployment_type !== undefined) and.push(Prisma.sql`d.deployment_type::text = ${filter.deployment_type}`)
  if (filter.deployment_ids) and.push(Prisma.sql`d.id = ANY (${filter.deployment_ids}::uuid[])`)
  return Prisma.join(and, ' AND ')
}
