/** The statements that open, take and close steps: the pieces of work of the data plane. Which ones, says plan.ts. */
import { randomUUID } from 'node:crypto'
import type { Step } from '../../generated/prisma/client.ts'
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { Core, Tx } from '../context/context.ts'
import type { Reason } from '../model/reasons.ts'
import type { OpenStep } from './plan.ts'

/** Seconds before a failed teardown is tried again: 5, 10, 20 … 600. */
const backOff = (failures: number) => Math.min(600, 5 * 2 ** (failures - 1))

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
    tries: 0,
    triesGivenBack: 0,
    takenBy: [],
    finishedAt: null,
    outcome: null,
    reason: null,
    finishedBy: null,
  }
  tx.unit.insert('step', step)
  return step
}

/** Closes a step, whoever works on it. `token`: the fencing token under which its result is recorded. */
export function closeStep(
  tx: Tx,
  { id, kind, firstTakenAt }: OpenStep,
  { outcome, token, reason }: { outcome: StepOutcome; token?: bigint; reason?: Reason },
): void {
  const finishedAt = tx.now()
  tx.unit.update('step', id, { finishedAt, outcome, reason: reason ?? null, finishedBy: token ?? null })
  const ms = firstTakenAt && finishedAt.getTime() - firstTakenAt.getTime()
  tx.ended({ kind, outcome, seconds: ms === null ? null : Math.max(0, ms / 1000) })
}

/** A step with the seconds that are left of its time, by the database's clock; null: nobody has taken it yet. */
export type DueStep = Step & { secondsLeft: number | null }

/** The open step, unless its back-off is still running. */
export async function dueStep(tx: Tx, deploymentId: string): Promise<DueStep | null> {
  const [row] = await tx.sql.$queryRaw<{ id: string; left: number | null }[]>`
    SELECT id, extract(epoch FROM deadline_at - clock_timestamp())::float8 AS left FROM steps
    WHERE deployment_id = ${deploymentId}::uuid AND finished_at IS NULL AND (not_before IS NULL OR not_before <= now())`
  return row ? { ...(await tx.sql.step.findUniqueOrThrow({ where: { id: row.id } })), secondsLeft: row.left } : null
}

/** Begins a try under a claim: the first one starts the deadline. Times are the database's. */
export async function takeStep(core: Core, tx: Tx, step: Step, claimId: string | null): Promise<DueStep> {
  const minutes = core.settings.deadlineMinutes[step.kind]
  const [row] = await tx.sql.$queryRaw<{ left: number }[]>`
    UPDATE steps SET tries = tries + 1, taken_by = array_append(array_remove(taken_by, ${claimId}::uuid), ${claimId}::uuid),
           first_taken_at = coalesce(first_taken_at, now()),
           deadline_at = coalesce(deadline_at, now() + make_interval(secs => ${minutes * 60}::float8))
    WHERE id = ${step.id}::uuid RETURNING extract(epoch FROM deadline_at - clock_timestamp())::float8 AS left`
  return { ...(await tx.sql.step.findUniqueOrThrow({ where: { id: step.id } })), secondsLeft: row!.left }
}

/** A try that does not count: its holder lets go of it in good order. */
export async function untakeStep(tx: Tx, id: string, claimId: string): Promise<void> {
  await tx.sql.$executeRaw`
    UPDATE steps SET tries = greatest(tries - 1, tries_given_back), taken_by = array_remove(taken_by, ${claimId}::uuid)
    WHERE id = ${id}::uuid AND finished_at IS NULL`
}
