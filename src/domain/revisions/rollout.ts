/**
 * Rollouts (contract 4): each new revision and each redeploy takes the deployment's next rollout number under
 * its lock. What still waits with a lower number is skipped: the newest wins, at most one is in progress.
 */
import { randomUUID } from 'node:crypto'
import type { Deployment } from '../../generated/prisma/client.ts'
import { because } from '../because.ts'
import type { Core, Tx } from '../context.ts'
import { advance } from '../work/advance.ts'
import { cancelStepOf } from '../work/steps.ts'
import { WAITING } from './lifecycle.ts'
import { transition } from './transition.ts'

/** What a revision is made of, beside what its deployment gives it. */
export interface RevisionSource {
  repoRef: string | null
  graphConfigPath: string | null
  imageUri: string | null
  sourceTarballPath: string | null
  installCommand: string | null
  buildCommand: string | null
  /** the commit to build; null: the one that `repoRef` names when the build begins */
  repoCommitSha: string | null
  /** what was built of it already; null: it has to be built */
  artifact: string | null
  /** the revision that all of this is of; null: it is its own */
  basedOnId: string | null
}

/** On whose behalf: a caller, or with a null subject the system itself. */
export interface Author extends Core {
  actor: { subject: string | null }
}

/** Takes the next rollout number for `revisionId` and skips every other revision that waits. */
export async function takeRollout(ctx: Author, tx: Tx, deployment: Deployment, revisionId: string): Promise<number> {
  const waiting = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, status: { in: [...WAITING] }, id: { not: revisionId } },
    orderBy: { rollout: 'asc' },
  })
  for (const revision of waiting) {
    await cancelStepOf(tx, deployment, revision.id)
    await transition(tx, deployment.workspaceId, revision, {
      to: 'SKIPPED',
      because: because('SUPERSEDED', { revisionId }),
      actor: ctx.actor.subject,
    })
  }
  deployment.rollout += 1
  return deployment.rollout
}

/**
 * Makes the deployment's next revision, with everything it pins, and moves the deployment on. The deployment
 * must be locked; its row is updated. Returns the revision's id. `why`: goes into its first event.
 */
export async function rollOut(
  ctx: Author,
  tx: Tx,
  deployment: Deployment,
  source: RevisionSource,
  why: string | null = null,
): Promise<string> {
  const id = randomUUID()
  const rollout = await takeRollout(ctx, tx, deployment, id)
  await tx.sql.revision.create({
    data: {
      id,
      deploymentId: deployment.id,
      number: deployment.revisionCount + 1,
      rollout,
      source: deployment.source,
      repoUrl: deployment.repoUrl,
      ...source,
      secretSetId: deployment.secretSetId,
      createdBy: ctx.actor.subject,
    },
    select: { id: true },
  })
  const { revisionCount } = await tx.sql.deployment.update({
    where: { id: deployment.id },
    data: { rollout, revisionCount: { increment: 1 }, latestRevisionId: id, updatedAt: tx.now() },
  })
  Object.assign(deployment, { revisionCount, latestRevisionId: id })
  tx.emit({
    workspaceId: deployment.workspaceId,
    type: 'revision.status',
    deploymentId: deployment.id,
    revisionId: id,
    from: null,
    to: 'CREATING',
    message: why,
    attempt: 1,
    actor: ctx.actor.subject,
  })
  await advance(ctx, tx, deployment)
  return id
}
