/**
 * A holder reports how its step ended. Recorded once, under its fencing token, only by who took the step and only while
 * it is open: one that was interrupted, superseded or ran out of time in the meantime records nothing but the commit of
 * a build.
 */
import type { Step } from '../../generated/prisma/client.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'
import type { Assignment, CompleteAnswer, CompleteRequest } from '../protocol/protocol.ts'
import { noLongerBusy } from '../repositories/deployment.ts'
import type { Scope } from '../repositories/lease.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { buildersFor } from '../rollouts/available-builders.ts'
import { offerToBuilders } from '../rollouts/builder-offers.ts'
import { type Action, deadlinePassed, fail, isExhausted, type State, succeed } from '../rollouts/plan.ts'
import { readSituation, settle } from '../rollouts/reconcile.ts'
import { returnStep } from '../rollouts/steps.ts'
import { type Core, type RequestContext, type Tx, WORK_CHANNEL } from '../transaction/context.ts'
import { holderOf } from '../values/event-actor.ts'
import { asReported } from '../values/explanation.ts'
import { FAILED_STEP } from '../values/reasons.ts'
import { commitWords } from '../values/revision-source.ts'
import { forgetLostArtifact, pruneArtifacts, recordArtifact } from './artifacts.ts'
import { assign } from './assignment.ts'
import { type ClaimState, knownOf } from './claim-state.ts'
import { type ClaimWork, inOwnTransaction, inSharedTransaction, unwrap } from './claim-work.ts'
import { returningLostTry } from './liveness.ts'

/**
 * Throws ClaimLostError, and ValidationError for what this kind of step has to bring. Said twice (a lost answer), the second is
 * answered like the first. What comes while others of the same scope are being recorded is recorded together.
 */
export function complete(
  core: Core & Pick<RequestContext, 'yieldTurn'>,
  scope: Scope,
  request: CompleteRequest,
): Promise<CompleteAnswer> {
  const work = completionWork(core)
  const record = async () => {
    // whoever has to wait for somebody else does so without the others
    const shared = await core.gather?.(
      `complete ${scope.listenerId}`,
      request,
      (requests: readonly CompleteRequest[]) => inSharedTransaction(core, scope, requests, work),
      // else no more would share a transaction than may be worked on of one key
      core.yieldTurn,
    )
    const answer = unwrap(shared ?? (await inOwnTransaction(core, scope, request, work)))
    // on an overloaded server others wait for the end of this step
    if (core.overload?.now) core.wake([`${WORK_CHANNEL} ${scope.listenerId ?? ''}`])
    return answer
  }
  return returningLostTry(core, scope, request, record)
}

function completionWork(core: Core): ClaimWork<CompleteRequest, CompleteAnswer> {
  return {
    assigns: true,
    request: ({ stepId, outcome, artifactLost }) => ({ stepId, artifactLost: artifactLost && outcome !== 'succeeded' }),
    check(held, request) {
      if (held.requestedStep) rejectIfAny(reportViolations(held.deployment, held.requestedStep, request))
    },
    async record(tx, held, request) {
      const { recorded, deployment, gone } = await report(core, tx, held, request)
      const assignment = deployment.tornDownAt
        ? emptyAssignment(deployment)
        : await assign(core, tx, held, deployment, new Set(gone))
      return { recorded, assignment }
    },
  }
}

interface Reported {
  recorded: boolean
  deployment: LockedDeployment
  /** artifacts that are no more */
  gone?: readonly string[]
}

async function report(core: Core, tx: Tx, held: ClaimState, request: CompleteRequest): Promise<Reported> {
  const { deployment: locked, requestedStep: step } = held
  // said again because the answer got lost, it may have been taken anew meanwhile
  const current = request.tries === undefined || request.tries === step?.tries
  const working = locked.busyStepId === request.stepId && current
  if (step && working) return recordReport(core, tx, held, noLongerBusy(tx, locked), step, request)
  // only its holder's word leaves a step to builders, whatever has become of it since
  if (request.elsewhere && step?.offeredTo) return { recorded: true, deployment: locked }
  return { recorded: step?.finishedBy === BigInt(request.token), deployment: locked }
}

/** Of whoever has the step, or had it last. What it has found out is kept also where its outcome counts no more. */
export async function recordReport(
  core: Core,
  tx: Tx,
  held: ClaimState,
  deployment: LockedDeployment,
  step: Step,
  request: CompleteRequest,
): Promise<Reported> {
  pinCommit(tx, held, request)
  recordBuildPlan(tx, held, request)
  if (step.finishedAt) return { recorded: step.finishedBy === BigInt(request.token), deployment }
  return record(core, tx, held, deployment, step, request)
}

