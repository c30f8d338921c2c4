/** The logs of deployments, as the relay follows them: the lines of all revisions, of one type. */

import { readLogStates } from '../../domain/logs/follow.ts'
import { LOG_CHANNEL } from '../../domain/logs/followers.ts'
import { type Line, type LogFilter, type LogKey, logOffset, readLines } from '../../domain/logs/lines.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { LogType } from '../../domain/values/row-types.ts'
import type { LogKind } from './log-kind.ts'

/** What is read of the past for those who want no more. */
export interface LineScope {
  log: LogKey
  filter: LogFilter
}

/** Logs have the ids of their deployments, positions are the ids of lines. */
export function lineLog(db: Db, type: LogType): LogKind<Line, LineScope> {
  return {
    name: `${type} lines`,
    channel: LOG_CHANNEL,
    positionOf: (line) => line.id,
    occurredAt: (line) => line.time,
    // what it holds of a line beside its text
    weightOf: ({ message, styles }) => 300 + message.length + (styles?.length ?? 0),
    cursorOf: (_deploymentId, id) => logOffset({ id }),
    async newest(deploymentIds) {
      const logs = deploymentIds.map((deploymentId) => ({ deploymentId, revisionId: null, type }))
      const states = await readLogStates(db, logs)
      return new Map(deploymentIds.map((id, i) => [id, states[i]!.end]))
    },
    read(deploymentId, after, limit, scope) {
      const log: LogKey = scope?.log ?? { by: 'deploymentId', id: deploymentId, type }
      // of all revisions, since each has its own readers
      return readLines(db, log, scope?.filter ?? {}, {
        order: 'asc',
        take: limit,
        after,
        gaps: scope ? 'newest' : 'all',
      })
    },
    // where lines were removed there is one that says so
    throwIfRemoved: async () => undefined,
    allowsLag: true,
  }
}
