/** Records a holder's report on how a step ended (README.md). A closed step accepts only a build's commit and plan. */
import type { Step } from '../../generated/prisma/client.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import { FAILED_STEP } from '../errors/reasons.ts'
import { violationUnless } from '../parsing/parse.ts'
import type { Assignment, CompleteAnswer, CompleteRequest } from '../protocol/protocol.ts'
import { noLongerBusy } from '../repositories/deployment.ts'
import type { Scope } from '../repositories/lease.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { buildersFor, offerToBuilders } from '../rollouts/builder-offers.ts'
import { type Action, deadlineFailure, fail, isExhausted, type State, succeed } from '../rollouts/plan.ts'
import { readSituation, settle } from '../rollouts/reconcile.ts'
import { returnStep } from '../rollouts/steps.ts'
import { type Core, type RequestContext, type Tx, WORK_CHANNEL } from '../transaction/context.ts'
import { holderOf } from '../values/event-types.ts'
import { asReported } from '../values/explanation.ts'
import { commitWords } from '../values/revision-source.ts'
import { assign, forgetLostArtifact, pruneArtifacts, recordArtifact } from './assignment.ts'
import { type ClaimState, loadedAggregate } from './claim-state.ts'
import { type ClaimWork, inOwnTransaction, inSharedTransaction, unwrap } from './claim-work.ts'
import { returningLostTry } from './liveness.ts'

/**
 * Throws ClaimLostError, and ValidationError for missing fields. A repeated report gets the same answer. Reports that arrive
 * while others of the scope are being recorded share the next transaction.
 */
export function complete(
  core: Core & Pick<RequestContext, 'yieldTurn'>,
  scope: Scope,
  request: CompleteRequest,
): Promise<CompleteAnswer> {
  const work = completionWork(core)
  const record = async () => {
    // a report that must wait for a lock runs alone
    const shared = await core.gather?.(
      `complete ${scope.listenerId}`,
      request,
      (requests: readonly CompleteRequest[]) => inSharedTransaction(core, scope, requests, work),
      // without yielding, a transaction would hold no more reports than one key may have running
      core.yieldTurn,
    )
    const answer = unwrap(shared ?? (await inOwnTransaction(core, scope, request, work)))
    // on an overloaded server, other steps wait for this one to end
    if (core.overload?.now) core.wake([`${WORK_CHANNEL} ${scope.listenerId ?? ''}`])
    return answer
  }
  return returningLostTry(core, scope, request, record)
}

function completionWork(core: Core): ClaimWork<CompleteRequest, CompleteAnswer> {
  return {
    assigns: true,
    request: ({ stepId, outcome, artifactLost }) => ({ stepId, artifactLost: artifactLost && outcome !== 'succeeded' }),
    check(claimState, request) {
      if (claimState.requestedStep)
        rejectIfAny(reportViolations(claimState.deployment, claimState.requestedStep, request))
    },
    async record(tx, claimState, request) {
      const { recorded, deployment, removedArtifacts } = await report(core, tx, claimState, request)
      const assignment = deployment.tornDownAt
        ? emptyAssignment(deployment)
        : await assign(core, tx, claimState, deployment, new Set(removedArtifacts))
      return { recorded, assignment }
    },
  }
}

interface Reported {
  recorded: boolean
  deployment: LockedDeployment
  /** names of forgotten or lost artifacts */
  removedArtifacts?: readonly string[]
}

async function report(core: Core, tx: Tx, claimState: ClaimState, request: CompleteRequest): Promise<Reported> {
  const { deployment: locked, requestedStep: step } = claimState
  // a repeated report may refer to an earlier try of the step
  const current = request.tries === undefined || request.tries === step?.tries
  const working = locked.busyStepId === request.stepId && current
  if (step && working) return recordReport(core, tx, claimState, noLongerBusy(tx, locked), step, request)
  // a repeated `elsewhere` report succeeds, even after a builder ended the step
  if (request.elsewhere && step?.offeredTo) return { recorded: true, deployment: locked }
  return { recorded: step?.finishedBy === BigInt(request.token), deployment: locked }
}

/** Records a report of the current or last holder. Keeps commit and plan even if the outcome no longer counts. */
export async function recordReport(
  core: Core,
  tx: Tx,
  claimState: ClaimState,
  deployment: LockedDeployment,
  step: Step,
  request: CompleteRequest,
): Promise<Reported> {
  pinCommit(tx, claimState, request)
  recordBuildPlan(tx, claimState, request)
  if (step.finishedAt) return { recorded: step.finishedBy === BigInt(request.token), deployment }
  return record(core, tx, claimState, deployment, step, request)
}

