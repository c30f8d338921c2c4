/** Records what holders report with their heartbeats: restarts of agents, stalled queues, and deploys that wait for old pods. */
import type { Health, HeartbeatItem } from '../protocol/protocol.ts'
import { agentsRestarted, queueStalled } from '../repositories/deployment.ts'
import type { Scope } from '../repositories/lease.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import type { Tx, WriteCore } from '../transaction/context.ts'
import { countRestarts, type StoredRestarts } from '../values/agent-restart.ts'
import { holderOf } from '../values/event-types.ts'
import { loadedAggregate } from './claim-state.ts'
import { type ClaimWork, inSharedTransaction } from './claim-work.ts'

const LONGEST_DEPLOY_MS = 24 * 3_600_000

const WORK: ClaimWork<HeartbeatItem, null> = {
  assigns: false,
  async record(tx, { deployment }, { restarts = [], health, secondsLeft }) {
    if (secondsLeft !== undefined) extendDeploy(tx, deployment, secondsLeft)
    const counted = recordRestarts(tx, deployment, restarts)
    if (isStalled(health)) recordStall(tx, counted, health)
    return null
  },
}

const isStalled = (health: Health | undefined): health is Health => health?.reason === 'QUEUE_STALLED'

function extendDeploy(tx: Tx, deployment: LockedDeployment, secondsLeft: number): void {
  const step = loadedAggregate(tx, deployment).steps.find(({ id }) => id === deployment.busyStepId)
  if (step?.kind !== 'DEPLOY' || !step.firstTakenAt || !step.deadlineAt) return
  const now = tx.now().getTime()
  const until = Math.min(now + secondsLeft * 1000, step.firstTakenAt.getTime() + LONGEST_DEPLOY_MS)
  const isOverdue = step.deadlineAt.getTime() < now
  if (!isOverdue && until > step.deadlineAt.getTime()) tx.unit.update('step', step.id, { deadlineAt: new Date(until) })
}

function recordRestarts(
  tx: Tx,
  deployment: LockedDeployment,
  reports: NonNullable<HeartbeatItem['restarts']>,
): LockedDeployment {
  const { id: deploymentId, workspaceId, listenerId } = deployment
  const { restarts, events } = countRestarts(deployment.restarts as StoredRestarts | null, reports, tx.now())
  if (restarts === null || restarts === (deployment.restarts as unknown)) return deployment
  for (const event of events)
    tx.emit({ ...event, type: 'agent.restarted', workspaceId, deploymentId, actor: holderOf(listenerId) })
  return agentsRestarted(tx, deployment, restarts)
}

/** The health is stored with the event, so later reports of the same stall write nothing. */
function recordStall(tx: Tx, deployment: LockedDeployment, health: Health): void {
  const { id: deploymentId, workspaceId, listenerId } = deployment
  if ((deployment.health as Health | null)?.reason === 'QUEUE_STALLED') return
  queueStalled(tx, deployment, health)
  const { reason, message } = health
  tx.emit({ type: 'queue.stalled', workspaceId, deploymentId, reason, message, actor: holderOf(listenerId) })
}

/** Skips locked deployments: holders repeat their reports, and a lease must not wait for a lock. */
export async function recordReports(core: WriteCore, scope: Scope, claims: readonly HeartbeatItem[]): Promise<void> {
  const reporting = claims.filter(
    ({ restarts, health, secondsLeft }) =>
      (restarts && restarts.length > 0) || isStalled(health) || secondsLeft !== undefined,
  )
  if (reporting.length > 0) await inSharedTransaction(core, scope, reporting, WORK)
}
