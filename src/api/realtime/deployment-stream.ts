/**
 * `deploymentsChanged` (docs/api-rules.md#what-changes-of-deployments): which deployments show something new, in order, none lost, across
 * reconnects, restarts and servers. Of several changes of one, whoever was away hears once.
 */
import {
  changeCursor,
  type DeploymentChanges,
  readChangeCursor,
  readChangesSnapshot,
  refuseMissing,
} from '../../domain/change-feed/log.ts'
import { changesInput, type DeploymentsChange } from '../../domain/change-feed/page.ts'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { parse, type RawInput } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import { beginStream } from './begin-stream.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

/**
 * Of the workspace, or of one deployment. Role: viewer. Throws ValidationError, also for a cursor that is too old, NotFoundError, and
 * RATE_LIMITED when the workspace has too many streams.
 */
export async function streamDeploymentChanges(
  ctx: RequestContext,
  raw: RawInput,
  relay: Relay,
): Promise<Stream<DeploymentsChange>> {
  requireRole(ctx, 'viewer')
  const { after: cursor, deployment_id: deploymentId } = parse(changesInput, raw).query
  const workspaceId = ctx.workspace.id
  return beginStream(ctx, relay.deployments, workspaceId, async (hold) => {
    const read = () => readChangesSnapshot(ctx.db, workspaceId, deploymentId)
    const snapshot = await relay.deployments.state(`${workspaceId} ${deploymentId ?? ''}`, read)
    if (!snapshot.there) throw new NotFoundError('Deployment', deploymentId!)
    const after = cursor === undefined ? null : readChangeCursor(ctx, cursor, snapshot.sequence)
    if (after !== null) refuseMissing(after, snapshot.removed)
    const { sequence } = snapshot
    return relay.deployments.stream(hold, selection(deploymentId), {
      position: after ?? sequence,
      // so that who has read before the stream began knows from when on nothing is missed
      snapshot: after === null ? { cursor: changeCursor({ workspaceId, sequence }), deploymentIds: [] } : null,
      knownEnd: sequence,
      completesAtKnownEnd: false,
    })
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