/** After any outcome, stores the commit on all revisions of this source without one. It never changes later. */
function pinCommit(
  tx: Tx,
  claimState: ClaimState,
  { repoCommitSha, commitMessage, commitAuthor }: CompleteRequest,
): void {
  const { requestedStep: step, siblings, withoutMessage, deployment } = claimState
  if (step?.kind !== 'BUILD' || !repoCommitSha) return
  const words = commitWords(commitMessage, commitAuthor)
  const pinned = loadedAggregate(tx, deployment).revisions.find(({ id }) => id === step.revisionId)?.repoCommitSha
  for (const id of siblings) tx.unit.update('revision', id, { repoCommitSha, ...words })
  // the message belongs to the stored commit; a holder may report another one
  if (pinned === repoCommitSha && words.commitMessage)
    for (const id of withoutMessage) tx.unit.update('revision', id, { ...words })
}

/** After any outcome, stores a build's plan on all revisions of its source. */
function recordBuildPlan(tx: Tx, { requestedStep: step, siblings }: ClaimState, { buildPlan }: CompleteRequest): void {
  if (step?.kind !== 'BUILD' || !buildPlan) return
  for (const id of siblings) tx.unit.update('revision', id, { buildPlan })
}

function reportViolations(
  { source }: LockedDeployment,
  { kind }: Step,
  { outcome, artifact, repoCommitSha }: CompleteRequest,
): Violation[] {
  if (kind !== 'BUILD' || outcome !== 'succeeded') return []
  const message = 'Required for a BUILD that succeeded.'
  // other sources have no commits
  const hasCommit = Boolean(repoCommitSha) || source !== 'gitprovider'
  return [
    ...violationUnless(Boolean(artifact), 'artifact', message, 'missing'),
    ...violationUnless(hasCommit, 'repo_commit_sha', message, 'missing'),
  ]
}

const emptyAssignment = ({ generation }: LockedDeployment): Assignment => ({
  generation,
  run: null,
  step: null,
  stop: false,
  keepArtifacts: [],
})

/** `step` is open. */
async function record(
  core: Core,
  tx: Tx,
  claimState: ClaimState,
  deployment: LockedDeployment,
  step: Step,
  request: CompleteRequest,
): Promise<Reported> {
  const { outcome, artifact, artifactLost, message } = request
  if (outcome === 'stopped' && !(message && isExhausted(step))) return { recorded: false, deployment }
  const isLate = step.deadlineAt !== null && step.deadlineAt < claimState.begunAt
  // without a registry, builders could not push
  if (request.elsewhere && step.kind === 'BUILD' && !isLate && core.registry) {
    const builders = await buildersFor(tx, deployment)
    if (builders.there) {
      returnStep(tx, step, request.claimId)
      return { recorded: true, deployment: await offerToBuilders(core, tx, deployment, step, builders) }
    }
  }
  const removedArtifacts: string[] = []
  if (step.revisionId && !isLate) {
    if (outcome !== 'succeeded' && artifactLost && step.kind !== 'BUILD')
      removedArtifacts.push(...forgetLostArtifact(tx, claimState, step.revisionId))
    if (outcome === 'succeeded' && step.kind === 'BUILD')
      recordArtifact(tx, claimState, step.revisionId, artifact ?? null)
  }
  if (deployment.listenerId === null) core.admission?.ended()
  const situation = await readSituation(core, tx, deployment)
  const actions = isLate
    ? fail(situation.state, deadlineFailure(step, outcome === 'succeeded' ? undefined : message))
    : actionsOfReport(situation.state, step, request)
  // the system ends a step after its deadline, not the holder
  const actor = isLate ? undefined : holderOf(deployment.listenerId)
  const settled = await settle(core, tx, situation, actions, actor)
  const deployed = actions.find((action) => action.do === 'deployed')
  if (deployed) removedArtifacts.push(...pruneArtifacts(tx, claimState, deployed.revisionId))
  return { recorded: !isLate, deployment: settled, removedArtifacts }
}

function actionsOfReport(state: State, { kind }: Step, request: CompleteRequest): Action[] {
  const token = BigInt(request.token)
  if (request.outcome === 'succeeded') return succeed(state, token, request)
  // an older worker sends no reason, a newer one may send an unknown reason
  return fail(
    state,
    asReported(request.reason ?? FAILED_STEP[kind], request.message ?? 'The worker gave no reason.'),
    token,
  )
}
