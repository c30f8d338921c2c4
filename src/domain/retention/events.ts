/** Removes events by age, oldest first, so the remaining log has no gap (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../transaction/context.ts'
import { daysAgo, type HasTime, removeInBatches } from './batches.ts'

/** About 50 ms per statement. */
const BATCH_ROWS = 5000
const MAX_WORKSPACES_PER_ROUND = 100

/** Workspaces whose oldest event is too old. */
export const OLD_EVENTS = (days: number) => Prisma.sql`
  SELECT c.workspace_id FROM event_counters c, LATERAL (
    SELECT e.occurred_at FROM events e WHERE e.workspace_id = c.workspace_id ORDER BY e.sequence LIMIT 1) AS oldest
  WHERE oldest.occurred_at < ${daysAgo(days)} LIMIT ${MAX_WORKSPACES_PER_ROUND}`

/** A concurrent server waits and then finds these rows gone; it never removes later ones. */
export async function removeEvents(core: Core, workspaceId: string, hasTime: HasTime): Promise<void> {
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
