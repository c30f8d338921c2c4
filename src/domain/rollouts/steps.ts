/** Opens, takes and closes steps, the units of work of the data plane. plan.ts decides which steps are needed. */
import { randomUUID } from 'node:crypto'
import type { Step } from '../../generated/prisma/client.ts'
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { Reason } from '../errors/reasons.ts'
import { buildersOf, type ReadCore, type Tx } from '../transaction/context.ts'
import type { OpenStep } from './plan.ts'

/** Delay before a failed teardown is retried, in seconds: 5, 10, 20 … 600. */
const backOff = (failures: number) => Math.min(600, 5 * 2 ** (failures - 1))

/** Opens a step. `failures`: failed attempts before this one; they set its back-off. */
export function openStep(
  tx: Tx,
  deploymentId: string,
  kind: StepKind,
  revisionId: string | null,
  failures: number,
): Step {
  const now = tx.now()
  const step: Step = {
    id: randomUUID(),
    deploymentId,
    kind,
    revisionId,
    createdAt: now,
    notBefore: failures > 0 ? new Date(now.getTime() + backOff(failures) * 1000) : null,
    firstTakenAt: null,
    deadlineAt: null,
    pausedAt: null,
    tries: 0,
    triesGivenBack: 0,
    takenBy: [],
    finishedAt: null,
    outcome: null,
    reason: null,
    finishedBy: null,
    offeredAt: null,
    offeredTo: null,
    builderClaimId: null,
    builderHolder: null,
    builderToken: 0n,
    builderLeaseExpiresAt: null,
  }
  tx.unit.insert('step', step)
  return step
}

/** Closes a step, taken or not. `token`: the fencing token under which its result is recorded. */
export function closeStep(
  tx: Tx,
  workspaceId: string,
  step: OpenStep,
  { outcome, token, reason }: { outcome: StepOutcome; token?: bigint; reason?: Reason },
): void {
  const { id, kind, firstTakenAt } = step
  const finishedAt = tx.now()
  tx.unit.update('step', id, { finishedAt, outcome, reason: reason ?? null, finishedBy: token ?? null })
  // closing the step ends its builder's lease
  wakeBuilders(tx, workspaceId, step)
  const ms = firstTakenAt && finishedAt.getTime() - firstTakenAt.getTime()
  tx.ended({ kind, outcome, seconds: ms === null ? null : Math.max(0, ms / 1000) })
}

/** Wakes the builders that may take the step or have it. Does nothing for a step that is not offered. */
export function wakeBuilders(tx: Tx, workspaceId: string, { offeredTo }: Pick<OpenStep, 'offeredTo'>): void {
  if (!offeredTo) return
  for (const id of [offeredTo, workspaceId]) tx.wakeWorkers(buildersOf(id))
}

/** Starts a try under a claim. The first try starts the deadline. Time without a lease extends it. */
export function takeStep(core: ReadCore, tx: Tx, step: Step, claimId: string): Step {
  const now = tx.now()
  const limit = core.settings.deadlineMinutes[step.kind] * 60_000
  const idleMs = step.pausedAt ? Math.max(0, now.getTime() - step.pausedAt.getTime()) : 0
  const taken = {
    tries: step.tries + 1,
    takenBy: [...withoutClaim(step, claimId), claimId],
    firstTakenAt: step.firstTakenAt ?? now,
    deadlineAt: new Date(step.deadlineAt ? step.deadlineAt.getTime() + idleMs : now.getTime() + limit),
    pausedAt: null,
  }
  tx.unit.update('step', step.id, taken)
  return { ...step, ...taken }
}

/** Returns a step after a release: the try does not count. */
export function returnStep(tx: Tx, step: Step, claimId: string): void {
  if (step.finishedAt !== null) return
  tx.unit.update('step', step.id, {
    tries: Math.max(step.tries - 1, step.triesGivenBack),
    takenBy: withoutClaim(step, claimId),
    // the deadline of an offered build keeps running
    ...(step.offeredAt ? {} : { pausedAt: tx.now() }),
  })
}

/** Records that the lease on a taken step ended at `since`. `counts`: whether the try counts. */
export function recordLostLease(tx: Tx, step: Step, claimId: string, since: Date | null, counts: boolean): void {
  const isTaken = withoutClaim(step, claimId).length < takenBy(step).length
  tx.unit.update('step', step.id, {
    pausedAt: step.pausedAt ?? since,
    ...(isTaken && !counts ? { triesGivenBack: step.triesGivenBack + 1, takenBy: withoutClaim(step, claimId) } : {}),
  })
}

/** null in steps of older servers */
const takenBy = (step: Step): string[] => (step.takenBy as string[] | null) ?? []

const withoutClaim = (step: Step, claimId: string) => takenBy(step).filter((id) => id !== claimId)
