/** Counts matching deployments, with a page or alone. Counts are bounded, and reused until the workspace changes (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { cacheVersionSql, changedSince, withoutLastSeen } from '../change-feed/version.ts'
import { countedSql, EXACT_UP_TO, ofCounted, type Total, TotalCache } from '../paging/total.ts'
import type { Raw } from '../query-engine/rows.ts'
import { extraOf, named, versionOf } from '../query-engine/statement.ts'
import { hideFromPlanner } from '../sql/statements.ts'
import { requireRole } from '../transaction/access.ts'
import type { Core, ReadContext } from '../transaction/context.ts'
import { candidates, idAmong, MAX_DUPLICATES_PER_ID, shortNameCondition } from './candidates.ts'
import { type DeploymentFilter, dependsOnClock, filterSql, filterTables } from './filter.ts'

export interface CountQuery {
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
