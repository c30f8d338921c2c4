/** Thirty days after a teardown the deployment's row goes, with its revisions, logs and events (docs/deployments.md#deployments). */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context/context.ts'
import { removePurged } from '../rows/deployment.ts'

/** At most this many at a time, so that a sweep stays short. */
const BATCH = 20
/** In one statement, and so many statements in one sweep: a log of millions of lines takes longer than a statement may. */
const ROWS = 10_000
const STATEMENTS = 50

export async function purge(core: Core): Promise<void> {
  const gone = await core.db.$queryRaw<{ id: string }[]>`
    WITH forgotten AS (DELETE FROM lease_renewals WHERE expires_at < now() - interval '1 hour')
    SELECT id FROM deployments WHERE torn_down_at < now() - interval '30 days' LIMIT ${BATCH}`
  for (const { id } of gone) {
    await thinOut(core, Prisma.sql`log_lines`, id)
    await thinOut(core, Prisma.sql`events`, id)
    // the row goes last: what is left, also by another server that is at it, the next sweep finds by it
    await removePurged(core, id)
  }
}

/** Deletes the rows of a deployment, or as many as one sweep has time for. */
async function thinOut(core: Core, table: Prisma.Sql, id: string): Promise<void> {
  for (let statements = 0, deleted = ROWS; deleted === ROWS && statements < STATEMENTS; statements++) {
    deleted = await core.db.$executeRaw`
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE deployment_id = ${id}::uuid LIMIT ${ROWS}))`
  }
}
