/** Reads the state that an event stream begins with, once for concurrent subscribers, or not at all. */

import { readEventCursor } from '../../domain/events/cursor.ts'
import { type EventScope, type LogSnapshot, readSnapshot, type StoredEvent } from '../../domain/events/read.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { TopicHandle } from './feed.ts'
import type { Relay } from './relay.ts'

/**
 * Returns the log's end and the state of `subject`. A stream of the whole workspace whose `after` is still in memory
 * needs no statement. Throws ValidationError for an invalid cursor.
 */
export async function snapshotOf(
  ctx: RequestContext,
  relay: Relay,
  { topic }: TopicHandle<StoredEvent>,
  subject: Pick<EventScope, 'deploymentId' | 'revisionId'>,
  after: string | undefined,
): Promise<LogSnapshot> {
  const { deploymentId, revisionId } = subject
  const whole = deploymentId === undefined && revisionId === undefined
  if (whole && after !== undefined && topic.hasRecent(readEventCursor(ctx, after, 'after')))
    return {
      sequence: topic.position!,
      removed: topic.evictedUpTo,
      deploymentId: null,
      tornDown: false,
      revision: null,
    }
  const key = `${ctx.workspace.id} ${deploymentId ?? ''} ${revisionId ?? ''}`
  return relay.events.state(key, () => readSnapshot(ctx.db, ctx.workspace.id, subject))
}
