/** The log kind of the change feed: one log of changed deployments per workspace. */
import { DEPLOYMENTS_CHANNEL } from '../../domain/change-feed/announce.ts'
import {
  type ChangeScope,
  changeCursor,
  type DeploymentChanges,
  lastSequences,
  readDeploymentChanges,
  refuseMissing,
  removedUntil,
} from '../../domain/change-feed/log.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { LogKind } from './log-kind.ts'

/**
 * Logs have the ids of their workspaces. An item is a part of the log; a deployment that changes again moves to its
 * end.
 */
export function deploymentLog(db: Db): LogKind<DeploymentChanges, ChangeScope> {
  return {
    name: 'log of deployments',
    channel: DEPLOYMENTS_CHANNEL,
    positionOf: ({ sequence }) => sequence,
    occurredAt: ({ readAt }) => readAt,
    weightOf: ({ deploymentIds }) => 100 + deploymentIds.length * 80,
    cursorOf: (workspaceId, sequence) => changeCursor({ workspaceId, sequence }),
    newest: (workspaceIds) => lastSequences(db, workspaceIds),
    read: (workspaceId, after, limit, scope) => readDeploymentChanges(db, workspaceId, after, limit, scope),
    throwIfRemoved: async (workspaceId, after) => refuseMissing(after, await removedUntil(db, workspaceId)),
  }
}
