/** The state with which a stream of events begins: read once for many who come at the same time, or not at all. */

import { readEventCursor } from '../../domain/events/cursor.ts'
import { type EventScope, type LogSnapshot, readSnapshot, type StoredEvent } from '../../domain/events/read.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { TopicHandle } from './feed.ts'
import type { Relay } from './relay.ts'

/**
 * The log's end, and what of `subject` stands there. Who comes back to a workspace's stream `after` an event that is remembered
 * needs no statement for it. Throws ValidationError for a cursor that can't be read.
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
    return { sequence: topic.position!, removed: topic.evictedUpTo, deploymentId: null, gone: false, revision: null }
  const key = `${ctx.workspace.id} ${deploymentId ?? ''} ${revisionId ?? ''}`
  return relay.events.state(key, () => readSnapshot(ctx.db, ctx.workspace.id, subject))
}
