/**
 * The images of deployments that are gone. A teardown removes them, but who was building may push for as long as its token
 * lasts, also after that: so each repository is emptied once more when no token for it is good any more. That can be done any number of
 * times, by any server; where the registry does not answer it is done later.
 */

import { repositoryOf } from '../ports/registry.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Core, Tx } from '../transaction/context.ts'

/** In one round. */
const MAX_PER_ROUND = 20
/** until it is tried again, or somebody else takes over what a server that died was at */
const RETRY_AFTER = '10 minutes'
const GIVE_UP_AFTER = '30 days'

/**
 * $1: the deployment · $2: its workspace · $3: minutes that a build may take. Whoever built had a token when its step was
 * taken, until the deadline, or for so long from the last moment that it may have asked for one.
 */
const QUEUE = {
  name: 'queue removal of images',
  text: `
    INSERT INTO image_removals (deployment_id, workspace_id, not_before)
    SELECT $1::uuid, $2::uuid, greatest(now(), max(coalesce(s.deadline_at, s.not_before, s.created_at)) + make_interval(mins => $3::int))
    FROM steps s WHERE s.deployment_id = $1::uuid AND s.kind = 'BUILD' HAVING count(*) > 0
    ON CONFLICT (deployment_id) DO NOTHING`,
}

/** The deployment is torn down now. One statement, none where nothing is built and pushed. */
export async function queueImageRemoval(core: Core, tx: Tx, deployment: LockedDeployment): Promise<void> {
  const { id, workspaceId, source } = deployment
  if (!core.registry || (source !== 'gitprovider' && source !== 'internal_source')) return
  await tx.query(QUEUE, [id, workspaceId, core.settings.deadlineMinutes.BUILD])
}

/** One round: those that are due. `empty`: removes from a repository what builds push; rejects when it has to be tried again. */
export async function removeImages(
  core: Core,
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
      core.log.warn({ err: error, deploymentId: id }, 'the images of a deployment that is gone could not be removed')
      if (!late) continue
    }
    await core.db.imageRemoval.deleteMany({ where: { deploymentId: id } })
  }
}
