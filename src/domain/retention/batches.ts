/** How what is over its time is removed: a few rows a statement, so that nobody waits for them. */
import { Prisma } from '../../generated/prisma/client.ts'

/** Whether there is time for a further statement. */
export type GoOn = () => boolean

/** The moment so many days ago. */
export const ago = (days: number) => Prisma.sql`(now() - make_interval(days => ${days}::int))`

/** Does `batch`, which says how many of `most` rows it has removed, until these were the last ones. */
export async function untilDone(most: number, goOn: GoOn, batch: () => Promise<number>): Promise<void> {
  for (let removed = most; removed === most && goOn(); ) removed = await batch()
}
