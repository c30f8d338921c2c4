/**
 * `revisionStatusChanged` (docs/api-rules.md#graphql): status changes of a revision, a deployment or the workspace,
 * none lost, none doubled, in order. The topic is acquired before the log's end and the current status are read in one
 * snapshot.
 */
import { z } from 'zod'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { readPastCursor, refuseExpired } from '../../domain/events/cursor.ts'
import { type EventScope, inScope, type LogSnapshot, type StoredEvent } from '../../domain/events/read.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import { parse } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import { isTerminal } from '../../domain/values/lifecycle.ts'
import { beginStream } from './begin-stream.ts'
import { snapshotOf } from './event-snapshot.ts'
import type { Relay } from './relay.ts'
import { type RevisionStatusEvent, snapshotEvent, statusEvent } from './status-event.ts'
import type { Beginning, Selection, Stream } from './stream.ts'

/** The subject; null means absent. With both ids the revision must belong to the deployment. */
export interface StreamArgs {
  deploymentId?: string | null
  revisionId?: string | null
  /** Cursor of the last received event; without it the stream begins with the current status. */
  after?: string | null
}

const streamInput = z.object({
  query: z.object({ deployment_id: uuid.optional(), revision_id: uuid.optional(), after: z.string().optional() }),
})

/**
 * With `revisionId` it completes at a terminal status. A stream that continues after a teardown completes there. Role:
 * viewer. Throws ValidationError, NotFoundError, and RATE_LIMITED when the workspace has too many streams. Ends with
 * StreamInterruptedError when the client is too slow or the server stops.
 */
export async function streamRevisionStatus(
  ctx: RequestContext,
  relay: Relay,
  args: StreamArgs,
): Promise<Stream<RevisionStatusEvent>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(streamInput, {
    query: {
      deployment_id: args.deploymentId ?? undefined,
      revision_id: args.revisionId ?? undefined,
      after: args.after ?? undefined,
    },
  })
  const ids = { deploymentId: query.deployment_id, revisionId: query.revision_id }
  return beginStream(ctx, relay.events, ctx.workspace.id, async (hold) => {
    const snapshot = await snapshotOf(ctx, relay, hold, ids, query.after)
    // a continued stream still gets the last events of a torn-down deployment
    const there = !snapshot.tornDown || query.after !== undefined
    if (ids.deploymentId && !(snapshot.deploymentId && there)) throw new NotFoundError('Deployment', ids.deploymentId)
    if (ids.revisionId && !(snapshot.revision && there)) throw new NotFoundError('Revision', ids.revisionId)
    const after = query.after === undefined ? null : readPastCursor(ctx, query.after, snapshot.sequence)
    if (after !== null) refuseExpired(after, snapshot.removed)
    return relay.events.stream(hold, selection(ids), beginning(ctx.workspace.id, snapshot, after, ids.revisionId))
  })
}

function selection(ids: Omit<EventScope, 'types'>): Selection<StoredEvent, RevisionStatusEvent> {
  const scope: EventScope = { types: ['revision.status'], ...ids }
  return {
    key: `status ${ids.deploymentId ?? ''} ${ids.revisionId ?? ''}`,
    scope,
    includes: (event) => inScope(event, scope),
    value: statusEvent,
    ...(ids.revisionId && { isLast: (event: StoredEvent) => isTerminal(event.toStatus!) }),
  }
}

/** `after` null: begin with the current status. */
function beginning(
  workspaceId: string,
  { sequence, revision, tornDown }: LogSnapshot,
  after: bigint | null,
  revisionId: string | undefined,
): Beginning<RevisionStatusEvent> {
  return {
    position: after ?? sequence,
    snapshot: after === null && revision ? snapshotEvent(workspaceId, sequence, revision) : null,
    knownEnd: sequence,
    // no later event is possible: the log up to the snapshot is complete
    completesAtKnownEnd: tornDown || (revisionId !== undefined && revision !== null && isTerminal(revision.status)),
  }
}
