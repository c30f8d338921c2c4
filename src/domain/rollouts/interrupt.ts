/**
 * Interrupts a revision immediately (docs/deployments.md#revisions-and-rollouts). The next step starts when its worker has
 * stopped.
 */
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../errors/errors.ts'
import { parse } from '../parsing/parse.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { Tx } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/once.ts'
import { explain } from '../values/explanation.ts'
import { isTerminal, STATUS_WORDS } from '../values/lifecycle.ts'
import { revisionPath } from '../values/shapes.ts'
import { interrupt } from './plan.ts'
import { readSituation, settle } from './reconcile.ts'

export const interruptInput = z.object({ path: revisionPath })

/**
 * Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws ConflictError for a revision that
 * has ended.
 */
export const interruptRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(interruptInput, raw)
  const parts = { revisionId: path.revision_id }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    const { revisions } = await lockedAggregate(tx, deployment, parts)
    const revision = revisions.find(({ id }) => id === path.revision_id)
    if (!revision) throw new NotFoundError('Revision', path.revision_id)
    refuseDeleted(deployment)
    if (isTerminal(revision.status))
      throw new ConflictError(`Revision ID ${revision.id} has ended already: it ${STATUS_WORDS[revision.status]}.`)
    const { subject } = ctx.actor
    const actions = interrupt([revision], explain('INTERRUPTED_BY_PERSON', { subject }))
    await settle(ctx, tx, await readSituation(ctx, tx, deployment), actions, actorOf(ctx.actor))
    return read(tx, { deploymentId: deployment.id, revisionId: revision.id })
  }
  return lockDeployment(ctx, path.deployment_id, work, parts)
})
