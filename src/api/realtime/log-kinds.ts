/** The kinds of logs that the relay delivers: events, changed deployments, and log lines. */
import { DEPLOYMENTS_CHANNEL } from '../../domain/change-feed/announce.ts'
import {
  type ChangeScope,
  changeCursor,
  type DeploymentChanges,
  lastSequences,
  readDeploymentChanges,
  refuseMissing,
  removedUntil,
} from '../../domain/change-feed/log.ts'
import { eventCursor, refuseExpired } from '../../domain/events/range.ts'
import {
  currentSequences,
  type EventScope,
  readEvents,
  readRemovedUntil,
  type StoredEvent,
} from '../../domain/events/read.ts'
import { LOG_CHANNEL } from '../../domain/logs/append.ts'
import type { LogFilter } from '../../domain/logs/filter.ts'
import { readLogStates } from '../../domain/logs/follow.ts'
import { type Line, type LogKey, logOffset, readLines } from '../../domain/logs/lines.ts'
import { type NewSamples, newestSamples, readNewSamples } from '../../domain/metrics/follow.ts'
import { EVENT_CHANNEL } from '../../domain/outbox/append.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { LogType } from '../../domain/values/row-types.ts'

export interface LogKind<Item, Scope> {
  /** Name in the server's log: `event log`. */
  readonly name: string
  /** NOTIFY channel that names the ids of grown logs. A notification is only a hint. Null: only the poll finds them. */
  readonly channel: string | null
  /** Grows along the log. An item that commits later never has a lower position. */
  positionOf(item: Item): bigint
  occurredAt(item: Item): Date
  /** Approximate size in bytes, which also limits the items in memory. */
  weightOf?(item: Item): number
  /** The opaque cursor of a position, the `after` that continues behind it. */
  cursorOf(id: string, position: bigint): string
  /** The last position of each log; empty logs are left out. One statement. */
  newest(ids: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** The oldest `limit` items after the position, in order: all, or those of a scope. One statement. */
  read(id: string, after: bigint, limit: number, scope?: Scope): Promise<readonly Item[]>
  /** Throws ValidationError if items after the position were removed. */
  throwIfRemoved(id: string, after: bigint): Promise<void>
  /**
   * A log that may grow faster than clients read. A slow client reads at its own pace as long as it reads anything.
   * Otherwise it is cut off when its position leaves memory.
   */
  readonly allowsLag?: boolean
}

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

/**
 * Logs have the ids of their workspaces. An item is a part of the log; a deployment that changes again moves to its
 * end.
 */
export function deploymentLog(db: Db): LogKind<DeploymentChanges, ChangeScope> {
  return {
    name: 'log of deployments',
    channel: DEPLOYMENTS_CHANNEL,
    positionOf: ({ sequence }) => sequence,
    occurredAt: ({ readAt }) => readAt,
    weightOf: ({ deploymentIds }) => 100 + deploymentIds.length * 80,
    cursorOf: (workspaceId, sequence) => changeCursor({ workspaceId, sequence }),
    newest: (workspaceIds) => lastSequences(db, workspaceIds),
    read: (workspaceId, after, limit, scope) => readDeploymentChanges(db, workspaceId, after, limit, scope),
    throwIfRemoved: async (workspaceId, after) => refuseMissing(after, await removedUntil(db, workspaceId)),
  }
}

/** Logs have the ids of their deployments; positions are unix times in seconds. An item has all new samples. */
export function metricLog(db: Db): LogKind<NewSamples, undefined> {
  return {
    name: 'samples of metrics',
    channel: null,
    positionOf: ({ end }) => end,
    occurredAt: ({ to }) => to,
    weightOf: ({ series }) => series.reduce((sum, { points }) => sum + 200 + points.length * 50, 100),
    cursorOf: (_deploymentId, end) => String(end),
    newest: (deploymentIds) => newestSamples(db, deploymentIds),
    async read(deploymentId, after) {
      const samples = await readNewSamples(db, deploymentId, after)
      return samples ? [samples] : []
    },
    throwIfRemoved: async () => undefined,
  }
}

/** The part of the past that a stream of lines needs. */
export interface LineScope {
  log: LogKey
  filter: LogFilter
}

/** Logs have the ids of their deployments, with the lines of all revisions; positions are the ids of lines. */
export function lineLog(db: Db, type: LogType): LogKind<Line, LineScope> {
  return {
    name: `${type} lines`,
    channel: LOG_CHANNEL,
    positionOf: (line) => line.id,
    occurredAt: (line) => line.time,
    // the constant covers an object's overhead in bytes
    weightOf: ({ message, styles }) => 300 + message.length + (styles?.length ?? 0),
    cursorOf: (_deploymentId, id) => logOffset({ id }),
    async newest(deploymentIds) {
      const logs = deploymentIds.map((deploymentId) => ({ deploymentId, revisionId: null, type }))
      const states = await readLogStates(db, logs)
      return new Map(deploymentIds.map((id, i) => [id, states[i]!.end]))
    },
    read(deploymentId, after, limit, scope) {
      const log: LogKey = scope?.log ?? { by: 'deploymentId', id: deploymentId, type }
      const range = { order: 'asc', take: limit, after, gaps: scope ? 'newest' : 'all' } as const
      return readLines(db, log, scope?.filter ?? {}, range)
    },
    // a line in the log reports removed lines
    throwIfRemoved: async () => undefined,
    allowsLag: true,
  }
}
