/**
 * How many rows a list has in all: counted up to a bound, since to count costs what the rows are, and beyond it what the
 * planner of Postgres reckons from its statistics (docs/api-rules.md#paging).
 */
import { Prisma } from '../../generated/prisma/client.ts'

export interface Total {
  count: number
  /** more than EXACT_UP_TO; then never less than the first number beyond it */
  isEstimate: boolean
}

/** What is not more than this is counted. */
export const EXACT_UP_TO = 10_000

export const exactly = (count: number): Total => ({ count, isEstimate: false })

type Queries = Pick<Prisma.TransactionClient, '$queryRaw'>

/** `matching`: a SELECT of one row for each that counts. One statement, and one more if there are too many. */
export async function totalOf(db: Queries, matching: Prisma.Sql): Promise<Total> {
  const [row] = await db.$queryRaw<{ count: number }[]>`SELECT ${countedSql(matching)} AS count`
  return ofCounted(db, row!.count, () => matching)
}

/** The same for each of `ids`; `matching`: of the id that it is given. One statement, and one more for each that has too many. */
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

/** A value: how many rows `matching` gives, or the first number beyond the bound. */
export const countedSql = (matching: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`(SELECT count(*)::int FROM (${matching} LIMIT ${Prisma.raw(String(EXACT_UP_TO + 1))}) m)`

/** `counted`: as countedSql() says; `matching` is asked for if it is too many, which takes one statement more. */
export async function ofCounted(db: Queries, counted: number, matching: () => Prisma.Sql): Promise<Total> {
  if (counted <= EXACT_UP_TO) return exactly(counted)
  const [plan] = await db.$queryRaw<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }[]>`
    EXPLAIN (FORMAT JSON) ${matching()}`
  return { count: Math.max(EXACT_UP_TO + 1, Math.round(plan!['QUERY PLAN'][0].Plan['Plan Rows'])), isEstimate: true }
}
