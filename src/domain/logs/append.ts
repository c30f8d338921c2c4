/**
 * Writes log lines of a revision's build or of its running agent, as a part of a statement: whoever writes checks in
 * the same one that it may.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { LogEntry } from '../work/protocol.ts'

/** A line is cut to this many bytes of UTF-8: a runaway line must not fill the table. */
export const MAX_LINE_BYTES = 8 * 1024

const CUT = '…'

/** Namespace of our advisory locks on the log of a deployment: "logs" in ASCII. */
const LOCK = 0x6c6f6773

/** A line and the log that it belongs to: that of one attempt of a revision. */
export interface LogLineOf extends LogEntry {
  revisionId: string
  attempt: number
}

/**
 * Appends `lines` in their order: a part of a WITH clause. `deployment`: a SELECT of the `id` of the deployment whose
 * revisions they are of; where it finds none, nothing is written.
 *
 * Readers page by the line's id, so ids have to be in the order of the commits: one that got its ids early and commits
 * late would be skipped by whoever has read on. Hence the ids are drawn under a lock of the deployment's log that is
 * held until the commit. It is an advisory one: printing must not wait for whoever writes to the deployment, nor they
 * for it. NUL bytes, which Postgres can't store, are left out.
 */
export function appending(deployment: Prisma.Sql, lines: readonly LogLineOf[]): Prisma.Sql {
  const revisions = lines.map((line) => line.revisionId)
  const types = lines.map((line) => line.type as string)
  const attempts = lines.map((line) => line.attempt)
  const levels = lines.map((line) => (line.level ?? 'info') as string)
  const messages = lines.map((line) => cut(line.message.replaceAll('\0', '')))
  const times = lines.map((line) => line.time.toISOString())
  // sorted, so that ids are given in the order of the lines; and from `turn`, so that they are given under the lock
  return Prisma.sql`
    turn AS MATERIALIZED (
      SELECT found.id, pg_advisory_xact_lock(${LOCK}::int, hashtext(found.id::text)) FROM (${deployment}) AS found
    ), appended AS (
      INSERT INTO log_lines (deployment_id, revision_id, type, attempt, level, message, time)
      SELECT turn.id, l.revision_id, l.type::"LogType", l.attempt, l.level::"LogLevel", l.message, l.time::timestamptz
      FROM turn, unnest(${revisions}::uuid[], ${types}::text[], ${attempts}::int[], ${levels}::text[], ${messages}::text[],
                        ${times}::text[]) WITH ORDINALITY AS l(revision_id, type, attempt, level, message, time, position)
      ORDER BY l.position
    )`
}

function cut(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= MAX_LINE_BYTES) return message
  const room = MAX_LINE_BYTES - Buffer.byteLength(CUT)
  // `stream` holds back a character that the cut went through
  return new TextDecoder().decode(bytes.subarray(0, room), { stream: true }) + CUT
}
