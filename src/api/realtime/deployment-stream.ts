/**
 * `deploymentsChanged` (docs/api-rules.md#what-changes-of-deployments): the deployments that changed, in order, none
 * lost, across reconnects, restarts and servers. A returning client gets several changes of one deployment as one.
 */
import {
  changeCursor,
  changesInput,
  type DeploymentChanges,
  type DeploymentsChange,
  readChangeCursor,
  readChangesSnapshot,
  refuseMissing,
} from '../../domain/change-feed/log.ts'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { parse, type RawInput } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

/**
 * Streams the workspace's or one deployment's changes. Role: viewer. Throws ValidationError (also for an expired
 * cursor), NotFoundError, and RATE_LIMITED when the workspace has too many streams.
 */
export async function streamDeploymentChanges(
  ctx: ReadContext,
  raw: RawInput,
  relay: Relay,
): Promise<Stream<DeploymentsChange>> {
  requireRole(ctx, 'viewer')
  const { after: cursor, deployment_id: deploymentId } = parse(changesInput, raw).query
  const workspaceId = ctx.workspace.id
  return relay.deployments.stream(ctx, workspaceId, async () => {
    const read = () => readChangesSnapshot(ctx.db, workspaceId, deploymentId)
    const snapshot = await relay.deployments.state(`${workspaceId} ${deploymentId ?? ''}`, read)
    if (!snapshot.there) throw new NotFoundError('Deployment', deploymentId!)
    const after = cursor === undefined ? null : readChangeCursor(ctx, cursor, snapshot.sequence)
    if (after !== null) refuseMissing(after, snapshot.removed)
    const { sequence } = snapshot
    return {
      selection: selection(deploymentId),
      position: after ?? sequence,
      // tells a client that reads state after this message that it misses nothing
      snapshot: after === null ? { cursor: changeCursor({ workspaceId, sequence }), deploymentIds: [] } : null,
      knownEnd: sequence,
      completesAtKnownEnd: false,
    }
  })
}

function selection(deploymentId: string | undefined): Selection<DeploymentChanges, DeploymentsChange> {
  return {
    key: `deployments ${deploymentId ?? ''}`,
    scope: deploymentId === undefined ? {} : { deploymentId },
    includes: ({ deploymentIds }) => deploymentId === undefined || deploymentIds.includes(deploymentId),
    value: (changes) => ({
      cursor: changeCursor(changes),
      deploymentIds: deploymentId === undefined ? changes.deploymentIds : [deploymentId],
    }),
  }
}
