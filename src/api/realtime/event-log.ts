/** The log kind of events: one log per workspace. */

import { eventCursor, refuseExpired } from '../../domain/events/cursor.ts'
import {
  currentSequences,
  type EventScope,
  readEvents,
  readRemovedUntil,
  type StoredEvent,
} from '../../domain/events/read.ts'
import { EVENT_CHANNEL } from '../../domain/outbox/append.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { LogKind } from './log-kind.ts'

/** Logs have the ids of their workspaces; positions are sequence numbers. */
export function eventLog(db: Db): LogKind<StoredEvent, EventScope> {
  return {
    name: 'event log',
    channel: EVENT_CHANNEL,
    positionOf: (event) => event.sequence,
    occurredAt: (event) => event.occurredAt,
    cursorOf: (workspaceId, sequence) => eventCursor({ workspaceId, sequence }),
    newest: (workspaceIds) => currentSequences(db, workspaceIds),
    read: (workspaceId, after, limit, scope) => readEvents(db, workspaceId, after, limit, scope),
    throwIfRemoved: async (workspaceId, after) => refuseExpired(after, await readRemovedUntil(db, workspaceId)),
  }
}
