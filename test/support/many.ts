/** A workspace with so many deployments that Postgres plans for many, written by SQL: some rare in each way that lists filter by. */
import type { RequestContext } from '../../src/domain/context/context.ts'

/** Each with two revisions and an event. Analyzed. */
export async function manyDeployments({ db, workspace }: RequestContext, count: number): Promise<void> {
  await db.$executeRaw`
    INSERT INTO deployments (id, workspace_id, name, source, created_at, updated_at, provisioned_at, deleted_at, idle, image_version, deployment_type)
    SELECT gen_random_uuid(), ${workspace.id}::uuid, 'agent-' || md5(n::text), (ARRAY['gitprovider', 'external_container'])[1 + n % 2]::"Source",
           now() - n * interval '1 minute', now() - (n * 7919 % ${count}) * interval '1 minute', CASE WHEN n % 500 > 0 THEN now() END,
           CASE WHEN n % 500 = 1 THEN now() END, n % 500 = 2, (n % 50)::text, (ARRAY['dev', 'prod'])[1 + n % 2]::"DeploymentType"
    FROM generate_series(1, ${count}::int) AS n`
  await db.$executeRaw`
    INSERT INTO revisions (id, deployment_id, number, rollout, source, status, repo_url)
    SELECT gen_random_uuid(), d.id, n, n, d.source, (CASE WHEN d.idle THEN 'BUILD_FAILED' ELSE 'DEPLOYED' END)::"RevisionStatus", 'https://git.example.com/acme/agent'
    FROM deployments d, generate_series(1, 2) AS n WHERE d.workspace_id = ${workspace.id}::uuid`
  await db.$executeRaw`
    UPDATE deployments d SET latest_revision_id = r.id, active_revision_id = CASE WHEN d.deleted_at IS NULL THEN r.id END, revision_count = 2, rollout = 2
    FROM revisions r WHERE r.deployment_id = d.id AND r.number = 2`
  await db.$executeRaw`
    INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, to_status)
    SELECT d.workspace_id, row_number() OVER (), 'revision.status', d.id, d.latest_revision_id, 'DEPLOYED'
    FROM deployments d WHERE d.workspace_id = ${workspace.id}::uuid`
  await db.$executeRaw`UPDATE event_counters SET sequence = ${count} WHERE workspace_id = ${workspace.id}::uuid`
  await db.$executeRawUnsafe('VACUUM ANALYZE')
}
