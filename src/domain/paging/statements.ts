/** Parts of hand-written SQL: prepared statements, conditions hidden from the planner, LIKE patterns. */
import { Prisma } from '../../generated/prisma/client.ts'

/** A statement that is planned once per connection. Its name is unique to its text. Its values are `$1`, `$2` … */
export interface Statement {
  name: string
  text: string
}

/** Runs a statement and returns rows as `pg` reads them. databaseFailure() treats its errors like Prisma's. */
export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/**
 * A value that the planner does not see. If Postgres sees a value that makes the plan cheaper than a generic one, it plans the
 * statement for every call, which costs more than running it.
 */
export const hideFromPlanner = (value: Prisma.Sql): Prisma.Sql => Prisma.sql`(SELECT ${value})`

/**
 * A condition that only checks the rows which another condition finds. Postgres does not search an index by it. Without
 * statistics, a look-up by id and workspace would otherwise read an index of all the workspace's rows (bench case `fresh`).
 */
export const checkOnly = (condition: Prisma.Sql): Prisma.Sql => Prisma.sql`(${condition}) IS TRUE`

/** Escapes LIKE's wildcards, so that `text` is found literally. */
export function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
