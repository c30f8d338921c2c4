/** Stops a revision at once (contract 4). Its worker is told to stop; the next step starts when it has. */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { because } from '../because.ts'
import { type RequestContext, transaction } from '../context.ts'
import { lockDeployment, refuseDeleted } from '../deployments/lock.ts'
import { revisionPath } from '../deployments/schemas.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { advance } from '../work/advance.ts'
import { cancelStepOf } from '../work/steps.ts'
import { asWritten, type ReadBack, type Written } from '../written.ts'
import { isTerminal } from './lifecycle.ts'
import { transition } from './transition.ts'

export const interruptInput = z.object({ path: revisionPath })

/**
 * Answers what `read` reads in its transaction, by default the ids. Role: deployer. Throws ConflictError when the
 * revision has ended already.
 */
export function interruptRevision(ctx: RequestContext, raw: RawInput): Promise<Written>
export function interruptRevision<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T>
export async function interruptRevision(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Written, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path } = parse(interruptInput, raw)
  return transaction(
    ctx,
    async (tx) => {
      const deployment = await lockDeployment(tx, ctx, path.deployment_id)
      const revision = await tx.sql.revision.findFirst({ where: { id: path.revision_id, deploymentId: deployment.id } })
      if (!revision) throw new NotFoundError('Revision', path.revision_id)
      refuseDeleted(deployment)
      if (isTerminal(revision.status))
        throw new ConflictError(`Revision ID ${revision.id} has ended already (${revision.status}).`)
      await cancelStepOf(tx, deployment, revision.id)
      await transition(tx, deployment.workspaceId, revision, {
        to: 'INTERRUPTED',
        because: because('INTERRUPTED_BY_PERSON', { subject: ctx.actor.subject }),
        actor: ctx.actor.subject,
      })
      await advance(ctx, tx, deployment)
      return read(tx.sql, { deploymentId: deployment.id, revisionId: revision.id })
    },
    { deployment: path.deployment_id },
  )
}
