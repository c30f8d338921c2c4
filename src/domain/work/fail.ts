/** A step failed, by its worker's word or by a rule: the revision fails with it, and the next turn is given. */
import type { Deployment, Step } from '../../generated/prisma/client.ts'
import { type Because, because } from '../because.ts'
import type { Core, Tx } from '../context.ts'
import { FAILED_AS } from '../revisions/lifecycle.ts'
import { transition } from '../revisions/transition.ts'
import { advance } from './advance.ts'
import { closeStep } from './steps.ts'

/** `deployment` must be locked and current. `token`: the worker's, when it was the worker who said so. */
export async function failStep(
  core: Core,
  tx: Tx,
  deployment: Deployment,
  step: Step,
  cause: Because,
  token?: bigint,
): Promise<void> {
  await closeStep(tx, deployment, step, { outcome: 'failed', token, reason: cause.reason })
  if (step.kind === 'TEARDOWN') {
    // the step has the reason that it failed for; this one says that it is tried again
    const { reason, message: statusMessage } = because('TEARDOWN_FAILED', { why: cause.message })
    const data = { reason, reasonSince: tx.now(), statusMessage }
    await tx.sql.deployment.update({ where: { id: deployment.id }, data })
    Object.assign(deployment, data)
  } else {
    const which =
      step.revisionId === null ? { deploymentId: deployment.id, status: 'CREATING' as const } : { id: step.revisionId }
    for (const revision of await tx.sql.revision.findMany({ where: which })) {
      await transition(tx, deployment.workspaceId, revision, { to: FAILED_AS[step.kind], because: cause })
    }
  }
  await advance(core, tx, deployment)
}
