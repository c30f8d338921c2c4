/** Opens, takes and closes steps: the pieces of work of the data plane. At most one per deployment is open (a unique index holds it). */
import type { Deployment, Step } from '../../generated/prisma/client.ts'
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { Core, Tx } from '../context.ts'
import type { Reason } from '../reasons.ts'

/** Tries of one step: a lost worker that is not heard of again costs one, a release none. */
export const MAX_TRIES = 3

/** Whether the tries of a step are used up: whoever would take it anew fails it instead. */
export const isExhausted = ({ tries, triesGivenBack }: Step) => tries - triesGivenBack >= MAX_TRIES

/** Seconds before a failed teardown is tried again: 5, 10, 20 … 600. */
const backOff = (failures: number) => Math.min(600, 5 * 2 ** (failures - 1))

/** Opens a step. `failures`: how often the same was tried in vain; it is not handed out before its back-off is over. */
export async function openStep(
  tx: Tx,
  deployment: Deployment,
  kind: StepKind,
  revisionId: string | null,
  failures = 0,
): Promise<void> {
  await tx.sql.$executeRaw`
    INSERT INTO steps (id, deployment_id, kind, revision_id, created_at, not_before)
    VALUES (gen_random_uuid(), ${deployment.id}::uuid, ${kind}::"StepKind", ${revisionId}::uuid, now(),
            CASE WHEN ${failures}::int > 0 THEN now() + make_interval(secs => ${backOff(failures)}) END)`
  await touch(tx, deployment)
}

/** Closes a step, whoever works on it: a holder is told to stop with its next heartbeat. */
export async function closeStep(
  tx: Tx,
  deployment: Deployment,
  step: Step,
  how: { outcome: StepOutcome; token?: bigint; reason?: Reason },
): Promise<void> {
  const finishedAt = tx.now()
  await tx.sql.step.update({
    where: { id: step.id },
    data: { finishedAt, outcome: how.outcome, reason: how.reason ?? null, finishedBy: how.token ?? null },
  })
  const ms = step.firstTakenAt && finishedAt.getTime() - step.firstTakenAt.getTime()
  tx.ended({ kind: step.kind, outcome: how.outcome, seconds: ms === null ? null : Math.max(0, ms / 1000) })
  await touch(tx, deployment)
}

/** Closes the open step of a revision, if there is one. */
export async function cancelStepOf(tx: Tx, deployment: Deployment, revisionId: string): Promise<void> {
  const step = await tx.sql.step.findFirst({ where: { deploymentId: deployment.id, revisionId, finishedAt: null } })
  if (step) await closeStep(tx, deployment, step, { outcome: 'cancelled' })
}

/** There is news for the holder: the generation grows and whoever waits is woken. */
export async function touch(tx: Tx, deployment: Deployment): Promise<void> {
  // raw, so that `updated_at` stays what it says: when somebody changed the deployment
  const [row] = await tx.sql.$queryRaw<{ generation: number }[]>`
    UPDATE deployments SET generation = generation + 1 WHERE id = ${deployment.id}::uuid RETURNING generation`
  deployment.generation = row!.generation
  tx.wakeWorkers(deployment.listenerId)
}

/** A step that somebody works on, with the seconds that are left of its time. */
export type TakenStep = Step & { secondsLeft: number }

/**
 * Begins a try under a claim: the first one starts the deadline. Answers the step with the seconds that are left of its
 * time. Times are the database's.
 */
export async function takeStep(core: Core, tx: Tx, step: Step, claimId: string | null): Promise<TakenStep> {
  const minutes = core.settings.deadlineMinutes[step.kind]
  const [row] = await tx.sql.$queryRaw<{ left: number }[]>`
    UPDATE steps SET tries = tries + 1, taken_by = array_append(array_remove(taken_by, ${claimId}::uuid), ${claimId}::uuid),
           first_taken_at = coalesce(first_taken_at, now()),
           deadline_at = coalesce(deadline_at, now() + make_interval(secs => ${minutes * 60}::float8))
    WHERE id = ${step.id}::uuid RETURNING extract(epoch FROM deadline_at - clock_timestamp())::float8 AS left`
  return { ...(await tx.sql.step.findUniqueOrThrow({ where: { id: step.id } })), secondsLeft: row!.left }
}
