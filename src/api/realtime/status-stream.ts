/**
 * `revisionStatusChanged` (docs/api-rules.md#graphql): status changes of a revision, a deployment or the workspace,
 * none lost, none doubled, in order.
 */
import { z } from 'zod'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { knownReason, type Reason } from '../../domain/errors/reasons.ts'
import { eventCursor } from '../../domain/events/range.ts'
import { type EventScope, inScope, type StoredEvent } from '../../domain/events/read.ts'
import { uuid } from '../../domain/parsing/fields.ts'
import { parse } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import { isTerminal } from '../../domain/values/lifecycle.ts'
import type { RevisionStatus } from '../../domain/values/row-types.ts'
import { beginEventStream, type StreamedEvent, type Subject } from './event-stream.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

export interface RevisionStatusEvent {
  /** Its position in the log. Pass it as `after` to continue with later events. */
  cursor: string
  revisionId: string
  deploymentId: string
  /** null: a revision's first status, or the initial status of a stream. */
  from: RevisionStatus | null
  to: RevisionStatus
  /** null: none, or a reason of a newer server. */
  reason: Reason | null
  message: string | null
  attempt: number
  occurredAt: Date
}

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
  ctx: ReadContext,
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
  const { deployment_id: deploymentId, revision_id: revisionId, after } = query
  const subject = { deploymentId, revisionId }
  return beginEventStream(ctx, relay, {
    subject,
    after,
    selection: selection(subject),
    isOver(snapshot) {
      const { tornDown, revision } = snapshot
      // a continued stream still gets the last events of a torn-down deployment
      const there = !tornDown || after !== undefined
      if (deploymentId && !(snapshot.deploymentId && there)) throw new NotFoundError('Deployment', deploymentId)
      if (revisionId && !(revision && there)) throw new NotFoundError('Revision', revisionId)
      return tornDown || (revisionId !== undefined && revision !== null && isTerminal(revision.status))
    },
    initial: statusEvent,
  })
}

function selection(subject: Subject): Selection<StoredEvent, RevisionStatusEvent> {
  const scope: EventScope = { types: ['revision.status'], ...subject }
  return {
    key: `status ${subject.deploymentId ?? ''} ${subject.revisionId ?? ''}`,
    scope,
    includes: (event) => inScope(event, scope),
    value: statusEvent,
    ...(subject.revisionId && { isLast: (event: StoredEvent) => isTerminal(event.toStatus!) }),
  }
}

/** The columns are nullable for other event types; `revision.status` has them all. */
function statusEvent(event: StreamedEvent): RevisionStatusEvent {
  return {
    cursor: eventCursor(event),
    revisionId: event.revisionId!,
    deploymentId: event.deploymentId!,
    from: event.fromStatus,
    to: event.toStatus!,
    reason: knownReason(event.reason, null),
    message: event.message,
    attempt: event.attempt!,
    occurredAt: event.occurredAt,
  }
}