/**
 * The commit of a build is kept however that ended, also when its outcome does not count: a revision pins what it is made
 * of, and so do those that have taken its source over. Once it has one it keeps it.
 */
function pinCommit(tx: Tx, held: ClaimState, { repoCommitSha, commitMessage, commitAuthor }: CompleteRequest): void {
  const { requestedStep: step, siblings, withoutMessage, deployment } = held
  if (step?.kind !== 'BUILD' || !repoCommitSha) return
  const words = commitWords(commitMessage, commitAuthor)
  const pinned = knownOf(tx, deployment).revisions.find(({ id }) => id === step.revisionId)?.repoCommitSha
  for (const id of siblings) tx.unit.update('revision', id, { repoCommitSha, ...words })
  // of the commit that was built, and of no other that a holder might name
  if (pinned === repoCommitSha && words.commitMessage)
    for (const id of withoutMessage) tx.unit.update('revision', id, { ...words })
}

/** What a build does is told of all that are made of the same, however it ended. */
function recordBuildPlan(tx: Tx, { requestedStep: step, siblings }: ClaimState, { buildPlan }: CompleteRequest): void {
  if (step?.kind !== 'BUILD' || !buildPlan) return
  for (const id of siblings) tx.unit.update('revision', id, { buildPlan })
}

/** What has to be checked of a report once its step is known. */
function reportViolations(
  { source }: LockedDeployment,
  { kind }: Step,
  { outcome, artifact, repoCommitSha }: CompleteRequest,
): Violation[] {
  if (kind !== 'BUILD' || outcome !== 'succeeded') return []
  const missing = (field: string) => violation(field, 'Required for a BUILD that succeeded.', 'missing')
  return [
    ...(artifact ? [] : [missing('artifact')]),
    // the other sources have no commits
    ...(repoCommitSha || source !== 'gitprovider' ? [] : [missing('repo_commit_sha')]),
  ]
}

const emptyAssignment = ({ generation }: LockedDeployment): Assignment => ({
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
  held: ClaimState,
  deployment: LockedDeployment,
  step: Step,
  request: CompleteRequest,
): Promise<Reported> {
  const { outcome, artifact, artifactLost, message } = request
  if (outcome === 'stopped' && !(message && isExhausted(step))) return { recorded: false, deployment }
  const isLate = step.deadlineAt !== null && step.deadlineAt < held.begunAt
  // without a registry builders have no place to push to
  if (request.elsewhere && step.kind === 'BUILD' && !isLate && core.registry) {
    const builders = await buildersFor(tx, deployment)
    if (builders.there) {
      returnStep(tx, step, request.claimId)
      return { recorded: true, deployment: await offerToBuilders(core, tx, deployment, step, builders) }
    }
  }
  const gone: string[] = []
  if (step.revisionId && !isLate) {
    if (outcome !== 'succeeded' && artifactLost && step.kind !== 'BUILD')
      gone.push(...forgetLostArtifact(tx, held, step.revisionId))
    if (outcome === 'succeeded' && step.kind === 'BUILD') recordArtifact(tx, held, step.revisionId, artifact ?? null)
  }
  if (deployment.listenerId === null) core.admission?.ended()
  const situation = await readSituation(core, tx, deployment)
  const actions = isLate
    ? fail(situation.state, deadlinePassed(step, outcome === 'succeeded' ? undefined : message))
    : actionsOfReport(situation.state, step, request)
  // what the clock has decided is not the holder's doing
  const actor = isLate ? undefined : holderOf(deployment.listenerId)
  const settled = await settle(core, tx, situation, actions, actor)
  const deployed = actions.find((action) => action.do === 'deployed')
  if (deployed) gone.push(...pruneArtifacts(tx, held, deployed.revisionId))
  return { recorded: !isLate, deployment: settled, gone }
}

/** What comes of the holder's word. */
function actionsOfReport(state: State, { kind }: Step, request: CompleteRequest): Action[] {
  const token = BigInt(request.token)
  if (request.outcome === 'succeeded') return succeed(state, token, request)
  // an older worker has no word for it, or a newer one a word that is not known here
  return fail(
    state,
    asReported(request.reason ?? FAILED_STEP[kind], request.message ?? 'The worker gave no reason.'),
    token,
  )
}
