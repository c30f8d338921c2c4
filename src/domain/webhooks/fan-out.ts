/** Queues events for webhook endpoints: reads each workspace's log from the endpoint's cursor, and moves the cursor (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import type { ReadCore } from '../transaction/context.ts'
import { webhookTypeSql } from '../values/webhook-events.ts'

const MAX_ENDPOINTS = 100
const MAX_EVENTS = 500

/** Endpoints `w` whose workspace has events after the cursor. */
export const BEHIND = Prisma.sql`
  FROM webhook_endpoints w JOIN event_counters c ON c.workspace_id = w.workspace_id WHERE c.sequence > w.cursor`

/**
 * Queues the events of endpoints that no other server is queueing for, until there are none. Cursor and deliveries change in one
 * statement, so each event is queued once.
 */
export async function queueEvents(core: ReadCore, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const read = await core.db.$queryRaw<{ events: number }[]>`
      WITH behind AS MATERIALIZED (
        SELECT w.id, w.workspace_id, w.cursor, w.enabled, w.event_types ${BEHIND} ORDER BY w.id LIMIT ${MAX_ENDPOINTS} ${toChangeOrSkip('w')}
      ), found AS MATERIALIZED (
        SELECT b.id AS endpoint_id, b.workspace_id, b.enabled, b.event_types, e.* FROM behind b CROSS JOIN LATERAL (
          SELECT e.sequence, e.deployment_id, ${webhookTypeSql} AS type,
                 coalesce(e.deployment_id::text, e.subject_id, e.type) AS ordering_key
          FROM events e WHERE e.workspace_id = b.workspace_id AND e.sequence > b.cursor ORDER BY e.sequence LIMIT ${MAX_EVENTS}) AS e
      ), wanted AS MATERIALIZED (
        SELECT * FROM found f WHERE f.enabled
          AND f.event_types && ARRAY[f.type, split_part(f.type, '.', 1) || '.*', '*']
      ), deliveries AS (
        INSERT INTO endpoint_deliveries (endpoint_id, workspace_id, sequence, type, deployment_id, ordering_key)
        SELECT endpoint_id, workspace_id, sequence, type, deployment_id, ordering_key FROM wanted
        ON CONFLICT (endpoint_id, sequence) DO NOTHING
      ), queues AS (
        INSERT INTO endpoint_queues (endpoint_id, ordering_key)
        SELECT DISTINCT endpoint_id, ordering_key FROM wanted ORDER BY endpoint_id, ordering_key
        ON CONFLICT (endpoint_id, ordering_key) DO UPDATE SET version = endpoint_queues.version + 1
      )
      UPDATE webhook_endpoints w SET cursor = last.sequence
      FROM (SELECT endpoint_id, max(sequence) AS sequence, count(*)::int AS events FROM found GROUP BY endpoint_id) AS last
      WHERE w.id = last.endpoint_id RETURNING last.events`
    if (read.length < MAX_ENDPOINTS && read.every(({ events }) => events < MAX_EVENTS)) return
  }
}
