/** Thirty days after a teardown the deployment's row goes, with its revisions, logs and events (contract 3). */
import type { Core } from '../context.ts'

/** At most this many at a time, so that a sweep stays short. */
const BATCH = 20

export async function purge(core: Core): Promise<void> {
  const gone = await core.db.$queryRaw<{ id: string }[]>`
    WITH forgotten AS (DELETE FROM lease_renewals WHERE expires_at < now() - interval '1 hour')
    SELECT id FROM deployments WHERE torn_down_at < now() - interval '30 days' LIMIT ${BATCH}`
  for (const { id } of gone) {
    await core.db.$transaction([
      core.db
        .$executeRaw`DELETE FROM log_lines WHERE revision_id IN (SELECT id FROM revisions WHERE deployment_id = ${id}::uuid)`,
      core.db.$executeRaw`DELETE FROM events WHERE deployment_id = ${id}::uuid`,
      core.db.$executeRaw`DELETE FROM deployments WHERE id = ${id}::uuid`,
    ])
  }
}
