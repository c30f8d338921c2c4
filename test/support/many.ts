/** A workspace with so many deployments that Postgres plans for many, written by SQL: some rare in each way that lists filter by. */
import { asAdmin } from './database.ts'

/** Each with two revisions and an event; `held`: somebody has them all. Analyzed. On a connection of its own, which has no time limit. */
export async function manyDeployments(url: string, workspaceId: string, count: number, held = false): Promise<void> {
  await asAdmin(url, async (client) => {
    await client.query(
      `INSERT INTO deployments (id, workspace_id, name, source, created_at, updated_at, provisioned_at, deleted_at, idle, image_version, deployment_type)
       SELECT gen_random_uuid(), $1, 'agent-' || md5(n::text), (ARRAY['gitprovider', 'external_container'])[1 + n % 2]::"Source",
              now() - n * interval '1 minute', now() - (n * 7919::bigint % $2) * interval '1 minute', CASE WHEN n % 500 > 0 THEN now() END,
              CASE WHEN n % 500 = 1 THEN now() END, n % 500 = 2, (n % 50)::text, (ARRAY['dev', 'prod'])[1 + n % 2]::"DeploymentType"
       FROM generate_series(1, $2::int) AS n`,
      [workspaceId, count],
    )
    await client.query(
      `INSERT INTO revisions (id, deployment_id, number, rollout, source, status, repo_url)
       SELECT gen_random_uuid(), d.id, n, n, d.source, (CASE WHEN d.idle THEN 'BUILD_FAILED' ELSE 'DEPLOYED' END)::"RevisionStatus", 'https://git.example.com/acme/agent'
       FROM deployments d, generate_series(1, 2) AS n WHERE d.workspace_id = $1`,
      [workspaceId],
    )
    await client.query(
      `UPDATE deployments d
       SET latest_revision_id = r.id, active_revision_id = CASE WHEN d.deleted_at IS NULL THEN r.id END, revision_count = 2, rollout = 2,
           claim_id = CASE WHEN $2 THEN gen_random_uuid() END, lease_holder = CASE WHEN $2 THEN 'somebody' END,
           lease_expires_at = CASE WHEN $2 THEN now() + interval '1 day' END
       FROM revisions r WHERE r.deployment_id = d.id AND r.number = 2 AND d.workspace_id = $1`,
      [workspaceId, held],
    )
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
    await client.query('VACUUM ANALYZE')
  })
}
