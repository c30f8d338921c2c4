/** Removes data after its retention time, in rounds (README.md). Several servers may run rounds concurrently. */
import { Prisma } from '../generated/prisma/client.ts'
import { EXPIRED_ENTRIES, removeExpired } from './idempotency/entries.ts'
import { ENDED_LOGINS, removeLogins } from './logins/login.ts'
import {
  daysAgo,
  type HasTime,
  hasOldLines,
  LINES_OF_TORN_DOWN,
  limitLogs,
  oldBlocks,
  removeInBatches,
  removeLinesOfTornDown,
  removeOldBlocks,
  removeOldLines,
} from './logs/retention.ts'
import { toChangeOrSkip, toDeleteOrSkip } from './repositories/locks.ts'
import { ENDED_SESSIONS, removeSessions } from './sessions/session.ts'
import type { ReadCore } from './transaction/context.ts'
import { TERMINAL } from './values/lifecycle.ts'

/** The next round continues. */
const ROUND_MS = 20_000
const IDEMPOTENCY_EVENT_BATCH_ROWS = 500
const SESSION_EVENT_BATCH_ROWS = 500
const LOGIN_BATCH_ROWS = 500
const DELIVERY_BATCH_ROWS = 1000

interface Due {
  oldLines: boolean
  oldBlocks: boolean
  linesOfTornDown: boolean
  /** null: there are no lines */
  newestLine: bigint | null
  /** ids of workspaces with events that are too old */
  oldEvents: string[]
  oldSteps: boolean
  oldDetails: boolean
  oldOutcomes: boolean
  endedSessions: boolean
  endedLogins: boolean
  oldDeliveries: boolean
  oldAlerts: boolean
}

/** Each call of the returned function is one round. A round without work is one statement. */
export function createRetention(core: ReadCore): (signal: AbortSignal) => Promise<void> {
  /** the newest line when all logs were last checked; null: never since this server started */
  let looked: bigint | null = null
  return async (signal) => {
    const end = performance.now() + ROUND_MS
    const hasTime = () => !signal.aborted && performance.now() < end
    const due = await findDue(core)
    if (due.linesOfTornDown) await removeLinesOfTornDown(core, hasTime)
    if (due.oldLines) await removeOldLines(core, hasTime)
    if (due.oldBlocks) await removeOldBlocks(core)
    if (due.newestLine !== looked && (await limitLogs(core, looked, hasTime))) looked = due.newestLine
    for (const workspaceId of due.oldEvents) await removeEvents(core, workspaceId, hasTime)
    if (due.oldSteps) await removeSteps(core, hasTime)
    if (due.oldDetails) await removeDetails(core, hasTime)
    if (due.oldOutcomes)
      await removeInBatches(IDEMPOTENCY_EVENT_BATCH_ROWS, hasTime, () =>
        removeExpired(core.db, IDEMPOTENCY_EVENT_BATCH_ROWS),
      )
    if (due.endedSessions)
      await removeInBatches(SESSION_EVENT_BATCH_ROWS, hasTime, () => removeSessions(core.db, SESSION_EVENT_BATCH_ROWS))
    if (due.oldAlerts) await removeAlerts(core, hasTime)
    if (due.oldDeliveries) await removeDeliveries(core, hasTime)
    if (due.endedLogins) await removeInBatches(LOGIN_BATCH_ROWS, hasTime, () => removeLogins(core.db, LOGIN_BATCH_ROWS))
  }
}

async function findDue({ db, settings }: ReadCore): Promise<Due> {
  const { logDays, eventDays } = settings.retention
  const [due] = await db.$queryRaw<Due[]>`
    SELECT ${hasOldLines(logDays)} AS "oldLines", EXISTS (${LINES_OF_TORN_DOWN}) AS "linesOfTornDown",
           EXISTS (${oldBlocks(logDays)}) AS "oldBlocks", (SELECT max(id) FROM log_lines) AS "newestLine", ARRAY(${OLD_EVENTS(eventDays)}) AS "oldEvents",
           EXISTS (${OLD_STEPS(logDays)}) AS "oldSteps", EXISTS (${OLD_DETAILS(logDays)}) AS "oldDetails",
           EXISTS (${EXPIRED_ENTRIES}) AS "oldOutcomes",
           EXISTS (${ENDED_SESSIONS}) AS "endedSessions", EXISTS (${ENDED_LOGINS}) AS "endedLogins",
           EXISTS (${OLD_DELIVERIES(eventDays)}) AS "oldDeliveries",
           EXISTS (${OLD_ALERTS(eventDays)}) AS "oldAlerts"`
  return due!
}

/** About 50 ms per statement. */
const EVENT_BATCH_ROWS = 5000
const MAX_WORKSPACES_PER_ROUND = 100

