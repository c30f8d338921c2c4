/** Hides values and conditions from the planner of Postgres, for statements that are planned once. */
import { Prisma } from '../../generated/prisma/client.ts'

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
