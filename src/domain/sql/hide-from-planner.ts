/** Hides values from the planner of Postgres, for statements that are planned once. */
import { Prisma } from '../../generated/prisma/client.ts'

/**
 * A value that the planner does not see. If Postgres sees a value that makes the plan cheaper than a generic one, it plans the
 * statement for every call, which costs more than running it.
 */
export const hideFromPlanner = (value: Prisma.Sql): Prisma.Sql => Prisma.sql`(SELECT ${value})`