/** Workspaces whose oldest event is too old. */
const OLD_EVENTS = (days: number) => Prisma.sql`
  SELECT c.workspace_id FROM event_counters c, LATERAL (
    SELECT e.occurred_at FROM events e WHERE e.workspace_id = c.workspace_id ORDER BY e.sequence LIMIT 1) AS oldest
  WHERE oldest.occurred_at < ${daysAgo(days)} LIMIT ${MAX_WORKSPACES_PER_ROUND}`

/** A concurrent server waits and then finds these rows gone; it never removes later ones. */
async function removeEvents(core: ReadCore, workspaceId: string, hasTime: HasTime): Promise<void> {
  const old = daysAgo(core.settings.retention.eventDays)
  await removeInBatches(
    EVENT_BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      WITH oldest AS (
        SELECT sequence, occurred_at FROM events WHERE workspace_id = ${workspaceId}::uuid ORDER BY sequence LIMIT ${EVENT_BATCH_ROWS}
      ), until AS (
        SELECT coalesce((SELECT min(sequence) - 1 FROM oldest WHERE occurred_at >= ${old}), (SELECT max(sequence) FROM oldest)) AS sequence
      )
      DELETE FROM events e USING until WHERE e.workspace_id = ${workspaceId}::uuid AND e.sequence <= until.sequence`,
  )
}

/** Days that delivered and dead deliveries are kept. */
const DELIVERED_DAYS = 7
const DEAD_DAYS = 30

/** Deliveries to webhook endpoints that ended long ago, and those without their event. */
const OLD_DELIVERIES = (eventDays: number) => Prisma.sql`
  SELECT d.id FROM endpoint_deliveries d WHERE d.created_at < ${daysAgo(Math.min(eventDays, DELIVERED_DAYS))}
    AND (d.created_at < ${daysAgo(eventDays)} OR d.delivered_at < ${daysAgo(DELIVERED_DAYS)} OR d.dead_at < ${daysAgo(DEAD_DAYS)})`

async function removeDeliveries(core: ReadCore, hasTime: HasTime): Promise<void> {
  const old = OLD_DELIVERIES(core.settings.retention.eventDays)
  await removeInBatches(
    DELIVERY_BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      DELETE FROM endpoint_deliveries WHERE id = ANY (ARRAY(${old} LIMIT ${DELIVERY_BATCH_ROWS} ${toDeleteOrSkip('d')}))`,
  )
}

/** Alerts that were resolved as long ago as events are kept. */
const OLD_ALERTS = (eventDays: number) =>
  Prisma.sql`SELECT a.id FROM alerts a WHERE a.resolved_at < ${daysAgo(eventDays)}`

async function removeAlerts(core: ReadCore, hasTime: HasTime): Promise<void> {
  const old = OLD_ALERTS(core.settings.retention.eventDays)
  await removeInBatches(
    DELIVERY_BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      DELETE FROM alerts WHERE id = ANY (ARRAY(${old} LIMIT ${DELIVERY_BATCH_ROWS} ${toDeleteOrSkip('a')}))`,
  )
}

const DETAIL_BATCH_ROWS = 1000

/**
 * Old finished steps, except those of deployments being deleted and those without a later taken step: the newest taken
 * step says that there is something to tear down.
 */
const OLD_STEPS = (days: number) => Prisma.sql`
  SELECT s.id FROM steps s JOIN deployments d ON d.id = s.deployment_id
  WHERE s.finished_at < ${daysAgo(days)} AND d.deleted_at IS NULL AND d.busy_step_id IS DISTINCT FROM s.id
    AND EXISTS (
      SELECT 1 FROM steps n WHERE n.deployment_id = s.deployment_id AND (n.created_at, n.id) > (s.created_at, s.id)
      AND n.first_taken_at IS NOT NULL)`

async function removeSteps(core: ReadCore, hasTime: HasTime): Promise<void> {
  const old = OLD_STEPS(core.settings.retention.logDays)
  await removeInBatches(
    DETAIL_BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      DELETE FROM steps WHERE id = ANY (ARRAY(${old} LIMIT ${DETAIL_BATCH_ROWS} ${toDeleteOrSkip('s')}))`,
  )
}

/** Revisions whose failure message is old and has several lines. A deployment's latest revision keeps its message. */
const OLD_DETAILS = (days: number) => Prisma.sql`
  SELECT r.id FROM revisions r
  WHERE r.status_since < ${daysAgo(days)} AND r.status_message LIKE E'%\n%' AND r.status::text = ANY (${[...TERMINAL]})
    AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.latest_revision_id = r.id)`

async function removeDetails(core: ReadCore, hasTime: HasTime): Promise<void> {
  const old = OLD_DETAILS(core.settings.retention.logDays)
  await removeInBatches(
    DETAIL_BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      UPDATE revisions SET status_message = split_part(status_message, E'\n', 1)
      WHERE id = ANY (ARRAY(${old} LIMIT ${DETAIL_BATCH_ROWS} ${toChangeOrSkip('r')}))`,
  )
}
