/** Offers BUILD steps to builders (docs/protocol.md#builders), who take them under a lease stored in the step. */
import type { Step } from '../../generated/prisma/client.ts'
import { notifyHolder } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { explainWait } from '../revisions/transition.ts'
import type { Core, Tx } from '../transaction/context.ts'
import { type BuilderFacts, type Explanation, explain } from '../values/explanation.ts'
import { isOpen } from '../values/lifecycle.ts'
import { type Builders, buildersFor } from './available-builders.ts'
import { wakeBuilders } from './steps.ts'

const NO_BUILDER_LEASE = { builderClaimId: null, builderHolder: null, builderLeaseExpiresAt: null } as const

/**
 * Moves a step from its holder to the builders. `builderWaitMinutes` limits the wait; the build's deadline starts when a
 * builder takes it.
 */
export function offerToBuilders(
  core: Core,
  tx: Tx,
  deployment: LockedDeployment,
  step: Step,
  builders: Builders,
): Promise<LockedDeployment> {
  const now = tx.now()
  const left = {
    offeredAt: now,
    offeredTo: builders.organizationId,
    firstTakenAt: null,
    deadlineAt: null,
    pausedAt: null,
    // older servers know no builders; they hand out no step before `notBefore`
    notBefore: new Date(now.getTime() + core.settings.builderWaitMinutes * 60_000),
  }
  tx.unit.update('step', step.id, left)
  return announce(tx, deployment, { ...step, ...left }, builders)
}

/** Stores which organization's builders may take the step, and wakes them. Older servers did not store it. */
export async function recordOfferedTo(tx: Tx, deployment: LockedDeployment, step: Step): Promise<Step> {
  const { organizationId: offeredTo } = await buildersFor(tx, deployment)
  tx.unit.update('step', step.id, { offeredTo })
  wakeBuilders(tx, deployment.workspaceId, { offeredTo })
  return { ...step, offeredTo }
}

/** Offers a step again after its builder released or lost it. The deadline keeps running. Wakes the deployment's holder. */
export async function offerAgain(tx: Tx, deployment: LockedDeployment, step: Step): Promise<LockedDeployment> {
  tx.unit.update('step', step.id, { ...NO_BUILDER_LEASE, notBefore: step.deadlineAt })
  return announce(tx, deployment, step, await buildersFor(tx, deployment))
}

async function announce(
  tx: Tx,
  deployment: LockedDeployment,
  step: Step,
  builders: BuilderFacts,
): Promise<LockedDeployment> {
  wakeBuilders(tx, deployment.workspaceId, step)
  await explainBuild(tx, deployment, step, waitsFor(builders))
  return notifyHolder(tx, deployment)
}

/** Updates the explanation of an offered build, because builders come and go silent. */
export const explainBuilderWait = async (tx: Tx, deployment: LockedDeployment, step: Step): Promise<void> =>
  explainBuild(tx, deployment, step, waitsFor(await buildersFor(tx, deployment)))

const waitsFor = (builders: BuilderFacts): Explanation =>
  builders.there ? explain('WAITING_FOR_BUILDER', {}) : explain('BUILDER_SILENT', builders)

/** Stores on the revision what its build waits for, or which builder has it. */
export async function explainBuild(
  tx: Tx,
  deployment: LockedDeployment,
  { revisionId }: Step,
  explanation: Explanation,
): Promise<void> {
  const { revisions } = await lockedAggregate(tx, deployment)
  const revision = revisions.find(({ id }) => id === revisionId)
  if (revision && isOpen(revision)) explainWait(tx, revision, explanation)
}
