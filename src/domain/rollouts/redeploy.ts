/** Redeploys a revision (docs/deployments.md#revisions-and-rollouts). A rollback is a redeploy of an older revision. */
import { z } from 'zod'
import { NotFoundError, NotRedeployableError } from '../errors/errors.ts'
import { requireVersion } from '../errors/precondition.ts'
import { parse } from '../parsing/parse.ts'
import { moved, nextRollout } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment } from '../repositories/locks.ts'
import { runtimeConfigOf } from '../revisions/runtime-config.ts'
import { transition } from '../revisions/transition.ts'
import { reuseTarball } from '../sources/uploads/tarball.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { Tx } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/read-back.ts'
import { revisionPath } from '../values/shapes.ts'
import { supersede } from './plan.ts'
import { apply, readSituation, settle } from './reconcile.ts'
import { requiredTarball, TARBALL_REMOVED, whyNotRedeployable } from './redeployable.ts'

export const redeployInput = z.object({ path: revisionPath })

/** Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws NotRedeployableError (400). */
export const redeployRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(redeployInput, raw)
  const parts = { revisionId: path.revision_id, withSecretsAndIntegration: true }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    const { revisions } = await lockedAggregate(tx, deployment, parts)
    const revision = revisions.find(({ id }) => id === path.revision_id)
    if (!revision) throw new NotFoundError('Revision', path.revision_id)
    requireVersion(raw.ifMatch, 'Deployment', deployment.id, deployment)
    const refuse = (why: string) => new NotRedeployableError(`Revision ID ${revision.id} can't be redeployed: ${why}.`)
    const why = whyNotRedeployable(revision, deployment)
    if (why) throw refuse(why)
    const tarball = requiredTarball(revision)
    if (tarball && !(await reuseTarball(tx, tarball))) throw refuse(TARBALL_REMOVED)

    const actor = actorOf(ctx.actor)
    const before = await readSituation(ctx, tx, deployment)
    const skipped = await apply(ctx, tx, before, supersede(before.state, revision), actor)
    const { id, number } = revision
    const change = { what: 'REDEPLOYED', actor, revision: { id, number } } as const
    const next = nextRollout(tx, skipped.deployment, change, null)
    const again = transition(tx, deployment.workspaceId, revision, {
      to: deployment.provisionedAt ? 'QUEUED' : 'CREATING',
      actor,
      again: { rollout: next.rollout, ...runtimeConfigOf(deployment) },
    })
    const open = [...skipped.state.open, again]
    await settle(ctx, tx, { deployment: moved(tx, next, again.id, again.status), state: { ...skipped.state, open } })
    return read(tx, { deploymentId: deployment.id, revisionId: revision.id })
  }
  return lockDeployment(ctx, path.deployment_id, work, parts)
})
