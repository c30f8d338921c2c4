/** A page of log lines, as REST shows it. */
import type { z } from 'zod'
import { type LogPage, logLineId } from '../../domain/logs/read.ts'
import type { logPage } from '../schemas.ts'

export function presentLogs({ lines, nextOffset }: LogPage): z.output<typeof logPage> {
  const logs = lines.map((line) => ({
    id: logLineId(line),
    revision_id: line.revisionId,
    timestamp: line.time.toISOString(),
    level: line.level,
    message: line.message,
    attempt: line.attempt,
  }))
  return { logs, next_offset: nextOffset }
}
