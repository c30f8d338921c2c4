/** Removes data after its retention time, in rounds (README.md). Several servers may run rounds concurrently. */

import { Prisma } from '../../generated/prisma/client.ts'
import { EXPIRED_ENTRIES, removeExpired } from '../idempotency/entries.ts'
import { ENDED_SESSIONS, removeSessions } from '../sessions/session.ts'
import type { Core } from '../transaction/context.ts'
import { OLD_DETAILS, OLD_STEPS, removeDetails, removeSteps } from './details.ts'
import {
  daysAgo,
  type HasTime,
  hasOldLines,
  LINES_OF_TORN_DOWN,
  limitLogs,
  removeInBatches,
  removeLinesOfTornDown,
  removeOldLines,
} from './log-lines.ts'

/** The next round continues. */
const ROUND_MS = 20_000
const IDEMPOTENCY_BATCH_ROWS = 500
const SESSION_BATCH_ROWS = 500

interface Due {
  oldLines: boolean
  linesOfTornDown: boolean
  /** null: there are no lines */
  newestLine: bigint | null
  /** ids of workspaces with events that are too old */
  oldEvents: string[]
  oldSteps: boolean
  oldDetails: boolean
  oldOutcomes: boolean
  endedSessions: boolean
}

/** Each call of the returned function is one round. A round without work is one statement. */
export function createRetention(core: Core): (signal: AbortSignal) => Promise<void> {
  /** the newest line when all logs were last checked; null: never since this server started */
  let looked: bigint | null = null
  return async (signal) => {
    const end = performance.now() + ROUND_MS
    const hasTime = () => !signal.aborted && performance.now() < end
    const due = await findDue(core)
    if (due.linesOfTornDown) await removeLinesOfTornDown(core, hasTime)
    if (due.oldLines) await removeOldLines(core, hasTime)
    if (due.newestLine !== looked && (await limitLogs(core, looked, hasTime))) looked = due.newestLine
    for (const workspaceId of due.oldEvents) await removeEvents(core, workspaceId, hasTime)
    if (due.oldSteps) await removeSteps(core, hasTime)
    if (due.oldDetails) await removeDetails(core, hasTime)
    if (due.oldOutcomes)
      await removeInBatches(IDEMPOTENCY_BATCH_ROWS, hasTime, () => removeExpired(core.db, IDEMPOTENCY_BATCH_ROWS))
    if (due.endedSessions)
      await removeInBatches(SESSION_BATCH_ROWS, hasTime, () => removeSessions(core.db, SESSION_BATCH_ROWS))
  }
}

async function findDue({ db, settings }: Core): Promise<Due> {
  const { logDays, eventDays } = settings.retention
  const [due] = await db.$queryRaw<Due[]>`
    SELECT ${hasOldLines(logDays)} AS "oldLines", EXISTS (${LINES_OF_TORN_DOWN}) AS "linesOfTornDown",
           (SELECT max(id) FROM log_lines) AS "newestLine", ARRAY(${OLD_EVENTS(eventDays)}) AS "oldEvents",
           EXISTS (${OLD_STEPS(logDays)}) AS "oldSteps", EXISTS (${OLD_DETAILS(logDays)}) AS "oldDetails",
           EXISTS (${EXPIRED_ENTRIES}) AS "oldOutcomes",
           EXISTS (${ENDED_SESSIONS}) AS "endedSessions"`
  return due!
}

/** About 50 ms per statement. */
const BATCH_ROWS = 5000
const MAX_WORKSPACES_PER_ROUND = 100

/** Workspaces whose oldest event is too old. */
const OLD_EVENTS = (days: number) => Prisma.sql`
  SELECT c.workspace_id FROM event_counters c, LATERAL (
    SELECT e.occurred_at FROM events e WHERE e.workspace_id = c.workspace_id ORDER BY e.sequence LIMIT 1) AS oldest
  WHERE oldest.occurred_at < ${daysAgo(days)} LIMIT ${MAX_WORKSPACES_PER_ROUND}`

/** A concurrent server waits and then finds these rows gone; it never removes later ones. */
async function removeEvents(core: Core, workspaceId: string, hasTime: HasTime): Promise<void> {
  const old = daysAgo(core.settings.retention.eventDays)
  await removeInBatches(
    BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      WITH oldest AS (
        SELECT sequence, occurred_at FROM events WHERE workspace_id = ${workspaceId}::uuid ORDER BY sequence LIMIT ${BATCH_ROWS}
      ), until AS (
        SELECT coalesce((SELECT min(sequence) - 1 FROM oldest WHERE occurred_at >= ${old}), (SELECT max(sequence) FROM oldest)) AS sequence
      )
      DELETE FROM events e USING until WHERE e.workspace_id = ${workspaceId}::uuid AND e.sequence <= until.sequence`,
  )
}
