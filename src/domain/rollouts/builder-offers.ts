/**
 * BUILD steps that are left to builders (docs/protocol.md#builders): such a step stays open, its holder has none meanwhile, and
 * builders take it under leases of its own. Each try of a builder counts as one of a holder does.
 */
import type { Step } from '../../generated/prisma/client.ts'
import { notifyHolder } from '../repositories/deployment.ts'
import { factsOf } from '../repositories/locked-aggregate.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { explainWait } from '../revisions/transition.ts'
import type { Core, Tx } from '../transaction/context.ts'
import { type BuilderFacts, type Explanation, explain } from '../values/explanation.ts'
import { isOpen } from '../values/lifecycle.ts'
import { type Builders, buildersFor } from './available-builders.ts'
import { wakeBuilders } from './steps.ts'

/** Nobody has it. */
const NO_BUILDER_LEASE = { builderClaimId: null, builderHolder: null, builderLeaseExpiresAt: null } as const

/**
 * The holder of a step leaves it to builders. How long it waits for the first of them has a bound of its own; the deadline of the
 * build begins when that takes it.
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
    // a server of before this version knows of no builders, and gives holders nothing that is not due
    notBefore: new Date(now.getTime() + core.settings.builderWaitMinutes * 60_000),
  }
  tx.unit.update('step', step.id, left)
  return announce(tx, deployment, { ...step, ...left }, builders)
}

/** Says whose builders a step is left to, which a server of before this version did not, and wakes them. */
export async function recordOfferedTo(tx: Tx, deployment: LockedDeployment, step: Step): Promise<Step> {
  const { organizationId: offeredTo } = await buildersFor(tx, deployment)
  tx.unit.update('step', step.id, { offeredTo })
  wakeBuilders(tx, deployment.workspaceId, { offeredTo })
  return { ...step, offeredTo }
}

/** The builder that had it has it no more: it is there for any of them again, until its deadline. Its holder is told. */
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

/** Says again what a build that nobody has waits for: builders come, and go silent. */
export const explainBuilderWait = async (tx: Tx, deployment: LockedDeployment, step: Step): Promise<void> =>
  explainBuild(tx, deployment, step, waitsFor(await buildersFor(tx, deployment)))

const waitsFor = (builders: BuilderFacts): Explanation =>
  builders.there ? explain('WAITING_FOR_BUILDER', {}) : explain('BUILDER_SILENT', builders)

/** Says of the revision what its build waits for, or who is at it. */
export async function explainBuild(
  tx: Tx,
  deployment: LockedDeployment,
  { revisionId }: Step,
  explanation: Explanation,
): Promise<void> {
  const { revisions } = await factsOf(tx, deployment)
  const revision = revisions.find(({ id }) => id === revisionId)
  if (revision && isOpen(revision)) explainWait(tx, revision, explanation)
}
