/**
 * Removes the images of torn-down deployments a second time. A builder's push token outlives the teardown, so each
 * repository is emptied again after the last token expires. Any server may do this, any number of times.
 */
import { repositoryOf } from '../ports/registry.ts'
import { type LockedDeployment, toDeleteOrSkip } from '../repositories/locks.ts'
import type { Core, ReadCore, Tx } from '../transaction/context.ts'

const MAX_PER_ROUND = 20
/** Also the time after which another server takes over a removal whose server died. */
const RETRY_AFTER = '10 minutes'
const GIVE_UP_AFTER = '30 days'

/**
 * $1: deployment · $2: workspace · $3: build deadline in minutes. A push token lasts until the step's deadline, or for one
 * build deadline from the last moment at which a build can have asked for it.
 */
const QUEUE = {
  name: 'queue removal of images',
  text: `
    INSERT INTO image_removals (deployment_id, workspace_id, not_before)
    SELECT $1::uuid, $2::uuid, greatest(now(), max(coalesce(s.deadline_at, s.not_before, s.created_at)) + make_interval(mins => $3::int))
    FROM steps s WHERE s.deployment_id = $1::uuid AND s.kind = 'BUILD' HAVING count(*) > 0
    ON CONFLICT (deployment_id) DO NOTHING`,
}

/** Call it at the teardown. One statement; none without a registry or for sources that are not built. */
export async function queueImageRemoval(core: Core, tx: Tx, deployment: LockedDeployment): Promise<void> {
  const { id, workspaceId, source } = deployment
  if (!core.registry || (source !== 'gitprovider' && source !== 'internal_source')) return
  await tx.query(QUEUE, [id, workspaceId, core.settings.deadlineMinutes.BUILD])
}

/** Runs one round of due removals. `empty`: removes the pushed images; it rejects if it must be retried. */
export async function removeImages(
  core: ReadCore,
  empty: (repository: string, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const due = await core.db.$queryRaw<{ id: string; workspaceId: string; late: boolean }[]>`
    UPDATE image_removals SET not_before = now() + ${RETRY_AFTER}::interval
    WHERE deployment_id IN (
      SELECT deployment_id FROM image_removals WHERE not_before <= now()
      ORDER BY not_before LIMIT ${MAX_PER_ROUND} ${toDeleteOrSkip('image_removals')})
    RETURNING deployment_id AS id, workspace_id AS "workspaceId", created_at < now() - ${GIVE_UP_AFTER}::interval AS late`
  for (const { id, workspaceId, late } of due) {
    if (signal.aborted) return
    try {
      await empty(repositoryOf({ id, workspaceId }), signal)
    } catch (error) {
      core.log.warn({ err: error, deploymentId: id }, 'could not remove the images of a torn-down deployment')
      if (!late) continue
    }
    await core.db.imageRemoval.deleteMany({ where: { deploymentId: id } })
  }
}
