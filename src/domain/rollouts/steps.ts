/** The statements that open, take and close steps: the pieces of work of the data plane. Which ones, says plan.ts. */
import { randomUUID } from 'node:crypto'
import type { Step } from '../../generated/prisma/client.ts'
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import { buildersOf, type Core, type Tx } from '../transaction/context.ts'
import type { Reason } from '../values/reasons.ts'
import type { OpenStep } from './plan.ts'

/** Seconds before a failed teardown is tried again: 5, 10, 20 … 600. */
const backOff = (failures: number) => Math.min(600, 5 * 2 ** (failures - 1))

/** No builder is asked for it. */
const NOT_OFFERED = {
  offeredAt: null,
  offeredTo: null,
  builderClaimId: null,
  builderHolder: null,
  builderToken: 0n,
  builderLeaseExpiresAt: null,
} as const

/** Opens a step. `failures`: how often the same was tried in vain; it is not handed out before its back-off is over. */
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
    ...NOT_OFFERED,
  }
  tx.unit.insert('step', step)
  return step
}

/** Closes a step of this workspace, whoever works on it. `token`: the fencing token under which its result is recorded. */
export function closeStep(
  tx: Tx,
  workspaceId: string,
  step: OpenStep,
  { outcome, token, reason }: { outcome: StepOutcome; token?: bigint; reason?: Reason },
): void {
  const { id, kind, firstTakenAt } = step
  const finishedAt = tx.now()
  tx.unit.update('step', id, { finishedAt, outcome, reason: reason ?? null, finishedBy: token ?? null })
  // its builder's lease is over with it
  wakeBuilders(tx, workspaceId, step)
  const ms = firstTakenAt && finishedAt.getTime() - firstTakenAt.getTime()
  tx.ended({ kind, outcome, seconds: ms === null ? null : Math.max(0, ms / 1000) })
}

/** Those who may have it, or have it, look at once. None of a step that is left to nobody. */
export function wakeBuilders(tx: Tx, workspaceId: string, { offeredTo }: Pick<OpenStep, 'offeredTo'>): void {
  if (!offeredTo) return
  for (const id of [offeredTo, workspaceId]) tx.wakeWorkers(buildersOf(id))
}

/** Begins a try under a claim. The first one starts the deadline; the time in which nobody had a lease is added to it. */
export function takeStep(core: Core, tx: Tx, step: Step, claimId: string): Step {
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

/** A try that does not count: its holder lets go of it in good order. */
export function returnStep(tx: Tx, step: Step, claimId: string): void {
  if (step.finishedAt !== null) return
  tx.unit.update('step', step.id, {
    tries: Math.max(step.tries - 1, step.triesGivenBack),
    takenBy: withoutClaim(step, claimId),
    // the deadline of a build that is left to builders runs on
    ...(step.offeredAt ? {} : { pausedAt: tx.now() }),
  })
}

/** The lease under which a step was taken ended at `since`. `counts`: the try does. */
export function recordLostLease(tx: Tx, step: Step, claimId: string, since: Date | null, counts: boolean): void {
  const isTaken = withoutClaim(step, claimId).length < takenBy(step).length
  tx.unit.update('step', step.id, {
    pausedAt: step.pausedAt ?? since,
    ...(isTaken && !counts ? { triesGivenBack: step.triesGivenBack + 1, takenBy: withoutClaim(step, claimId) } : {}),
  })
}

/** Of a step that an older server has opened the column is null. */
const takenBy = (step: Step): string[] => (step.takenBy as string[] | null) ?? []

const withoutClaim = (step: Step, claimId: string) => takenBy(step).filter((id) => id !== claimId)
