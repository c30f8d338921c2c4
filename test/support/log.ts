/** Writes lines into the log of a revision, like a holder's call but without a claim. */
import { appendLinesSql, LOG_CHANNEL, type RevisionLogLine } from '../../src/domain/logs/append.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'

/** `lines`: of revisions of one deployment. `wake`: absent within a transaction. */
export async function writeLog(
  { db, wake }: Pick<Core, 'db'> & Partial<Pick<Core, 'wake'>>,
  lines: readonly RevisionLogLine[],
): Promise<void> {
  const deployment = Prisma.sql`SELECT deployment_id AS id FROM revisions WHERE id = ${lines[0]?.revisionId}::uuid`
  const found = await db.$queryRaw<
    { id: string }[]
  >`WITH ${appendLinesSql(deployment, lines)} SELECT id::text FROM turn`
  wake?.(found.map(({ id }) => `${LOG_CHANNEL} ${id}`))
}
