/** Runs a given revision again and makes it active when it succeeds: this is the rollback (contract 4). */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { lacks } from '../because.ts'
import { type RequestContext, transaction } from '../context.ts'
import { lockDeployment } from '../deployments/lock.ts'
import { revisionPath } from '../deployments/schemas.ts'
import { NotFoundError, NotRedeployableError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { reuseTarball } from '../uploads/accept.ts'
import { advance } from '../work/advance.ts'
import { asWritten, type ReadBack, type Written } from '../written.ts'
import { isTerminal, missingContent, needsBuild } from './lifecycle.ts'
import { takeRollout } from './rollout.ts'
import { transition } from './transition.ts'

export const redeployInput = z.object({ path: revisionPath })

/** Answers what `read` reads in its transaction, by default the ids. Role: deployer. Throws NotRedeployableError (400). */
export function redeployRevision(ctx: RequestContext, raw: RawInput): Promise<Written>
export function redeployRevision<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T>
export async function redeployRevision(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Written, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path } = parse(redeployInput, raw)
  return transaction(
    ctx,
    async (tx) => {
      const deployment = await lockDeployment(tx, ctx, path.deployment_id)
      const revision = await tx.sql.revision.findFirst({ where: { id: path.revision_id, deploymentId: deployment.id } })
      if (!revision) throw new NotFoundError('Revision', path.revision_id)
      const refuse = (why: string) =>
        new NotRedeployableError(`Revision ID ${revision.id} can't be redeployed: ${why}.`)
      if (deployment.deletedAt) throw refuse('its deployment is being deleted')
      if (!isTerminal(revision.status)) throw refuse(`it is in progress (${revision.status})`)
      const missing = missingContent(revision)
      if (missing) throw refuse(`it has nothing to build or run; it lacks ${lacks(missing)}`)
      if (revision.sourceTarballPath && needsBuild(revision) && !(await reuseTarball(tx, revision.sourceTarballPath)))
        throw refuse('its source tarball was removed; upload it again and make a new revision')

      const rollout = await takeRollout(ctx, tx, deployment, revision.id)
      await tx.sql.deployment.update({ where: { id: deployment.id }, data: { rollout, updatedAt: tx.now() } })
      await transition(tx, deployment.workspaceId, revision, {
        to: deployment.provisionedAt ? 'QUEUED' : 'CREATING',
        actor: ctx.actor.subject,
        rollout,
      })
      await advance(ctx, tx, deployment)
      return read(tx.sql, { deploymentId: deployment.id, revisionId: revision.id })
    },
    { deployment: path.deployment_id },
  )
}
