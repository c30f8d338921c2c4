/** How what is over its time is removed: a few rows a statement, so that nobody waits for them. */
import { Prisma } from '../../generated/prisma/client.ts'

/** Whether there is time for a further statement. */
export type HasTime = () => boolean

/** The moment so many days ago. */
export const daysAgo = (days: number) => Prisma.sql`(now() - make_interval(days => ${days}::int))`

/** Does `batch`, which says how many of `most` rows it has removed, until these were the last ones. */
export async function removeInBatches(most: number, hasTime: HasTime, batch: () => Promise<number>): Promise<void> {
  for (let removed = most; removed === most && hasTime(); ) removed = await batch()
}
