/**
 * The reconciler: reads the state of a locked deployment, asks plan.ts for the due actions, and applies them in the caller's
 * transaction. Every write to a deployment ends with it.
 */
import type { Revision, Step } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { describeOverload } from '../../platform/async/overload.ts'
import { isSilent } from '../deployment-status/status.ts'
import * as row from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { traceStep } from '../revisions/traces.ts'
import { explainWait, transition } from '../revisions/transition.ts'
import type { Core, ReadCore, Tx } from '../transaction/context.ts'
import type { ActorRef } from '../values/event-types.ts'
import { type Explanation, explain, type ListenerFacts } from '../values/explanation.ts'
import { isOpen } from '../values/lifecycle.ts'
import { buildersFor } from './builder-offers.ts'
import { queueImageRemoval } from './image-removals.ts'
import { type Action, plan, type RuleFailure, type State, stateAfter } from './plan.ts'
import { closeStep, openStep } from './steps.ts'
import { findWaits } from './wait-explanations.ts'

/** A locked deployment and its state. Each action returns the next situation. */
export interface Situation {
  deployment: LockedDeployment
  state: State<Revision>
}

/** Applies all due actions. A second call changes nothing. */
export async function reconcile(core: Core, tx: Tx, deployment: LockedDeployment): Promise<LockedDeployment> {
  return deployment.tornDownAt ? deployment : settle(core, tx, await readSituation(core, tx, deployment))
}

/** Reads the state: one statement, or none if the transaction has loaded the deployment. */
export async function readSituation(core: ReadCore, tx: Tx, deployment: LockedDeployment): Promise<Situation> {
  const { deletedAt, provisionedAt, tornDownAt } = deployment
  // the rules look at finished steps only after the deletion
  const { steps, revisions } = await lockedAggregate(tx, deployment, { withEndedSteps: deletedAt !== null })
  const open = revisions.filter(isOpen).sort((a, b) => a.rollout - b.rollout)
  const step = steps.find(({ finishedAt }) => finishedAt === null) ?? null
  const state: State<Revision> = {
    hasRuntime: deployment.listenerId !== null || core.settings.runtime !== 'none',
    provisioned: provisionedAt !== null,
    deleted: deletedAt !== null,
    tornDown: tornDownAt !== null,
    open,
    step,
    isAbandoned: step !== null && isAbandonedStep(core, deployment, step),
    stepsTaken: steps.filter(({ firstTakenAt }) => firstTakenAt !== null).length,
    teardownFailures: steps.filter(({ kind, outcome }) => kind === 'TEARDOWN' && outcome === 'failed').length,
    showsTeardownFailure: deployment.reason === 'TEARDOWN_FAILED',
  }
  return { deployment, state }
}

/** A worker takes a step within this time. The status names a missing worker only after it. */
const PICKUP_GRACE_MS = 10_000

/** Whether a taken step has had no lease for that long. */
function isAbandonedStep({ clock }: ReadCore, { leaseExpiresAt }: LockedDeployment, step: Step): boolean {
  if (!step.firstTakenAt || step.offeredAt || (leaseExpiresAt && leaseExpiresAt > clock())) return false
  const since = step.pausedAt ?? leaseExpiresAt
  return since !== null && clock().getTime() - since.getTime() >= PICKUP_GRACE_MS
}

/**
 * Applies `first` on behalf of `actor` (absent: the system), then all due actions. Updates the explanation of everything
 * that waits.
 */
export async function settle(
  core: Core,
  tx: Tx,
  situation: Situation,
  first: readonly Action[] = [],
  actor?: ActorRef,
): Promise<LockedDeployment> {
  const begun = await apply(core, tx, situation, first, actor)
  const planned = plan(begun.state)
  const { deployment, state } = await apply(core, tx, begun, planned)
  const holderConcerned = [...first, ...planned].some(
    (action) => action.do === 'open step' || action.do === 'close step',
  )
  return explainWaits(core, tx, {
    deployment: holderConcerned ? row.notifyHolder(tx, deployment) : deployment,
    state,
  })
}

/** Applies exactly these actions, in order. */
export async function apply(
  core: Core,
  tx: Tx,
  situation: Situation,
  actions: readonly Action[],
  actor?: ActorRef,
): Promise<Situation> {
  let now = situation
  for (const action of actions) now = await perform(core, tx, now, action, actor)
  return now
}

