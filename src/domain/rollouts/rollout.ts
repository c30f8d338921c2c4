/**
 * Rollouts (docs/deployments.md#revisions-and-rollouts): each new revision and each redeploy takes the deployment's next
 * rollout number under its lock. What still waits with a lower number is skipped: the newest wins, at most one is in progress.
 */
import { randomUUID } from 'node:crypto'
import type { Revision } from '../../generated/prisma/client.ts'
import { actorOf } from '../context/access.ts'
import type { Core, Tx } from '../context/context.ts'
import type { ActorKind } from '../model/event-actor.ts'
import type { RevisionSource } from '../model/revision-source.ts'
import { NOTHING_WAITS, nextRollout } from '../rows/deployment.ts'
import type { LockedDeployment } from '../rows/locks.ts'
import { supersede } from './plan.ts'
import { apply, look, settle } from './reconcile.ts'

/** On whose behalf: a caller, or with a null subject nobody whom a row could name. */
export interface Author extends Core {
  actor: { kind: ActorKind; subject: string | null; name: string | null }
}

/**
 * Makes the deployment's next revision, with everything it pins, and moves the deployment on. Returns the revision's id.
 * `why`: goes into its first event.
 */
export async function rollOut(
  ctx: Author,
  tx: Tx,
  deployment: LockedDeployment,
  source: RevisionSource,
  why: string | null = null,
): Promise<string> {
  const id = randomUUID()
  const actor = actorOf(ctx.actor)
  const before = await look(ctx, tx, deployment)
  const { state } = await apply(ctx, tx, before, supersede(before.state, id), actor)
  const now = tx.now()
  const revision: Revision = {
    id,
    deploymentId: deployment.id,
    number: deployment.revisionCount + 1,
    rollout: deployment.rollout + 1,
    status: 'CREATING',
    ...NOTHING_WAITS,
    statusSince: now,
    attempt: 1,
    source: deployment.source,
    repoUrl: deployment.repoUrl,
    ...source,
    secretSetId: deployment.secretSetId,
    createdBy: ctx.actor.subject,
    createdAt: now,
    updatedAt: now,
    deployedAt: null,
  }
  tx.unit.insert('revision', revision)
  const next = nextRollout(tx, deployment, id)
  tx.emit({
    workspaceId: deployment.workspaceId,
    type: 'revision.status',
    deploymentId: deployment.id,
    revisionId: id,
    from: null,
    to: 'CREATING',
    message: why,
    attempt: 1,
    actor,
  })
  await settle(ctx, tx, { deployment: next, state: { ...state, open: [...state.open, revision] } })
  return id
}
