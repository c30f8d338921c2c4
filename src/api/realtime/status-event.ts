/** The event of a status change, and the one for a stream's initial status. */
import { eventCursor } from '../../domain/events/cursor.ts'
import type { LogSnapshot, StoredEvent } from '../../domain/events/read.ts'
import { knownReason, type Reason } from '../../domain/values/reasons.ts'
import type { RevisionStatus } from '../../domain/values/row-types.ts'

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

export function snapshotEvent(
  workspaceId: string,
  sequence: bigint,
  revision: NonNullable<LogSnapshot['revision']>,
): RevisionStatusEvent {
  return {
    cursor: eventCursor({ workspaceId, sequence }),
    revisionId: revision.id,
    deploymentId: revision.deploymentId,
    from: null,
    to: revision.status,
    reason: knownReason(revision.reason, null),
    message: revision.message,
    attempt: revision.attempt,
    occurredAt: revision.since,
  }
}

/** The columns are nullable for other event types; `revision.status` has them all. */
export function statusEvent(event: StoredEvent): RevisionStatusEvent {
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
