/** Reads queue positions of waiting revisions. */
import { liveDeploymentSql, REVISIONS_WITH_DEPLOYMENT } from '../query-engine/reading.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'

/**
 * Positions in the queue of the same listener, or of the built-in workers, which serve all workspaces; 1 is the
 * longest-waiting revision. Workers may take work in another order: least-served first (repositories/deployment.ts).
 * Revisions that wait for no worker, or for a builder, are left out. One statement. Role: viewer.
 */
export async function readQueuePositions(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, number>> {
  requireRole(ctx, 'viewer')
  const rows = await ctx.db.$queryRaw<{ id: string; position: number }[]>`
    WITH requested AS MATERIALIZED (
      SELECT d.id, s.id AS step, o.listener_id FROM ${REVISIONS_WITH_DEPLOYMENT}
      JOIN steps s ON s.deployment_id = d.deployment_id AND s.finished_at IS NULL AND s.first_taken_at IS NULL AND s.offered_at IS NULL
        AND (s.revision_id = d.id OR (s.kind = 'PROVISION' AND d.status = 'CREATING'))
      WHERE d.id = ANY (${ids}::uuid[]) AND ${liveDeploymentSql(ctx)}
    ), line AS (
      SELECT w.id, row_number() OVER (PARTITION BY x.listener_id ORDER BY w.created_at, w.id)::int AS position
      FROM steps w JOIN deployments x ON x.id = w.deployment_id
      WHERE w.finished_at IS NULL AND w.first_taken_at IS NULL AND w.offered_at IS NULL
        AND EXISTS (SELECT 1 FROM requested a WHERE a.listener_id IS NOT DISTINCT FROM x.listener_id)
    )
    SELECT a.id, l.position FROM requested a JOIN line l ON l.id = a.step`
  return new Map(rows.map(({ id, position }) => [id, position]))
}
