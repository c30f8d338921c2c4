/** Counts deployments by status, source, listener and tag for the overview. */
import { Prisma, type Tag } from '../../generated/prisma/client.ts'
import type { RevisionStatus, Source } from '../../generated/prisma/enums.ts'
import { servingSql } from '../deployment-status/serving.ts'
import { statusSql } from '../deployment-status/status.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { FAILED, OPEN } from '../values/lifecycle.ts'
import type { DeploymentStatus } from '../values/shapes.ts'
import { type DeploymentFilter, filterSql, filterTables, waitsSql } from './filter.ts'

/** Revisions are read only for the few deployments without an outcome. */
const LATEST = Prisma.sql`coalesce(d.latest_outcome, (SELECT s.status FROM revisions s WHERE s.id = d.latest_revision_id))`

const WAITS = Prisma.sql`(d.latest_outcome IS NULL AND coalesce(
  (SELECT ${waitsSql(Prisma.raw('s'))} FROM revisions s WHERE s.id = d.latest_revision_id), false))`

export interface Count<V> {
  value: V
  count: number
}

/** Each list is sorted by frequency, without values that don't occur. */
export interface DeploymentCounts {
  total: number
  serving: number
  /** latest revision failed (`failing`) or not ended (`waiting`) */
  failing: number
  waiting: number
  /** latest revision not ended, and no worker works on it */
  latestRevisionWaits: number
  statuses: Count<DeploymentStatus>[]
  latestRevisionStatuses: Count<RevisionStatus>[]
  sources: Count<Source>[]
  /** null: deployments without a listener */
  listeners: Count<string | null>[]
}

interface Row {
  /** Postgres' grouping(): one bit per column, the first column highest; a set bit means not grouped by that column */
  grouping: number
  serving: boolean | null
  status: string | null
  latest: string | null
  waits: boolean | null
  source: string | null
  listener: string | null
  count: number
}

/**
 * Exact counts of the matching deployments. Reads each match once, because no index knows whether a lease holds. The groups
 * are then summed up. Role: viewer.
 */
export async function countByStatus(ctx: ReadContext, filter: DeploymentFilter): Promise<DeploymentCounts> {
  requireRole(ctx, 'viewer')
  const now = ctx.clock()
  const rows = await ctx.db.$queryRaw<Row[]>`
    SELECT grouping(serving, status, latest, waits, source, listener) AS grouping,
           serving, status, latest::text, waits, source::text, listener::text, coalesce(sum(count), 0)::int AS count
    FROM (
      SELECT ${servingSql(now)} AS serving, ${statusSql(now)} AS status, ${LATEST} AS latest,
             ${WAITS} AS waits, d.source, d.listener_id AS listener, count(*) AS count
      FROM ${filterTables(filter, true)}
      WHERE ${filterSql(ctx, filter)}
      GROUP BY 1, 2, 3, 4, 5, 6
    ) AS matching
    GROUP BY GROUPING SETS ((), (serving), (status), (latest), (waits), (source), (listener))
    ORDER BY count DESC, status, latest, source, listener`
  const grouped = (own: number) => rows.filter(({ grouping }) => grouping === (0b111111 & ~own))
  const by = <V>(own: number, value: (row: Row) => unknown) =>
    grouped(own).map((row) => ({ value: value(row) as V, count: row.count }))
  const latestRevisionStatuses = by<RevisionStatus | null>(0b001000, ({ latest }) => latest).filter(
    (one): one is Count<RevisionStatus> => one.value !== null,
  )
  const ofLatest = (statuses: readonly RevisionStatus[]) =>
    latestRevisionStatuses.reduce((sum, { value, count }) => (statuses.includes(value) ? sum + count : sum), 0)
  return {
    total: grouped(0)[0]?.count ?? 0,
    serving: grouped(0b100000).find(({ serving }) => serving)?.count ?? 0,
    statuses: by(0b010000, ({ status }) => status),
    failing: ofLatest(FAILED),
    waiting: ofLatest(OPEN),
    latestRevisionWaits: grouped(0b000100).find(({ waits }) => waits)?.count ?? 0,
    latestRevisionStatuses,
    sources: by(0b000010, ({ source }) => source),
    listeners: by(0b000001, ({ listener }) => listener),
  }
}

/** Enough to choose from; callers find other tags by name. */
const MAX_TAGS = 100

/** By tag, of which a deployment has several. The tags of matching deployments, most frequent first, at most 100. Exact. One statement. Role: viewer. */
export async function countByTag(ctx: ReadContext, filter: DeploymentFilter): Promise<Count<Tag>[]> {
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
