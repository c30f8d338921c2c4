/** Statements of the hand-written routes, prepared once per connection. */
const deployment = (
  d: string,
) => `SELECT d.id, d.workspace_id AS tenant_id, d.name, d.source, d.integration_id, d.repo_url, d.deployment_type,
    d.build_on_push, d.custom_url, d.resource_spec, d.listener_id, d.install_command, d.build_command,
    CASE WHEN d.k8s_namespace IS NOT NULL THEN json_build_object('k8s_namespace', d.k8s_namespace) END AS listener_config,
    d.secret_references, d.last_change, d.health, d.custom_url AS url, d.image_version, d.latest_revision_id, d.active_revision_id,
    d.created_at, d.updated_at, r.status, r.repo_ref, r.graph_config_path, r.image_uri, r.source_tarball_path, r.repo_commit_sha
  FROM (${d}) d LEFT JOIN revisions r ON r.id = d.latest_revision_id`
const LISTENER = 'l.id AS l_id, l.compute_id AS l_compute_id, l.last_seen_at AS l_last_seen_at'
const SUMMARY = 'd.id, d.name, d.source, d.created_at, d.updated_at'

export const statements = {
  page: `SELECT ${SUMMARY}, ${LISTENER},
      a.id AS latest_id, a.number AS latest_number, a.status AS latest_status, a.created_at AS latest_created_at,
      b.id AS active_id, b.number AS active_number, b.status AS active_status, b.created_at AS active_created_at
    FROM (
      SELECT * FROM deployments WHERE workspace_id = $1 AND (created_at, id) < ($2, $3) AND torn_down_at IS NULL
      ORDER BY created_at DESC, id DESC LIMIT $4
    ) d
    LEFT JOIN revisions a ON a.id = d.latest_revision_id
    LEFT JOIN revisions b ON b.id = d.active_revision_id
    LEFT JOIN listeners l ON l.id = d.listener_id
    ORDER BY d.created_at DESC, d.id DESC`,
  one: `SELECT ${SUMMARY}, ${LISTENER} FROM deployments d LEFT JOIN listeners l ON l.id = d.listener_id
    WHERE d.workspace_id = $1 AND d.id = $2 AND d.torn_down_at IS NULL`,
  newestRevisions: `SELECT id, number, status, created_at AS "createdAt" FROM revisions
    WHERE deployment_id = $1 ORDER BY number DESC LIMIT $2`,
  deployments: `${deployment(`SELECT * FROM deployments WHERE workspace_id = $1 AND torn_down_at IS NULL
      ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`)} ORDER BY d.created_at DESC, d.id DESC`,
  deployment: deployment('SELECT * FROM deployments WHERE workspace_id = $1 AND id = $2'),
  revision: `SELECT r.id, r.deployment_id, r.status, r.status_message, r.reason, r.reason_since, r.source, r.attempt, r.created_at,
      r.updated_at, r.repo_ref, r.graph_config_path, r.image_uri, r.source_tarball_path, r.repo_commit_sha
    FROM revisions r JOIN deployments d ON d.id = r.deployment_id
    WHERE d.workspace_id = $1 AND d.id = $2 AND r.id = $3 AND d.torn_down_at IS NULL`,

  create: `WITH made AS (
      INSERT INTO deployments (id, workspace_id, name, source, listener_id, k8s_namespace, latest_revision_id, revision_count,
        rollout, created_by) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 1, 'bench')
    ), revised AS (
      INSERT INTO revisions (id, deployment_id, number, rollout, source, image_uri, status, created_by)
      VALUES ($7, $1, 1, 1, $4, $8, 'CREATING', 'bench')
    ) INSERT INTO steps (id, deployment_id, kind, revision_id, taken_by) VALUES ($9, $1, 'PROVISION', $7, '{}')`,
  insertRevision: `INSERT INTO revisions (id, deployment_id, number, rollout, source, image_uri, status, created_by)
    VALUES ($1, $2, $3, $3, $4, $5, 'AWAITING_DEPLOY', 'bench')`,
  lockDeployment: `SELECT * FROM deployments WHERE workspace_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`,
  skipWaiting: `UPDATE revisions SET status = 'SKIPPED', status_since = now(), updated_at = now()
    WHERE deployment_id = $1 AND status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING') RETURNING id`,
  reviseDeployment: `UPDATE deployments SET latest_revision_id = $2, revision_count = revision_count + 1, rollout = rollout + 1,
    generation = generation + 1, updated_at = now() WHERE id = $1`,
  touchDeployment: `UPDATE deployments SET rollout = rollout + 1, generation = generation + 1, updated_at = now() WHERE id = $1`,
  restartRevision: `UPDATE revisions SET status = 'AWAITING_DEPLOY', attempt = attempt + 1, status_since = now(), updated_at = now()
    WHERE id = $1`,
  replaceStep: `WITH closed AS (
      UPDATE steps SET finished_at = now(), outcome = 'cancelled' WHERE deployment_id = $2 AND finished_at IS NULL RETURNING id
    ) INSERT INTO steps (id, deployment_id, kind, revision_id, taken_by)
    SELECT $1, $2, 'DEPLOY', $3, '{}' WHERE NOT EXISTS (SELECT 1 FROM closed)`,
  appendEvents: `WITH counter AS (
      UPDATE event_counters SET sequence = sequence + $2::int WHERE workspace_id = $1 RETURNING sequence
    ) INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, from_status, to_status, actor_kind)
    SELECT $1, counter.sequence - $2::int + e.n, e.type, $3, e.revision, e.was, e.became, 'api_key'
    FROM counter, unnest($4::text[], $5::uuid[], $6::"RevisionStatus"[], $7::"RevisionStatus"[])
      WITH ORDINALITY AS e(type, revision, was, became, n)`,
} as const
