/** A step failed, by its worker's word or by a rule: the revision fails with it, and the next turn is given. */
import type { Deployment, Step } from '../../generated/prisma/client.ts'
import type { Core, Tx } from '../context.ts'
import { FAILED_AS } from '../revisions/lifecycle.ts'
import { transition } from '../revisions/transition.ts'
import { advance } from './advance.ts'
import { closeStep } from './steps.ts'

/** Longest `status_message`; the rest is in the log. */
const MAX_MESSAGE = 2_000

/** `deployment` must be locked and current. `token`: the worker's, when it was the worker who said so. */
export async function failStep(
  core: Core,
  tx: Tx,
  deployment: Deployment,
  step: Step,
  message: string,
  token?: bigint,
): Promise<void> {
  const text = message.slice(0, MAX_MESSAGE)
  await closeStep(tx, deployment, step, { outcome: 'failed', token })
  if (step.kind === 'TEARDOWN') {
    deployment.statusMessage = `Teardown failed and will be tried again: ${text}`
    await tx.sql.deployment.update({
      where: { id: deployment.id },
      data: { statusMessage: deployment.statusMessage },
    })
  } else {
    const which =
      step.revisionId === null ? { deploymentId: deployment.id, status: 'CREATING' as const } : { id: step.revisionId }
    for (const revision of await tx.sql.revision.findMany({ where: which })) {
      await transition(tx, deployment.workspaceId, revision, { to: FAILED_AS[step.kind], message: text })
    }
  }
  await advance(core, tx, deployment)
}
