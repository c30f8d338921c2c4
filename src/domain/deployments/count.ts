/** Counts deployments: by status, source, listener and tag for the overview, and those of a list (`totalCount`). */
import { Prisma, type Tag } from '../../generated/prisma/client.ts'
import type { RevisionStatus, Source } from '../../generated/prisma/enums.ts'
import { cacheVersionSql, changedSince, withoutLastSeen } from '../change-feed/version.ts'
import { servingSql } from '../deployment-status/serving.ts'
import { statusSql } from '../deployment-status/status.ts'
import { hideFromPlanner } from '../paging/statements.ts'
import { countedSql, EXACT_UP_TO, ofCounted, type Total, TotalCache } from '../paging/total.ts'
import type { Raw } from '../query-engine/rows.ts'
import { extraOf, named, versionOf } from '../query-engine/statement.ts'
import { requireRole } from '../transaction/access.ts'
import type { Core, ReadContext } from '../transaction/context.ts'
import { FAILED, OPEN } from '../values/lifecycle.ts'
import type { DeploymentStatus } from '../values/shapes.ts'
import {
  candidates,
  type DeploymentFilter,
  dependsOnClock,
  filterSql,
  filterTables,
  idAmong,
  MAX_DUPLICATES_PER_ID,
  shortNameCondition,
  waitsSql,
} from './filter.ts'

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

interface CountQuery {
  /** selected with every row (`Call.extra`); undefined: the total is known */
  value: Prisma.Sql | undefined
  /** Takes the total from the rows; without rows, one more statement counts. */
  total(rows: readonly Raw[]): Promise<Total>
}

/** By installation. */
const totalsByInstallation = new WeakMap<Core['query'], TotalCache>()

/** Prepares a count as part of a statement that reads a page. */
export function prepareCount(ctx: ReadContext, filter: DeploymentFilter): CountQuery {
  let totals = totalsByInstallation.get(ctx.query)
  if (!totals) {
    totals = new TotalCache()
    totalsByInstallation.set(ctx.query, totals)
  }
  const known = totals
  const workspaceId = ctx.workspace.id
  const key = `${workspaceId} ${JSON.stringify(filter)}`
  const estimate = known.estimate(key)
  if (estimate) return { value: undefined, total: async () => estimate }
  const before = known.exact(key)
  const changed = changedSince(workspaceId, before?.version ?? null)
  const value = Prisma.sql`CASE WHEN ${changed} THEN ${countedSql(matchingSql(ctx, filter))} END`
  return {
    value,
    async total(rows) {
      const [counted, version] = rows[0] ? [extraOf(rows[0]), versionOf(rows)] : await countAlone(ctx, value)
      if (counted === null && before) return before.total
      const total = await ofCounted(ctx.db, counted as number, () => estimateSql(ctx, filter))
      known.keep(key, total, version === null || dependsOnClock(filter) ? null : withoutLastSeen(version))
      return total
    },
  }
}

/** Role: viewer. */
export async function countDeployments(ctx: ReadContext, filter: DeploymentFilter): Promise<Total> {
  requireRole(ctx, 'viewer')
  return prepareCount(ctx, filter).total([])
}

/** The count and the version, from one snapshot. */
async function countAlone(ctx: ReadContext, value: Prisma.Sql): Promise<[number | null, string | null]> {
  const { text, values } = Prisma.sql`SELECT ${value} AS total, ${cacheVersionSql(ctx.workspace.id)} AS version`
  const [row] = await ctx.query<{ total: number | null; version: string | null }>(named(text), values)
  return [row!.total, row!.version]
}

/** With visible values, for the planner's estimate. */
const estimateSql = (ctx: ReadContext, filter: DeploymentFilter) =>
  Prisma.sql`SELECT FROM ${filterTables(filter)} WHERE ${filterSql(ctx, filter)}`

/** One row per match, by the fastest index. */
function matchingSql(ctx: ReadContext, filter: DeploymentFilter): Prisma.Sql {
  const { tag_value_ids: tags, serving, name_contains: name, status } = filter
  if (serving === false && Object.values(filter).filter((value) => value !== undefined).length === 1) {
    // finding all ids would take long. This limit still yields enough different ids if each occurs as often as possible
    const [ids] = candidates(ctx, filter)
    return Prisma.sql`SELECT DISTINCT id FROM (${ids} LIMIT ${Prisma.raw(String(MAX_DUPLICATES_PER_ID * (EXACT_UP_TO + 1)))}) c`
  }
  const letters = shortNameCondition(filter)
  const among = name === undefined ? candidates(ctx, filter).map(idAmong) : letters ? [letters] : []
  // the ids for tags are exact, so the condition is redundant
  const others = name === undefined && tags ? { ...filter, tag_value_ids: undefined } : filter
  const matching = Prisma.sql`
    SELECT FROM ${filterTables(filter)} WHERE ${filterSql(ctx, others, hideFromPlanner)} ${Prisma.join([Prisma.empty, ...among], ' ')}`
  // in list order this index alone suffices; the other filters have no index in that order
  const inOrder = among.length === 0 && name === undefined && serving === undefined && status === undefined
  return inOrder ? Prisma.sql`${matching} ORDER BY d.created_at DESC, d.id DESC` : matching
}
