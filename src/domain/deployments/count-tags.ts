/** Counts deployments per tag. Not part of count.ts, because a deployment has several tags. */
import type { Tag } from '../../generated/prisma/client.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { Count } from './count.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'

/** Enough to choose from; callers find other tags by name. */
const MAX_TAGS = 100

export type TagCount = Count<Tag>

/** The tags of matching deployments, most frequent first, at most 100. Exact. One statement. Role: viewer. */
export async function countByTag(ctx: RequestContext, filter: DeploymentFilter): Promise<TagCount[]> {
  requireRole(ctx, 'viewer')
  const rows = await ctx.db.$queryRaw<(Tag & { count: number })[]>`
    SELECT g.id, g.workspace_id AS "workspaceId", g.key, g.value, g.created_at AS "createdAt", c.count
    FROM (
      SELECT dt.tag_id, count(*)::int AS count
      FROM ${filterTables(filter)} JOIN deployment_tags dt ON dt.deployment_id = d.id
      WHERE ${filterSql(ctx, filter)}
      GROUP BY dt.tag_id
    ) c JOIN tags g ON g.id = c.tag_id
    ORDER BY c.count DESC, g.key, g.value LIMIT ${MAX_TAGS}`
  return rows.map(({ count, ...value }) => ({ value, count }))
}
