/** How many deployments match: counted with a page, or by itself; bounded, and not counted again while nothing has changed. */
import { Prisma } from '../../generated/prisma/client.ts'
import { changedSince, shownVersionSql, withoutHeard } from '../cache-version/version.ts'
import { countedSql, EXACT_UP_TO, ofCounted, type Total } from '../paging/total.ts'
import { KnownTotals } from '../paging/total-cache.ts'
import type { Raw } from '../query-engine/rows.ts'
import { furtherOf, named, versionOf } from '../query-engine/statement.ts'
import { unseen } from '../sql/hide-from-planner.ts'
import { requireRole } from '../transaction/access.ts'
import type { Core, RequestContext } from '../transaction/context.ts'
import { candidates, idAmong, MAX_DUPLICATES_PER_ID, shortNameCondition } from './candidates.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'

/** What a statement that reads a page is to count, and what comes of it. */
export interface Counting {
  /** for each row of the statement (`Call.further`); undefined: it is known already */
  value: Prisma.Sql | undefined
  /** The total, of the rows of the statement; where it has none, one more statement counts. */
  total(rows: readonly Raw[]): Promise<Total>
}

/** By the installation that they ask. */
const totalsByInstallation = new WeakMap<Core['query'], KnownTotals>()

/** Counts what matches together with a page of it. */
export function counting(ctx: RequestContext, filter: DeploymentFilter): Counting {
  let totals = totalsByInstallation.get(ctx.query)
  if (!totals) {
    totals = new KnownTotals()
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
      const [counted, version] = rows[0] ? [furtherOf(rows[0]), versionOf(rows)] : await countAlone(ctx, value)
      if (counted === null && before) return before.total
      const total = await ofCounted(ctx.db, counted as number, () => estimateSql(ctx, filter))
      // which ones match these changes with time, too
      const lasts = filter.status === undefined && filter.serving === undefined && version !== null
      known.keep(key, total, lasts ? withoutHeard(version) : null)
      return total
    },
  }
}

/** How many match. Role: viewer. */
export async function countDeployments(ctx: RequestContext, filter: DeploymentFilter): Promise<Total> {
  requireRole(ctx, 'viewer')
  return counting(ctx, filter).total([])
}

/** The value, and the version in the same snapshot. */
async function countAlone(ctx: RequestContext, value: Prisma.Sql): Promise<[number | null, string | null]> {
  const { text, values } = Prisma.sql`SELECT ${value} AS total, ${shownVersionSql(ctx.workspace.id)} AS version`
  const [row] = await ctx.query<{ total: number | null; version: string | null }>(named(text), values)
  return [row!.total, row!.version]
}

/** For the planner to reckon with. */
const estimateSql = (ctx: RequestContext, filter: DeploymentFilter) =>
  Prisma.sql`SELECT FROM ${filterTables(filter)} WHERE ${filterSql(ctx, filter)}`

/** A row for each that matches, by whatever finds them soonest. */
function matchingSql(ctx: RequestContext, filter: DeploymentFilter): Prisma.Sql {
  const { tag_value_ids: tags, serving, name_contains: name, status } = filter
  if (serving === false && Object.values(filter).filter((value) => value !== undefined).length === 1) {
    // if it were all of them, it would be long until all are found: enough, even if each is there as often as can be
    const [ids] = candidates(ctx, filter)
    return Prisma.sql`SELECT DISTINCT id FROM (${ids} LIMIT ${Prisma.raw(String(MAX_DUPLICATES_PER_ID * (EXACT_UP_TO + 1)))}) c`
  }
  const letters = shortNameCondition(filter)
  const among = name === undefined ? candidates(ctx, filter).map(idAmong) : letters ? [letters] : []
  // what its tags have found need not be asked for them
  const others = name === undefined && tags ? { ...filter, tag_value_ids: undefined } : filter
  const matching = Prisma.sql`
    SELECT FROM ${filterTables(filter)} WHERE ${filterSql(ctx, others, unseen)} ${Prisma.join([Prisma.empty, ...among], ' ')}`
  // this index alone tells all; what the others are found by stands in no index
  const inOrder = among.length === 0 && name === undefined && serving === undefined && status === undefined
  return inOrder ? Prisma.sql`${matching} ORDER BY d.created_at DESC, d.id DESC` : matching
}
