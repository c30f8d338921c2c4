/** Writes lines into the log of a revision, like a holder's call but without a claim. */

import { appendLinesSql, type RevisionLogLine } from '../../src/domain/logs/append.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'

/** `lines`: of revisions of one deployment. */
export async function writeLog({ db }: Pick<Core, 'db'>, lines: readonly RevisionLogLine[]): Promise<void> {
  const deployment = Prisma.sql`SELECT deployment_id AS id FROM revisions WHERE id = ${lines[0]?.revisionId}::uuid`
  await db.$executeRaw`WITH ${appendLinesSql(deployment, lines)} SELECT 1`
}
