/**
 * A workspace with enough deployments that Postgres plans for many, written by SQL; some are rare by each filter of
 * the list.
 */
import { asAdmin } from './database.ts'

/**
 * Each has two revisions and an event; `held`: every deployment has a holder. Analyzed. Uses a separate connection
 * without a time limit.
 */
export async function manyDeployments(url: string, workspaceId: string, count: number, held = false): Promise<void> {
  await asAdmin(url, async (client) => {
    await client.query('BEGIN')
    // writes directly what triggers would write per row; foreign keys are still checked
    for (const table of ['deployments', 'revisions']) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
    await client.query(
      `WITH made AS MATERIALIZED (
         SELECT n, gen_random_uuid() AS id, gen_random_uuid() AS first, gen_random_uuid() AS latest, now() - n * interval '1 minute' AS at,
                (ARRAY['gitprovider', 'external_container'])[1 + n % 2]::"Source" AS source, n % 500 = 2 AS idle,
                (CASE WHEN n % 500 = 2 THEN 'BUILD_FAILED' ELSE 'DEPLOYED' END)::"RevisionStatus" AS status,
                CASE WHEN n % 500 = 1 THEN now() END AS deleted_at
         FROM generate_series(1, $2::int) AS n
       ), deployment AS (
         INSERT INTO deployments (id, workspace_id, name, source, created_at, updated_at, provisioned_at, deleted_at, idle, image_version,
                                  deployment_type, latest_revision_id, latest_outcome, active_revision_id, revision_count, rollout, claim_id,
                                  lease_holder, lease_expires_at, lease_due_at)
         SELECT id, $1, 'agent-' || md5(n::text), source, at, now() - (n * 7919::bigint % $2) * interval '1 minute',
                CASE WHEN n % 500 > 0 THEN now() END, deleted_at, idle, (n % 50)::text, (ARRAY['dev', 'prod'])[1 + n % 2]::"DeploymentType",
                latest, status, CASE WHEN deleted_at IS NULL THEN latest END, 2, 2, CASE WHEN $3 THEN gen_random_uuid() END,
                CASE WHEN $3 THEN 'somebody' END, CASE WHEN $3 THEN now() + interval '1 day' END, CASE WHEN $3 THEN now() + interval '1 day' END
         FROM made
       )
       INSERT INTO revisions (id, deployment_id, number, rollout, source, status, repo_url)
       SELECT CASE WHEN r = 1 THEN first ELSE latest END, id, r, r, source, status, 'https://git.example.com/acme/agent'
       FROM made, generate_series(1, 2) AS r`,
      [workspaceId, count, held],
    )
    for (const table of ['deployments', 'revisions']) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
    await client.query('SELECT raise_shown($1, false)', [workspaceId])
    await client.query(
      `INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, to_status)
       SELECT d.workspace_id, c.sequence + row_number() OVER (), 'revision.status', d.id, d.latest_revision_id, 'DEPLOYED'
       FROM deployments d JOIN event_counters c USING (workspace_id) WHERE d.workspace_id = $1`,
      [workspaceId],
    )
    await client.query('UPDATE event_counters SET sequence = sequence + $2 WHERE workspace_id = $1', [
      workspaceId,
      count,
    ])
    await client.query('COMMIT')
    await client.query('VACUUM ANALYZE deployments, revisions, events')
  })
}
