/** For statements that are planned once. */
import { Prisma } from '../../generated/prisma/client.ts'

/**
 * A value that Postgres does not look at when it plans. Where it sees that a value promises less work than others do, it plans
 * the statement for it, each time, which costs more than to run it.
 */
export const unseen = (value: Prisma.Sql): Prisma.Sql => Prisma.sql`(SELECT ${value})`
