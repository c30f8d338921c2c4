/** Counts rows up to a limit; above it returns the estimate from Postgres' statistics (docs/api-rules.md#paging). */
import { LRUCache } from 'lru-cache'
import { Prisma } from '../../generated/prisma/client.ts'

export interface Total {
  count: number
  /** more than EXACT_UP_TO rows; then `count` is greater than EXACT_UP_TO */
  isEstimate: boolean
}

export const EXACT_UP_TO = 10_000

export const exactly = (count: number): Total => ({ count, isEstimate: false })

type Queries = Pick<Prisma.TransactionClient, '$queryRaw'>

/** `matching`: a SELECT with one row per counted row. One statement, and a second if there are too many rows. */
export async function totalOf(db: Queries, matching: Prisma.Sql): Promise<Total> {
  const [row] = await db.$queryRaw<{ count: number }[]>`SELECT ${countedSql(matching)} AS count`
  return ofCounted(db, row!.count, () => matching)
}

/** Totals for each of `ids`. One statement, and one more per id with too many rows. */
export async function totalsOf(
  db: Queries,
  ids: readonly string[],
  matching: (id: Prisma.Sql) => Prisma.Sql,
): Promise<Map<string, Total>> {
  const rows = await db.$queryRaw<{ id: string; count: number }[]>`
    SELECT asked.id::text AS id, ${countedSql(matching(Prisma.sql`asked.id`))} AS count
    FROM unnest(${ids}::uuid[]) AS asked(id)`
  const totals = new Map<string, Total>()
  for (const { id, count } of rows) totals.set(id, await ofCounted(db, count, () => matching(Prisma.sql`${id}::uuid`)))
  return totals
}

/** SQL value: the number of rows of `matching`, at most EXACT_UP_TO + 1. */
export const countedSql = (matching: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(SELECT count(*)::int FROM (${matching} LIMIT ${Prisma.raw(String(EXACT_UP_TO + 1))}) m)`

/** `counted`: the value of countedSql(). Too many rows cost one more statement, with `matching`. */
export async function ofCounted(db: Queries, counted: number, matching: () => Prisma.Sql): Promise<Total> {
  if (counted <= EXACT_UP_TO) return exactly(counted)
  const [plan] = await db.$queryRaw<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }[]>`
    EXPLAIN (FORMAT JSON) ${matching()}`
  return { count: Math.max(EXACT_UP_TO + 1, Math.round(plan!['QUERY PLAN'][0].Plan['Plan Rows'])), isEstimate: true }
}

const ESTIMATE_TTL_MS = 10_000
/** While one caller counts again, others still get the old estimate for this time. */
const STALE_WHILE_REVALIDATE_MS = 2_000
const MAX_ENTRIES = 5_000
/** A long key contains a list of ids and is unlikely to repeat. */
const MAX_KEY_CHARS = 500

interface CachedTotal {
  total: Total
  /** the workspace's version for an exact total, ignoring calls of listeners */
  version: string | null
  /** end of an estimate's lifetime, ms since 1970 */
  until: number
}

export class TotalCache {
  readonly #known = new LRUCache<string, CachedTotal>({ max: MAX_ENTRIES })

  /** A valid estimate. When it expires, the first caller gets null and counts again. */
  estimate(key: string): Total | null {
    const known = this.#known.get(key)
    if (!known?.total.isEstimate) return null
    const now = Date.now()
    if (now < known.until) return known.total
    known.until = now + STALE_WHILE_REVALIDATE_MS
    return null
  }

  exact(key: string): { total: Total; version: string } | null {
    const known = this.#known.get(key)
    return known && known.version !== null ? { total: known.total, version: known.version } : null
  }

  /** `version`: the version of an exact total; null: don't cache it. */
  keep(key: string, total: Total, version: string | null): void {
    if (key.length > MAX_KEY_CHARS) return
    if (total.isEstimate) this.#known.set(key, { total, version: null, until: Date.now() + ESTIMATE_TTL_MS })
    else if (version !== null) this.#known.set(key, { total, version, until: 0 })
    else this.#known.delete(key)
  }
}
