/** Runs a given revision again and makes it active when it succeeds: this is the rollback (docs/deployments.md#revisions-and-rollouts). */
import { z } from 'zod'
import { actorOf, requireRole } from '../context/access.ts'
import type { Tx } from '../context/context.ts'
import { type Written, writeVerb } from '../context/read-back.ts'
import { NotFoundError, NotRedeployableError } from '../core/errors.ts'
import { parse } from '../core/parse.ts'
import { requireMatch } from '../core/precondition.ts'
import { lacks } from '../model/explanation.ts'
import { isTerminal, missingContent, needsBuild } from '../model/lifecycle.ts'
import { revisionPath } from '../model/shapes.ts'
import { transition } from '../revisions/transition.ts'
import { nextRollout } from '../rows/deployment.ts'
import { factsOf } from '../rows/facts.ts'
import { type LockedDeployment, lockDeployment } from '../rows/locks.ts'
import { reuseTarball } from '../sources/uploads/accept.ts'
import { supersede } from './plan.ts'
import { apply, look, settle } from './reconcile.ts'

export const redeployInput = z.object({ path: revisionPath })

/** Answers what `read` reads in its transaction, by default the ids. Role: deployer. Throws NotRedeployableError (400). */
export const redeployRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(redeployInput, raw)
  const asked = { revisionId: path.revision_id, shown: true }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    const { revisions } = await factsOf(tx, deployment, asked)
    const revision = revisions.find(({ id }) => id === path.revision_id)
    if (!revision) throw new NotFoundError('Revision', path.revision_id)
    requireMatch(raw.ifMatch, 'Deployment', deployment.id, deployment)
    const refuse = (why: string) => new NotRedeployableError(`Revision ID ${revision.id} can't be redeployed: ${why}.`)
    if (deployment.deletedAt) throw refuse('its deployment is being deleted')
    if (!isTerminal(revision.status)) throw refuse(`it is in progress (${revision.status})`)
    const missing = missingContent(revision)
    if (missing) throw refuse(`it has nothing to build or run; it lacks ${lacks(missing)}`)
    if (revision.sourceTarballPath && needsBuild(revision) && !(await reuseTarball(tx, revision.sourceTarballPath)))
      throw refuse('its source tarball was removed; upload it again and make a new revision')

    const actor = actorOf(ctx.actor)
    const before = await look(ctx, tx, deployment)
    const { state } = await apply(ctx, tx, before, supersede(before.state, revision.id), actor)
    const next = nextRollout(tx, deployment, null)
    const again = transition(tx, deployment.workspaceId, revision, {
      to: deployment.provisionedAt ? 'QUEUED' : 'CREATING',
      actor,
      rollout: next.rollout,
    })
    await settle(ctx, tx, { deployment: next, state: { ...state, open: [...state.open, again] } })
    return read(tx, { deploymentId: deployment.id, revisionId: revision.id })
  }
  return lockDeployment(ctx, path.deployment_id, work, asked)
})
