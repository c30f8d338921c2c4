/** Removes old rows in small statements, so other transactions wait only shortly. */
import { Prisma } from '../../generated/prisma/client.ts'

export type HasTime = () => boolean

export const daysAgo = (days: number) => Prisma.sql`(now() - make_interval(days => ${days}::int))`

/** Repeats `batch` while it removes `most` rows and there is time. `batch` returns how many rows it removed. */
export async function removeInBatches(most: number, hasTime: HasTime, batch: () => Promise<number>): Promise<void> {
  for (let removed = most; removed === most && hasTime(); ) removed = await batch()
}
