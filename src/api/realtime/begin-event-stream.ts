/** Begins a stream of the event log: after a cursor, or with the current status of its subject. */

import { readEventCursor, readPastCursor, refuseExpired } from '../../domain/events/cursor.ts'
import { type EventScope, type LogSnapshot, readSnapshot, type StoredEvent } from '../../domain/events/read.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { EventActor } from '../../domain/values/event-types.ts'
import { beginStream } from './begin-stream.ts'
import type { TopicHandle } from './feed.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

/** Null members mean absent. */
export type Subject = Pick<EventScope, 'deploymentId' | 'revisionId'>

/** An event of the log, or, without an actor, the current status at the start of a stream. */
export type StreamedEvent = Omit<StoredEvent, 'actor'> & { actor: EventActor | null }

export interface EventStreamOptions<Value> {
  subject: Subject
  /** Cursor of the last received event. */
  after: string | undefined
  selection: Selection<StoredEvent, Value>
  /** Whether no more events were possible when the snapshot was read. Throws NotFoundError. */
  isOver(snapshot: LogSnapshot): boolean | Promise<boolean>
  /** The value that a stream without `after` begins with; null: none. */
  initial(status: StreamedEvent): Value | null
}

/** Throws ValidationError for an invalid cursor, errors of `isOver`, and RATE_LIMITED. */
export function beginEventStream<Value>(
  ctx: RequestContext,
  relay: Relay,
  { subject, after: cursor, selection, isOver, initial }: EventStreamOptions<Value>,
): Promise<Stream<Value>> {
  return beginStream(ctx, relay.events, ctx.workspace.id, async (hold) => {
    const snapshot = await snapshotOf(ctx, relay, hold, subject, cursor)
    const { sequence, removed } = snapshot
    const completesAtKnownEnd = await isOver(snapshot)
    const after = cursor === undefined ? null : readPastCursor(ctx, cursor, sequence)
    if (after !== null) refuseExpired(after, removed)
    const status = after === null ? currentStatus(ctx.workspace.id, snapshot) : null
    return relay.events.stream(hold, selection, {
      position: after ?? sequence,
      snapshot: status && initial(status),
      knownEnd: sequence,
      completesAtKnownEnd,
    })
  })
}

/**
 * Returns the log's end and the state of `subject`, read once for concurrent subscribers. A stream of the whole workspace
 * whose `after` is still in memory needs no statement.
 */
async function snapshotOf(
  ctx: RequestContext,
  relay: Relay,
  { topic }: TopicHandle<StoredEvent>,
  { deploymentId, revisionId }: Subject,
  after: string | undefined,
): Promise<LogSnapshot> {
  const whole = deploymentId === undefined && revisionId === undefined
  if (whole && after !== undefined && topic.hasRecent(readEventCursor(ctx, after, 'after'))) {
    const absent = { deploymentId: null, tornDown: false, revision: null }
    return { sequence: topic.position!, removed: topic.evictedUpTo, ...absent }
  }
  const key = `${ctx.workspace.id} ${deploymentId ?? ''} ${revisionId ?? ''}`
  return relay.events.state(key, () => readSnapshot(ctx.db, ctx.workspace.id, { deploymentId, revisionId }))
}

function currentStatus(workspaceId: string, { sequence, revision }: LogSnapshot): StreamedEvent | null {
  return (
    revision && {
      workspaceId,
      sequence,
      type: 'revision.status',
      deploymentId: revision.deploymentId,
      revisionId: revision.id,
      subjectId: null,
      fromStatus: null,
      toStatus: revision.status,
      reason: revision.reason,
      message: revision.message,
      attempt: revision.attempt,
      changed: [],
      actor: null,
      occurredAt: revision.since,
    }
  )
}
