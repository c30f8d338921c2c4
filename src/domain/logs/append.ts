/** Appends log lines of a build or an agent, as part of the statement that checks the caller's right to write them. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { LogEntry } from '../protocol/protocol.ts'
import type { WriteCore } from '../transaction/context.ts'

/** NOTIFY channel of a log's followers; the payload is the deployment's id. Only a hint, sent after the commit. */
export const LOG_CHANNEL = 'pilothouse_logs'

export const MAX_LINE_BYTES = 8 * 1024

const TRUNCATION_MARK = '…'

/** Namespace of the advisory locks on logs: "logs" in ASCII. */
const LOCK = 0x6c6f6773

export interface RevisionLogLine extends LogEntry {
  revisionId: string
  attempt: number
}

/**
 * A part of a WITH clause that appends `lines` in order, under the lock of README.md. `deployment` is a SELECT of the
 * deployment's `id`; without a row, nothing is written. `where` selects among lines `l`. Removes NUL bytes, which
 * Postgres can't store. Future times become now.
 */
export function appendLinesSql(
  deployment: Prisma.Sql,
  lines: readonly RevisionLogLine[],
  where: Prisma.Sql = Prisma.empty,
): Prisma.Sql {
  const revisions = lines.map((line) => line.revisionId)
  const types = lines.map((line) => line.type as string)
  const attempts = lines.map((line) => line.attempt)
  const levels = lines.map((line) => (line.level ?? 'info') as string)
  const messages = lines.map((line) => truncate(line.message.replaceAll('\0', '')))
  const times = lines.map((line) => line.time.toISOString())
  // short arrays are filled with nulls; most lines have no styles
  const styles = lines.some((line) => line.styles) ? lines.map((line) => line.styles ?? null) : []
  // ORDER BY keeps the order of the lines; FROM turn draws the ids under the lock
  return Prisma.sql`
    turn AS MATERIALIZED (
      SELECT found.id, pg_advisory_xact_lock(${LOCK}::int, hashtext(found.id::text))
      FROM (${deployment}) AS found
    ), appended AS (
      INSERT INTO log_lines (deployment_id, revision_id, type, attempt, level, message, time, styles)
      SELECT turn.id, l.revision_id, l.type::"LogType", l.attempt, l.level::"LogLevel", l.message, least(l.time::timestamptz, now()),
             l.styles
      FROM turn, unnest(${revisions}::uuid[], ${types}::text[], ${attempts}::int[], ${levels}::text[], ${messages}::text[],
                        ${times}::text[], ${styles}::text[])
             WITH ORDINALITY AS l(revision_id, type, attempt, level, message, time, styles, position)
      ${where}
      ORDER BY l.position
    )`
}

/** Truncates to MAX_LINE_BYTES of UTF-8. Styles of removed characters have no effect. */
function truncate(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= MAX_LINE_BYTES) return message
  const room = MAX_LINE_BYTES - Buffer.byteLength(TRUNCATION_MARK)
  // `stream` drops a character that was cut in two
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + TRUNCATION_MARK
}

/** Call it after the commit of appended lines. */
export function linesAppended(core: WriteCore, deploymentId: string, count: number): void {
  core.wake([`${LOG_CHANNEL} ${deploymentId}`])
  core.observer?.logged(count)
}
