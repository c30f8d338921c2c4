/** The log kind of log lines: one log per deployment and type, with the lines of all revisions. */

import { readLogStates } from '../../domain/logs/follow.ts'
import { LOG_CHANNEL } from '../../domain/logs/followers.ts'
import { type Line, type LogFilter, type LogKey, logOffset, readLines } from '../../domain/logs/lines.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { LogType } from '../../domain/values/row-types.ts'
import type { LogKind } from './log-kind.ts'

/** The part of the past that a stream needs. */
export interface LineScope {
  log: LogKey
  filter: LogFilter
}

/** Logs have the ids of their deployments; positions are the ids of lines. */
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
      // lines of all revisions, because streams of several revisions share this log
      return readLines(db, log, scope?.filter ?? {}, {
        order: 'asc',
        take: limit,
        after,
        gaps: scope ? 'newest' : 'all',
      })
    },
    // a line in the log reports removed lines
    throwIfRemoved: async () => undefined,
    allowsLag: true,
  }
}
