/** Restarts the running revision without a rollout: revision, build and status stay (docs/deployments.md#restart). */
import { z } from 'zod'
import { ConflictError, requireVersion } from '../errors/errors.ts'
import { parse } from '../parsing/parse.ts'
import { notifyHolder, restarted } from '../repositories/deployment.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { actorOf, eventBy, requireRole } from '../transaction/access.ts'
import type { Tx } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/once.ts'
import { deploymentPath } from '../values/shapes.ts'

export const restartInput = z.object({ path: deploymentPath })

/** Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws ConflictError if nothing runs. */
export const restartDeployment = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { deployment_id: deploymentId } = parse(restartInput, raw).path
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    requireVersion(raw.ifMatch, 'Deployment', deploymentId, deployment)
    refuseDeleted(deployment)
    const { activeRevisionId: revisionId } = deployment
    if (revisionId === null)
      throw new ConflictError(`Deployment ID ${deploymentId} has no running revision, so nothing can be restarted.`)
    notifyHolder(tx, restarted(tx, deployment, actorOf(ctx.actor)))
    tx.emit({ ...eventBy(ctx), type: 'deployment.restarted', deploymentId, revisionId })
    return read(tx, { deploymentId, revisionId: null })
  }
  return lockDeployment(ctx, deploymentId, work, { withSecretsAndIntegration: true })
})
