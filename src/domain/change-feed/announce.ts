/** Moves changed deployments, which triggers record, to the end of their workspace's change feed (README.md). */
import type { Core, Statement } from '../transaction/context.ts'

/** NOTIFY channel of the log's readers; the payload is the workspace's id. A hint only, sent after the commit. */
export const DEPLOYMENTS_CHANNEL = 'pilothouse_deployments'

/** A message of a stream contains the deployments of one sequence number. */
export const DEPLOYMENTS_PER_SEQUENCE = 100

const MAX_ROWS = 5_000

/** Key of the advisory lock that lets one server announce. The number is arbitrary but unique. */
const ANNOUNCE_LOCK_KEY = 7_215_031

/** Takes nothing if another server holds the lock, and skips rows that another server took already. */
const ANNOUNCE: Statement = {
  name: 'announce changes',
  text: `
    WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(${ANNOUNCE_LOCK_KEY}) AS mine),
    taken AS (
      DELETE FROM deployment_news n USING (SELECT id FROM deployment_news, turn WHERE mine ORDER BY id LIMIT ${MAX_ROWS}) AS first
      WHERE n.id = first.id RETURNING n.workspace_id, n.deployment_id
    ), subjects AS MATERIALIZED (
      SELECT DISTINCT t.workspace_id, t.deployment_id, EXISTS (SELECT FROM deployments d WHERE d.id = t.deployment_id) AS there
      FROM taken t
    ), placed AS MATERIALIZED (
      SELECT workspace_id, deployment_id, (row_number() OVER (PARTITION BY workspace_id ORDER BY deployment_id) - 1) / ${DEPLOYMENTS_PER_SEQUENCE} AS part
      FROM subjects WHERE there
    ), places AS MATERIALIZED (
      SELECT workspace_id, part, nextval('deployment_changes_sequence') AS sequence
      FROM (SELECT DISTINCT workspace_id, part FROM placed ORDER BY workspace_id, part) AS parts
    ), written AS (
      INSERT INTO deployment_changes (deployment_id, workspace_id, sequence)
      SELECT p.deployment_id, p.workspace_id, places.sequence FROM placed p JOIN places USING (workspace_id, part)
      ON CONFLICT (deployment_id) DO UPDATE SET sequence = excluded.sequence
    ), removed AS (
      DELETE FROM deployment_changes c USING subjects s WHERE c.deployment_id = s.deployment_id AND NOT s.there
      RETURNING c.workspace_id, c.sequence
    ), floors AS (
      INSERT INTO deployment_change_floors (workspace_id, removed)
      SELECT workspace_id, max(sequence) FROM removed GROUP BY workspace_id
      ON CONFLICT (workspace_id) DO UPDATE SET removed = greatest(deployment_change_floors.removed, excluded.removed)
    )
    SELECT workspace_id AS "workspaceId", (SELECT count(*)::int FROM taken) AS taken FROM places`,
}

/** Announces all changes that were committed before the call. Runs one statement per 5,000 changes, at least one. */
export async function announceChanges(core: Pick<Core, 'query' | 'wake'>): Promise<void> {
  for (;;) {
    const places = await core.query<{ workspaceId: string; taken: number }>(ANNOUNCE, [])
    core.wake(new Set(places.map(({ workspaceId }) => `${DEPLOYMENTS_CHANNEL} ${workspaceId}`)))
    if ((places[0]?.taken ?? 0) < MAX_ROWS) return
  }
}
