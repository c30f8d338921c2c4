/**
 * Events go by their age alone, the oldest of a workspace first and none out of turn: so what is left has no gap, and
 * where it begins says which cursors are too old (domain/events/cursor.ts).
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../transaction/context.ts'
import { ago, type GoOn, untilDone } from './batches.ts'

/** In one statement: some 50 ms. */
const ROWS = 5000
/** Workspaces of one round. */
const WORKSPACES = 100

/** Workspaces whose oldest event is over its time. */
export const OLD_EVENTS = (days: number) => Prisma.sql`
  SELECT c.workspace_id FROM event_counters c, LATERAL (
    SELECT e.occurred_at FROM events e WHERE e.workspace_id = c.workspace_id ORDER BY e.sequence LIMIT 1) AS oldest
  WHERE oldest.occurred_at < ${ago(days)} LIMIT ${WORKSPACES}`

/** Another server may do the same: it waits, and finds these rows gone, never later ones. */
export async function removeEvents(core: Core, workspaceId: string, goOn: GoOn): Promise<void> {
  const old = ago(core.settings.retention.eventDays)
  await untilDone(
    ROWS,
    goOn,
    () => core.db.$executeRaw`
      WITH oldest AS (
        SELECT sequence, occurred_at FROM events WHERE workspace_id = ${workspaceId}::uuid ORDER BY sequence LIMIT ${ROWS}
      ), until AS (
        SELECT coalesce((SELECT min(sequence) - 1 FROM oldest WHERE occurred_at >= ${old}), (SELECT max(sequence) FROM oldest)) AS sequence
      )
      DELETE FROM events e USING until WHERE e.workspace_id = ${workspaceId}::uuid AND e.sequence <= until.sequence`,
  )
}
