/**
 * A holder reports how its step ended. Recorded once, under its fencing token, only by who took the step and only while
 * it is open: one that was interrupted, superseded or ran out of time in the meantime records nothing but the commit of
 * a build.
 */
import type { Step } from '../../generated/prisma/client.ts'
import { type Core, type Tx, transaction } from '../context/context.ts'
import { rejectIfAny, type Violation } from '../core/errors.ts'
import { violation } from '../core/parse.ts'
import { holderOf } from '../model/event-actor.ts'
import { asReported } from '../model/explanation.ts'
import { FAILED_STEP } from '../model/reasons.ts'
import type { Assignment, CompleteAnswer, CompleteRequest } from '../protocol/protocol.ts'
import { keepArtifact, loseArtifact } from '../rollouts/artifacts.ts'
import { type Action, fail, isExhausted, late, type State, succeed } from '../rollouts/plan.ts'
import { look, settle } from '../rollouts/reconcile.ts'
import { noLongerBusy } from '../rows/deployment.ts'
import type { Scope } from '../rows/lease.ts'
import { type LockedDeployment, lockClaimed } from '../rows/locks.ts'
import { assign } from './assignment.ts'
import { withTriesBack } from './liveness.ts'

/** Throws ClaimLostError, and ValidationError for what this kind of step has to bring. Said twice (a lost answer), the second is answered like the first. */
export async function complete(core: Core, scope: Scope, request: CompleteRequest): Promise<CompleteAnswer> {
  const work = async (tx: Tx) => {
    const locked = await lockClaimed(tx, scope, request)
    const step = await tx.sql.step.findFirst({ where: { id: request.stepId, deploymentId: locked.id } })
    if (step) rejectIfAny(await reportViolations(tx, step, request))
    const { recorded, deployment } = await report(core, tx, locked, step, request)
    return { recorded, assignment: deployment.tornDownAt ? nothing(deployment) : await assign(core, tx, deployment) }
  }
  return withTriesBack(core, scope, request, () => transaction(core, work))
}

interface Reported {
  recorded: boolean
  deployment: LockedDeployment
}

async function report(
  core: Core,
  tx: Tx,
  locked: LockedDeployment,
  step: Step | null,
  request: CompleteRequest,
): Promise<Reported> {
  // said again because the answer got lost, it may have been taken anew meanwhile
  const current = request.tries === undefined || request.tries === step?.tries
  const working = locked.busyStepId === request.stepId && current
  const built = step?.kind === 'BUILD' ? step.revisionId : null
  const deployment = working ? await noLongerBusy(tx, locked, built, request.repoCommitSha ?? null) : locked
  if (step?.finishedAt) return { recorded: step.finishedBy === BigInt(request.token), deployment }
  return step && working ? record(core, tx, deployment, step, request) : { recorded: false, deployment }
}

/** What has to be checked of a report once its step is known. */
async function reportViolations(
  tx: Tx,
  step: Step,
  { outcome, artifact, repoCommitSha }: CompleteRequest,
): Promise<Violation[]> {
  if (step.kind !== 'BUILD' || outcome !== 'succeeded') return []
  const missing = (field: string) => violation(field, 'Required for a BUILD that succeeded.', 'missing')
  return [
    ...(artifact ? [] : [missing('artifact')]),
    ...(repoCommitSha || !(await isOfGit(tx, step)) ? [] : [missing('repo_commit_sha')]),
  ]
}

/** Whether its source has commits at all. */
async function isOfGit(tx: Tx, step: Step): Promise<boolean> {
  const { source } = await tx.sql.revision.findUniqueOrThrow({ where: { id: step.revisionId! } })
  return source === 'gitprovider'
}

const nothing = ({ generation }: LockedDeployment): Assignment => ({
  generation,
  run: null,
  step: null,
  stop: false,
  keepArtifacts: [],
})

/** `step`: the open one. */
async function record(
  core: Core,
  tx: Tx,
  deployment: LockedDeployment,
  step: Step,
  request: CompleteRequest,
): Promise<Reported> {
  const { outcome, artifact, artifactLost, message } = request
  if (outcome === 'stopped' && !(message && isExhausted(step))) return { recorded: false, deployment }
  const [row] = await tx.sql.$queryRaw<
    { late: boolean }[]
  >`SELECT deadline_at < now() AS late FROM steps WHERE id = ${step.id}::uuid`
  const isLate = row?.late === true
  if (step.revisionId && !isLate) {
    if (outcome !== 'succeeded' && artifactLost) await loseArtifact(tx, deployment.id, step.revisionId)
    if (outcome === 'succeeded' && step.kind === 'BUILD') await keepArtifact(tx, step.revisionId, artifact ?? null)
  }
  const situation = await look(core, tx, deployment)
  const actions = isLate ? fail(situation.state, late(step.kind)) : reported(situation.state, step, request)
  // what the clock has decided is not the holder's doing
  const actor = isLate ? undefined : holderOf(deployment.listenerId)
  return { recorded: !isLate, deployment: await settle(core, tx, situation, actions, actor) }
}

/** What comes of the holder's word. */
function reported(state: State, { kind }: Step, request: CompleteRequest): Action[] {
  const token = BigInt(request.token)
  if (request.outcome === 'succeeded') return succeed(state, token, request)
  // an older worker has no word for it, or a newer one a word that is not known here
  return fail(
    state,
    asReported(request.reason ?? FAILED_STEP[kind], request.message ?? 'The worker gave no reason.'),
    token,
  )
}
