/**
 * Writes log lines of a revision's build or of its running agent, as part of a statement in which the caller also checks
 * that it may write them.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { LogEntry } from '../protocol/protocol.ts'
import { notifyFollowers } from './followers.ts'

/** bytes of UTF-8 that a line is cut to */
export const MAX_LINE_BYTES = 8 * 1024

const TRUNCATION_MARK = '…'

/** Namespace of the advisory locks on the logs of deployments: "logs" in ASCII. */
const LOCK = 0x6c6f6773

/** A line and the attempt of a revision whose log it belongs to. */
export interface RevisionLogLine extends LogEntry {
  revisionId: string
  attempt: number
}

/**
 * Returns the part of a WITH clause that appends `lines` in their order. `deployment`: a SELECT of the `id` of the
 * deployment that they belong to; if it finds none, nothing is written. `where`: which of the lines `l` are.
 *
 * Readers page by the line's id, so ids must be in commit order: otherwise a reader could skip lines that got lower ids
 * and are committed later. Therefore ids are drawn under a lock of the deployment's log, which is held until the commit.
 * It is an advisory lock, so that logging and writes to the deployment do not wait for each other. At its commit it
 * notifies, once for all lines, if somebody follows the log. NUL bytes, which
 * Postgres can't store, are removed. No time is later than now: old lines are removed from the front.
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
  // what is too short is filled up with nulls: most lines have no colours
  const styles = lines.some((line) => line.styles) ? lines.map((line) => line.styles ?? null) : []
  // ordered, so that ids are in the order of the lines; FROM turn, so that they are drawn under the lock
  return Prisma.sql`
    turn AS MATERIALIZED (
      SELECT found.id, pg_advisory_xact_lock(${LOCK}::int, hashtext(found.id::text)), ${notifyFollowers(Prisma.sql`found.id`)}
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

/** What its styles say of characters that go, says nothing then. */
function truncate(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= MAX_LINE_BYTES) return message
  const room = MAX_LINE_BYTES - Buffer.byteLength(TRUNCATION_MARK)
  // with `stream`, a character that was cut in two is left out
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + TRUNCATION_MARK
}
