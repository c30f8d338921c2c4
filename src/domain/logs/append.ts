/** Writes log lines of a revision's build or of its running agent. For the data plane: whoever calls has checked the claim. */
import type { Sql } from '../context.ts'
import type { LogEntry } from '../work/protocol.ts'

/** A line is cut to this many bytes of UTF-8: a runaway line must not fill the table. */
export const MAX_LINE_BYTES = 8 * 1024

const CUT = '…'

/** A line and the log that it belongs to: that of one attempt of a revision. */
export interface LogLineOf extends LogEntry {
  revisionId: string
  attempt: number
}

/** Appends `lines` in their order, in one statement. NUL bytes, which Postgres can't store, are left out. */
export async function appendLog(core: { db: Sql }, lines: readonly LogLineOf[]): Promise<void> {
  if (lines.length === 0) return
  const revisions = lines.map((line) => line.revisionId)
  const types = lines.map((line) => line.type as string)
  const attempts = lines.map((line) => line.attempt)
  const levels = lines.map((line) => (line.level ?? 'info') as string)
  const messages = lines.map((line) => cut(line.message.replaceAll('\0', '')))
  const times = lines.map((line) => line.time.toISOString())
  // sorted, so that ids are given in the order of the lines: readers page by id
  await core.db.$executeRaw`
    INSERT INTO log_lines (revision_id, type, attempt, level, message, time)
    SELECT l.revision_id, l.type::"LogType", l.attempt, l.level::"LogLevel", l.message, l.time::timestamptz
    FROM unnest(${revisions}::uuid[], ${types}::text[], ${attempts}::int[], ${levels}::text[], ${messages}::text[],
                ${times}::text[]) WITH ORDINALITY AS l(revision_id, type, attempt, level, message, time, position)
    ORDER BY l.position`
}

function cut(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= MAX_LINE_BYTES) return message
  const room = MAX_LINE_BYTES - Buffer.byteLength(CUT)
  // `stream` holds back a character that the cut went through
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + CUT
}
