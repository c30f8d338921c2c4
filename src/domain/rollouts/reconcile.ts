/**
 * The reconciler: reads what is so, asks plan.ts what is to be done, and does it, in the caller's transaction and under
 * the deployment's lock. Every write to a deployment ends with this.
 */
import type { Revision, Step } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { describeOverload } from '../../platform/async/overload.ts'
import { isSilent } from '../deployment-status/status.ts'
import * as row from '../repositories/deployment.ts'
import { factsOf } from '../repositories/locked-aggregate.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { explainWait, transition } from '../revisions/transition.ts'
import type { Core, Tx } from '../transaction/context.ts'
import type { ActorRef } from '../values/event-actor.ts'
import { type Explanation, explain, type ListenerFacts } from '../values/explanation.ts'
import { isOpen } from '../values/lifecycle.ts'
import { buildersFor } from './available-builders.ts'
import { queueImageRemoval } from './image-removals.ts'
import { type Action, after, plan, type RuleFailure, type State } from './plan.ts'
import { closeStep, openStep } from './steps.ts'
import { findWaits } from './wait-explanations.ts'

/** A locked deployment and what the rules look at. Each action answers with the next one. */
export interface Situation {
  deployment: LockedDeployment
  state: State<Revision>
}

/** Does what is to be done. Done twice in a row, the second changes nothing. */
export async function reconcile(core: Core, tx: Tx, deployment: LockedDeployment): Promise<LockedDeployment> {
  return deployment.tornDownAt ? deployment : settle(core, tx, await readSituation(core, tx, deployment))
}

/** What is so. One statement, or none where the transaction knows it. */
export async function readSituation(core: Core, tx: Tx, deployment: LockedDeployment): Promise<Situation> {
  const { deletedAt, provisionedAt, tornDownAt } = deployment
  // whether there is anything to tear down, and how often that failed, only matters once it is deleted
  const { steps, revisions } = await factsOf(tx, deployment, { begun: deletedAt !== null })
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

/** ms in which a step is taken while a worker is there: until then nobody is missed */
const PICKUP_GRACE_MS = 10_000

/** Whether so long nobody has had a lease for a step that was taken. */
function isAbandonedStep({ clock }: Core, { leaseExpiresAt }: LockedDeployment, step: Step): boolean {
  if (!step.firstTakenAt || step.offeredAt || (leaseExpiresAt && leaseExpiresAt > clock())) return false
  const since = step.pausedAt ?? leaseExpiresAt
  return since !== null && clock().getTime() - since.getTime() >= PICKUP_GRACE_MS
}

/**
 * Does `first`, on behalf of `actor` (absent: the system), then whatever the plan asks for. Says of all that still waits
 * what it waits for.
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

/** Does these, in order, and nothing else. */
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
  const next = after(state, action)
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
      if (state.step) closeStep(tx, workspaceId, state.step, action)
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
      // the step has the reason that it failed for; this one says that it is tried again
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

/** With the facts that only the database, the settings and the deployment know. `said`: what it waited for, as far as that was said. */
async function render(
  core: Core,
  tx: Tx,
  deployment: LockedDeployment,
  why: Explanation | RuleFailure,
  said: string | null = null,
): Promise<Explanation> {
  if (!('kind' in why)) return why
  const { reason, kind } = why
  switch (reason) {
    case 'NO_RUNTIME':
      // only these can have a listener, and only from the start
      return explain(reason, { listenerWouldDo: deployment.source === 'external_container' && !deployment.deletedAt })
    case 'NOBODY_TOOK_IT':
      return why.offered
        ? explain(reason, { minutes: core.settings.builderWaitMinutes, ...(await buildersFor(tx, deployment)) })
        : explain(reason, { listener: await listenerOf(core, tx, deployment) })
    case 'DEADLINE':
      return explain(reason, {
        kind,
        minutes: core.settings.deadlineMinutes[kind],
        last: why.last ?? said ?? overloadOf(core, deployment),
        unbuilt: why.offered ?? false,
      })
  }
}

/** Why the built-in worker of this server was slow; null: it was not, or it is a listener's work. */
function overloadOf({ admission, overload }: Core, { listenerId }: LockedDeployment): string | null {
  if (listenerId !== null || !admission || !overload?.now) return null
  const text = describeOverload(overload.now)
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

/** Who has to take the step: the deployment's listener, or a built-in worker. Null: nobody is missed yet. */
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

async function listenerOf(core: Core, tx: Tx, deployment: LockedDeployment): Promise<ListenerFacts | null> {
  if (deployment.listenerId === null) return null
  const { listener } = await factsOf(tx, deployment)
  if (!listener) throw new Error(`listener ${deployment.listenerId} is gone`)
  const { computeId, lastSeenAt } = listener
  return { computeId, lastSeenAt, silent: isSilent(listener, core.clock()) }
}
