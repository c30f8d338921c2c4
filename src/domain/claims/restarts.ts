/** Records restarts of agents, which holders report with their heartbeats: counts them and emits events. */
import type { HeartbeatItem } from '../protocol/protocol.ts'
import { agentsRestarted } from '../repositories/deployment.ts'
import type { Scope } from '../repositories/lease.ts'
import type { WriteCore } from '../transaction/context.ts'
import { countRestarts, type StoredRestarts } from '../values/agent-restart.ts'
import { holderOf } from '../values/event-types.ts'
import { type ClaimWork, inSharedTransaction } from './claim-work.ts'

const WORK: ClaimWork<HeartbeatItem, null> = {
  assigns: false,
  async record(tx, { deployment }, { restarts: reports = [] }) {
    const { id: deploymentId, workspaceId, listenerId } = deployment
    const { restarts, events } = countRestarts(deployment.restarts as StoredRestarts | null, reports, tx.now())
    if (restarts === null || restarts === (deployment.restarts as unknown)) return null
    agentsRestarted(tx, deployment, restarts)
    for (const event of events)
      tx.emit({ ...event, type: 'agent.restarted', workspaceId, deploymentId, actor: holderOf(listenerId) })
    return null
  },
}

/** Skips locked deployments: holders repeat their reports, and a lease must not wait for a lock. */
export async function recordRestarts(core: WriteCore, scope: Scope, claims: readonly HeartbeatItem[]): Promise<void> {
  const reporting = claims.filter(({ restarts }) => restarts && restarts.length > 0)
  if (reporting.length > 0) await inSharedTransaction(core, scope, reporting, WORK)
}