async function perform(
  core: Core,
  tx: Tx,
  { deployment, state }: Situation,
  action: Action,
  actor: ActorRef | undefined,
): Promise<Situation> {
  const { id: deploymentId, workspaceId } = deployment
  const next = stateAfter(state, action)
  switch (action.do) {
    case 'move': {
      const { revisionId, to, why, by } = action
      const { statusMessage } = revisionOf(state, revisionId)
      const explanation = why && (await render(core, tx, deployment, why, statusMessage))
      const moved = transition(tx, workspaceId, revisionOf(state, revisionId), {
        to,
        explanation,
        actor,
        supersededById: by,
      })
      return {
        deployment: row.moved(tx, deployment, revisionId, to),
        state: { ...next, open: next.open.map((r) => (r.id === moved.id ? moved : r)) },
      }
    }
    case 'open step':
      openStep(tx, deploymentId, action.kind, action.revisionId, state.teardownFailures)
      return { deployment, state: next }
    case 'close step':
      if (state.step) {
        closeStep(tx, workspaceId, state.step, action)
        traceStep(tx, deploymentId, state.step, action)
      }
      return { deployment, state: next }
    case 'provisioned':
      tx.emit({ workspaceId, type: 'deployment.provisioned', deploymentId, actor })
      return { deployment: row.provisioned(tx, deployment), state: next }
    case 'deployed': {
      transition(tx, workspaceId, revisionOf(state, action.revisionId), { to: 'DEPLOYED', actor })
      const done = row.moved(tx, deployment, action.revisionId, 'DEPLOYED')
      const active = row.deployed(tx, done, action.revisionId, action.report)
      return { deployment: active, state: next }
    }
    case 'teardown failed': {
      // the step stores why it failed; the deployment says that the teardown is retried
      const { message: why } = await render(core, tx, deployment, action.why)
      return { deployment: row.teardownFailed(tx, deployment, explain('TEARDOWN_FAILED', { why })), state: next }
    }
    case 'torn down':
      tx.emit({ workspaceId, type: 'deployment.torn_down', deploymentId, actor })
      await queueImageRemoval(core, tx, deployment)
      return { deployment: row.tornDown(tx, deployment), state: next }
  }
}

const revisionOf = ({ open }: State<Revision>, id: string): Revision => {
  const revision = open.find((r) => r.id === id)
  if (!revision) throw new Error(`revision ${id} is not open`)
  return revision
}

async function explainWaits(core: Core, tx: Tx, { deployment, state }: Situation): Promise<LockedDeployment> {
  let explained = deployment
  for (const { revisionId, explanation: why } of findWaits(state)) {
    const explanation =
      why &&
      ('step' in why
        ? await explainStepWait(core, tx, deployment, state, why.step)
        : await render(core, tx, deployment, why))
    if (revisionId === null) explained = row.explainTeardown(tx, explained, explanation)
    else explainWait(tx, revisionOf(state, revisionId), explanation)
  }
  return explained
}

/** Completes an explanation with facts from the database and the settings. `shownMessage`: the message that is shown now. */
async function render(
  core: Core,
  tx: Tx,
  deployment: LockedDeployment,
  why: Explanation | RuleFailure,
  shownMessage: string | null = null,
): Promise<Explanation> {
  if (!('kind' in why)) return why
  const { reason, kind } = why
  switch (reason) {
    case 'NO_RUNTIME':
      // only external_container can have a listener, and only from its creation
      return explain(reason, { listenerWouldDo: deployment.source === 'external_container' && !deployment.deletedAt })
    case 'NOBODY_TOOK_IT':
      return why.offered
        ? explain(reason, { minutes: core.settings.builderWaitMinutes, ...(await buildersFor(tx, deployment)) })
        : explain(reason, { listener: await listenerOf(core, tx, deployment) })
    case 'DEADLINE':
      return explain(reason, {
        kind,
        minutes: core.settings.deadlineMinutes[kind],
        last: why.last ?? shownMessage ?? overloadOf(core, deployment),
        unbuilt: why.offered ?? false,
      })
  }
}

/** Why this server's built-in worker is slow; null: it is not, or a listener does the work. */
function overloadOf({ admission, overload }: Core, { listenerId }: LockedDeployment): string | null {
  if (listenerId !== null || !admission || !overload?.now) return null
  const text = describeOverload(overload.now)
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

/** Explains which worker a step waits for; null: it was opened too recently for a worker to be missing. */
async function explainStepWait(
  core: Core,
  tx: Tx,
  deployment: LockedDeployment,
  { step, isAbandoned }: State,
  kind: StepKind,
): Promise<Explanation | null> {
  const listener = await listenerOf(core, tx, deployment)
  if (!listener) {
    const refusal = core.admission?.refusal(kind)
    if (refusal) return refusal
    const isMissed =
      isAbandoned || core.clock().getTime() - (step?.createdAt ?? core.clock()).getTime() >= PICKUP_GRACE_MS
    return isMissed ? explain('WAITING_FOR_WORKER', { kind }) : null
  }
  return explain(listener.silent ? 'LISTENER_SILENT' : 'WAITING_FOR_LISTENER', { kind, listener })
}

async function listenerOf(core: ReadCore, tx: Tx, deployment: LockedDeployment): Promise<ListenerFacts | null> {
  if (deployment.listenerId === null) return null
  const { listener } = await lockedAggregate(tx, deployment)
  if (!listener) throw new Error(`listener ${deployment.listenerId} is gone`)
  const { computeId, lastSeenAt } = listener
  return { computeId, lastSeenAt, silent: isSilent(listener, core.clock()) }
}
