/** Removes tarballs that no revision needs. `removed_at` reserves a row until its object is deleted; failures are retried. */

import { toDeleteOrSkip } from '../../repositories/locks.ts'
import type { Core } from '../../transaction/context.ts'

/** A small batch keeps a round short. */
const BATCH_ROWS = 100

/** Runs one round. Safe on several servers. */
export async function removeUploads(core: Core): Promise<void> {
  const reserved = await reserveUnneeded(core)
  for (const { id, objectPath } of reserved) {
    try {
      await core.tarballs.remove([objectPath])
      await core.db.upload.deleteMany({ where: { id } })
    } catch (error) {
      core.log.warn({ err: error, uploadId: id }, 'could not remove an uploaded tarball; it is retried')
    }
  }
}

/** Reserves rows under a lock, so a tarball that a revision starts to use stays. A tarball with a valid upload URL stays too. */
function reserveUnneeded(core: Core): Promise<{ id: string; objectPath: string }[]> {
  return core.db.$queryRaw`
    UPDATE uploads SET removed_at = now() WHERE id IN (
      SELECT u.id FROM uploads u LEFT JOIN deployments d ON d.id = u.deployment_id
      WHERE u.expires_at < now() - interval '1 hour' AND (
        u.removed_at < now() - interval '5 minutes'
        OR (u.removed_at IS NULL AND (
          d.id IS NULL OR d.torn_down_at IS NOT NULL
          OR (u.used_at IS NULL AND u.created_at < now() - interval '24 hours')
          OR (u.used_at < now() - interval '24 hours' AND NOT EXISTS (
            SELECT 1 FROM revisions r
            WHERE r.deployment_id = d.id AND r.source_tarball_path = u.object_path AND (
              r.id IN (d.latest_revision_id, d.active_revision_id)
              OR r.created_at > now() - interval '24 hours'
              OR r.status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
              OR r.artifact IS NOT NULL
              OR r.id IN (SELECT id FROM revisions WHERE deployment_id = d.id AND deployed_at IS NOT NULL
                          ORDER BY deployed_at DESC LIMIT 5)))))))
      ORDER BY u.created_at LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('u')})
    RETURNING id, object_path AS "objectPath"`
}
