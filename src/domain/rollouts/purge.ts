/** Thirty days after a teardown the deployment's row goes, with its revisions (docs/operations.md#what-is-kept-and-for-how-long). */

import { removePurged } from '../repositories/deployment.ts'
import type { Core } from '../transaction/context.ts'

/** At most this many at a time, so that a sweep stays short. */
const BATCH = 20

export async function purge(core: Core): Promise<void> {
  const gone = await core.db.$queryRaw<{ id: string }[]>`
    WITH forgotten AS (DELETE FROM lease_renewals WHERE expires_at < now() - interval '1 hour')
    SELECT id FROM deployments d WHERE torn_down_at < now() - interval '30 days'
      AND NOT EXISTS (SELECT 1 FROM log_lines WHERE deployment_id = d.id) LIMIT ${BATCH}`
  for (const { id } of gone) await removePurged(core, id)
}
