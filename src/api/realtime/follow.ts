/**
 * Follows the log for one subscriber, without gap or double: first it reads the log itself, page by page, up to
 * where the mailbox begins; then it takes from the mailbox and skips what it has.
 */
import { eventCursor, refuseExpired } from '../../domain/events/cursor.ts'
import type { EventScope, LogSnapshot, StoredEvent } from '../../domain/events/read.ts'
import { isTerminal } from '../../domain/model/lifecycle.ts'
import type { RevisionStatus } from '../../domain/model/rows.ts'
import { StreamInterruptedError } from './interrupted.ts'
import type { Mailbox } from './mailbox.ts'
import type { Relay } from './relay.ts'
import { type RevisionStatusEvent, snapshotEvent, statusEvent } from './status-event.ts'

/** Events of one read while catching up. */
const PAGE = 200

export interface Subscription {
  workspaceId: string
  scope: EventScope
  snapshot: LogSnapshot
  /** null: begin with the snapshot */
  after: bigint | null
}

/** `mailbox` was registered before `snapshot` was read. Throws StreamInterruptedError, and ValidationError when what is to be read was removed. */
export async function* follow(
  relay: Relay,
  mailbox: Mailbox,
  { workspaceId, scope, snapshot, after }: Subscription,
): AsyncGenerator<RevisionStatusEvent, void> {
  const { revision } = snapshot
  const completes = (status: RevisionStatus) => scope.revisionId !== undefined && isTerminal(status)
  /** the subscriber has everything up to here */
  let position = after ?? snapshot.sequence
  /** nothing more was to come when the stream began; only an event of a redeploy makes it go on */
  let ended = snapshot.gone || (revision !== null && completes(revision.status))

  if (after === null && revision) yield snapshotEvent(workspaceId, snapshot.sequence, revision)
  while (!mailbox.ended.aborted) {
    if (ended && position >= snapshot.sequence) return
    // whether it has really ended stands in the log, up to the snapshot: waiting for later events would not show it
    const live = !ended && mailbox.goLive(position)
    const { events, end } = live ? await takeNext(mailbox) : await readOn(position)
    for (const event of events) {
      if (event.sequence <= position) continue
      position = event.sequence
      ended = snapshot.gone
      yield statusEvent(event)
      if (completes(event.toStatus!)) return
    }
    if (end > position) position = end
  }
  const cursor = eventCursor({ workspaceId, sequence: position })
  if (mailbox.overflowed) {
    const why = `More than ${mailbox.capacity} events were waiting to be read.`
    throw new StreamInterruptedError('STREAM_OVERFLOW', why, cursor)
  }
  // a client that waits for a revision's end must not take this for it
  if (relay.stopped) throw new StreamInterruptedError('UNAVAILABLE', 'This server is stopping.', cursor)

  /**
   * A page of the log. The last page reaches at least to what was there before it was read: the snapshot,
   * and where the mailbox began.
   */
  async function readOn(from: bigint): Promise<Stretch> {
    const begins = mailbox.since ?? from
    const reached = begins > snapshot.sequence ? begins : snapshot.sequence
    const events = await relay.readOn(workspaceId, from, PAGE, scope, mailbox)
    // what is read of the past may be removed meanwhile
    if (from < snapshot.sequence) refuseExpired(from, await relay.removedUntil(workspaceId, mailbox))
    return { events, end: events.length < PAGE && !mailbox.ended.aborted ? reached : from }
  }
}

/** A part of the log: all wanted events up to `end` or the last of them, whichever is later. */
interface Stretch {
  events: StoredEvent[]
  end: bigint
}

async function takeNext(mailbox: Mailbox): Promise<Stretch> {
  const event = await mailbox.next()
  return event ? { events: [event], end: event.sequence } : { events: [], end: 0n }
}
