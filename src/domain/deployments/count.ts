/** Counts deployments for an overview: grouped, and exactly. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus, Source } from '../../generated/prisma/enums.ts'
import { requireRole } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import { servingSql } from '../deployment-status/serving.ts'
import { statusSql } from '../deployment-status/status.ts'
import { FAILED, OPEN } from '../model/lifecycle.ts'
import type { DeploymentStatus } from '../model/shapes.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'

/** Looked up for the few that have not ended. */
const LATEST = Prisma.sql`coalesce(d.latest_outcome, (SELECT s.status FROM revisions s WHERE s.id = d.latest_revision_id))`

/** One value and how many deployments have it. */
export interface Count<V> {
  value: V
  count: number
}

/** Each list has the values that occur, most frequent first. */
export interface DeploymentCounts {
  total: number
  serving: number
  /** whose latest revision has failed; and those whose latest revision has not ended */
  failing: number
  waiting: number
  statuses: Count<DeploymentStatus>[]
  latestRevisionStatuses: Count<RevisionStatus>[]
  sources: Count<Source>[]
  /** null: deployments without a listener */
  listeners: Count<string | null>[]
}

interface Row {
  /** Postgres' grouping(): a bit is set for each column that the row is not grouped by; the first column has the highest bit */
  grouping: number
  serving: boolean | null
  status: string | null
  latest: string | null
  source: string | null
  listener: string | null
  count: number
}

/**
 * Counts the deployments that match, by status and more. Role: viewer. Exact: reads all that match, once, since whether one
 * serves changes with its lease, which is in no index; then all sums are of the few combinations that occur.
 */
export async function countByStatus(ctx: RequestContext, filter: DeploymentFilter): Promise<DeploymentCounts> {
  requireRole(ctx, 'viewer')
  const now = ctx.clock()
  const rows = await ctx.db.$queryRaw<Row[]>`
    SELECT grouping(serving, status, latest, source, listener) AS grouping,
           serving, status, latest::text, source::text, listener::text, coalesce(sum(count), 0)::int AS count
    FROM (
      SELECT ${servingSql(now)} AS serving, ${statusSql(now)} AS status, ${LATEST} AS latest,
             d.source, d.listener_id AS listener, count(*) AS count
      FROM ${filterTables(filter, true)}
      WHERE ${filterSql(ctx, filter)}
      GROUP BY 1, 2, 3, 4, 5
    ) AS matching
    GROUP BY GROUPING SETS ((), (serving), (status), (latest), (source), (listener))
    ORDER BY count DESC, status, latest, source, listener`
  const of = (own: number) => rows.filter(({ grouping }) => grouping === (0b11111 & ~own))
  const by = <V>(own: number, value: (row: Row) => unknown) =>
    of(own).map((row) => ({ value: value(row) as V, count: row.count }))
  const latestRevisionStatuses = by<RevisionStatus | null>(0b00100, ({ latest }) => latest).filter(
    (one): one is Count<RevisionStatus> => one.value !== null,
  )
  const ofLatest = (statuses: readonly RevisionStatus[]) =>
    latestRevisionStatuses.reduce((sum, { value, count }) => (statuses.includes(value) ? sum + count : sum), 0)
  return {
    total: of(0)[0]?.count ?? 0,
    serving: of(0b10000).find(({ serving }) => serving)?.count ?? 0,
    statuses: by(0b01000, ({ status }) => status),
    failing: ofLatest(FAILED),
    waiting: ofLatest(OPEN),
    latestRevisionStatuses,
    sources: by(0b00010, ({ source }) => source),
    listeners: by(0b00001, ({ listener }) => listener),
  }
}
