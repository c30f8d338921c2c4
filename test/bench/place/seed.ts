/**
 * The measured data: rows written by SQL, bypassing triggers and foreign keys, because creating them isn't measured
 * here. Every run has the same data except for ids.
 */
import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { encrypt, type KeyRing } from '../../../src/domain/crypto/keyring.ts'

const REVISIONS = 12
const EVENTS = 60
const LISTENERS = 20
/** As many as the clients of a busy installation, because each key has a separate limit. */
const KEYS = 100
/** Deployments with an open step, per listener. */
const STEPS_DEPLOYMENTS = 300
/** Listeners with open steps, one per round. */
const STEP_LISTENERS = 6

export interface Seeded {
  workspaceId: string
  deployments: number
  /** Keys of the role admin. */
  keys: string[]
  /** Newest first, with all ids that requests need; without the deployments that have steps. */
  rows: { id: string; name: string; revisionId: string; revisionBeforeId: string; createdAt: string }[]
  listenerIds: string[]
  tagIds: string[]
  /** Listeners with a key each, and deployments without open steps. */
  stepListeners: { id: string; key: string; deploymentIds: string[] }[]
}

/** `keyring`: the server's. */
export async function seed(pool: pg.Pool, deployments: number, keyring: KeyRing): Promise<Seeded> {
  const client = await pool.connect()
  try {
    await client.query('SET session_replication_role = replica')
    await client.query("SET maintenance_work_mem = '512MB'")
    return await fill(client, deployments, keyring)
  } finally {
    await client.query('RESET ALL')
    client.release()
  }
}

async function fill(client: pg.PoolClient, deployments: number, keyring: KeyRing): Promise<Seeded> {
  const [workspace] = (
    await client.query<{ id: string; organization_id: string }>('SELECT id, organization_id FROM workspaces')
  ).rows
  const { id: workspaceId, organization_id: organizationId } = workspace!
  const keyOf = () => `cpk_bench_${randomBytes(16).toString('hex')}`
  const addKey = async (role: string, listenerId: string | null) => {
    const key = keyOf()
    await client.query(
      `INSERT INTO api_keys (id, organization_id, workspace_id, name, role, listener_id, prefix, hash)
       VALUES (uuidv7(), $1, $2, 'bench', $3::"Role", $4, 'cpk_bench_', $5)`,
      [organizationId, workspaceId, role, listenerId, createHash('sha256').update(key).digest('hex')],
    )
    return key
  }
  const ids = async (sql: string, values: unknown[]) =>
    (await client.query<{ id: string }>(sql, values)).rows.map(({ id }) => id)
  const addListeners = (count: number, name: string) =>
    ids(
      `INSERT INTO listeners (id, workspace_id, compute_type, compute_id, k8s_namespaces, last_seen_at)
       SELECT uuidv7(), $1, 'k8s', $2 || n, '{agents}', now() FROM generate_series(1, $3::int) n RETURNING id`,
      [workspaceId, name, count],
    )

  const keys: string[] = []
  while (keys.length < KEYS) keys.push(await addKey('admin', null))
  const listenerIds = await addListeners(LISTENERS, 'cluster-')
  const stepListenerIds = await addListeners(STEP_LISTENERS, 'steps-')
  const tagIds = await ids(
    `INSERT INTO tags (id, workspace_id, key, value) SELECT uuidv7(), $1, 'team', 'team-' || n FROM generate_series(0, 9) n RETURNING id`,
    [workspaceId],
  )
  await addDeployments(client, { workspaceId, deployments, listenerIds, stepListenerIds, tagIds, keyring })
  await addEvents(client, workspaceId, deployments)
  await client.query('RESET session_replication_role')
  await client.query('VACUUM (FREEZE, ANALYZE)')

  const stepListeners: Seeded['stepListeners'] = []
  for (const id of stepListenerIds)
    stepListeners.push({
      id,
      key: await addKey('listener', id),
      deploymentIds: await ids('SELECT id FROM deployments WHERE listener_id = $1', [id]),
    })
  const { rows } = await client.query<Seeded['rows'][number]>(
    `SELECT d.id, name, latest_revision_id AS "revisionId", r.id AS "revisionBeforeId", d.created_at::text AS "createdAt"
     FROM deployments d JOIN revisions r ON r.deployment_id = d.id AND r.number = $2
     WHERE listener_id IS NULL OR listener_id <> ALL ($1) ORDER BY d.created_at DESC, d.id DESC LIMIT 10000`,
    [stepListenerIds, REVISIONS - 1],
  )
  return { workspaceId, deployments, keys, rows, listenerIds, tagIds, stepListeners }
}

interface Wanted {
  workspaceId: string
  deployments: number
  listenerIds: string[]
  stepListenerIds: string[]
  tagIds: string[]
  keyring: KeyRing
}

/** Number 1 is the newest. One in a thousand is named `quasar`, has an old image and the tag `team-0`. */
async function addDeployments(client: pg.PoolClient, wanted: Wanted): Promise<void> {
  const { workspaceId, deployments, listenerIds, stepListenerIds, tagIds, keyring } = wanted
  await client.query(
    `CREATE TEMP TABLE made AS SELECT n, uuidv7() AS id, uuidv7() AS latest, uuidv7() AS before, uuidv7() AS secrets,
       n > $1::int - $2::int AS of_steps FROM generate_series(1, $1::int) n`,
    [deployments, stepListenerIds.length * STEPS_DEPLOYMENTS],
  )
  await addSecretSets(client, keyring)
  await client.query(
    `INSERT INTO revisions (id, deployment_id, number, status, attempt, rollout, source, image_uri, created_by,
                            created_at, updated_at, status_since, deployed_at, secret_set_id)
     SELECT CASE r WHEN $1::int THEN latest WHEN $1::int - 1 THEN before ELSE uuidv7() END, id, r,
            (CASE WHEN r = $1::int AND n % 50 = 0 AND NOT of_steps THEN 'DEPLOY_FAILED' ELSE 'DEPLOYED' END)::"RevisionStatus",
            1, r, 'external_container', 'registry.example.com/acme/agent:1.' || r, 'bench',
            at, at, at, at, secrets
     FROM made, generate_series(1, $1::int) r,
          LATERAL (SELECT now() - n * interval '1 minute' - ($1::int - r) * interval '1 day' AS at) t`,
    [REVISIONS],
  )
  await client.query(
    `INSERT INTO deployments (id, workspace_id, name, source, deployment_type, listener_id, k8s_namespace, image_version,
                              custom_url, created_by, created_at, updated_at, provisioned_at, idle, revision_count, rollout,
                              secret_set_id, latest_revision_id, latest_outcome, active_revision_id)
     SELECT id, $1, (ARRAY['support', 'billing', 'search', 'triage', 'review', 'intake', 'report', 'helper'])[n % 8 + 1] ||
              CASE WHEN n % 1000 = 7 THEN '-quasar-' ELSE '-agent-' END || n,
            (CASE WHEN n % 1000 = 11 THEN 'internal_container' ELSE 'external_container' END)::"Source",
            CASE WHEN n % 1000 = 11 THEN 'prod'::"DeploymentType" END,
            CASE WHEN of_steps THEN ($3::uuid[])[n % cardinality($3::uuid[]) + 1]
                 WHEN n % 3 > 0 THEN ($2::uuid[])[n % (cardinality($2::uuid[]) - 1) + 1]
                 WHEN n % 1000 = 9 THEN ($2::uuid[])[cardinality($2::uuid[])] END,
            CASE WHEN of_steps OR n % 3 > 0 OR n % 1000 = 9 THEN 'agents' END,
            CASE WHEN n % 1000 = 7 THEN '0.9.1' ELSE '1.4.' || n % 5 END,
            'https://agent-' || n || '.example.com', 'bench',
            now() - n * interval '1 minute', now() - n * interval '1 minute', now(), n % 1000 = 13,
            $4::int, $4::int, secrets, latest, (CASE WHEN n % 50 = 0 AND NOT of_steps THEN 'DEPLOY_FAILED' ELSE 'DEPLOYED' END)::"RevisionStatus",
            CASE WHEN n % 50 = 0 AND NOT of_steps THEN before ELSE latest END
     FROM made`,
    [workspaceId, listenerIds, stepListenerIds, REVISIONS],
  )
  await client.query(
    `INSERT INTO deployment_tags (deployment_id, tag_id)
     SELECT id, ($1::uuid[])[CASE WHEN n % 1000 = 7 THEN 1 ELSE n % 9 + 2 END] FROM made WHERE n % 3 = 0 OR n % 1000 = 7`,
    [tagIds],
  )
}

/** An empty secret set, encrypted like the server's. */
async function addSecretSets(client: pg.PoolClient, keyring: KeyRing): Promise<void> {
  const { rows } = await client.query<{ id: string; secrets: string }>('SELECT id, secrets FROM made')
  for (let from = 0; from < rows.length; from += 10_000) {
    const some = rows.slice(from, from + 10_000)
    const dataKey = randomBytes(32)
    await client.query(
      `INSERT INTO secret_sets (id, deployment_id, names, key_id, wrapped_key, ciphertext)
       SELECT s.id, s.deployment, '{}', $1, s.wrapped, s.sealed
       FROM unnest($2::uuid[], $3::uuid[], $4::bytea[], $5::bytea[]) s(id, deployment, wrapped, sealed)`,
      [
        keyring.currentId,
        some.map(({ secrets }) => secrets),
        some.map(({ id }) => id),
        some.map(({ secrets }) => keyring.wrap(dataKey, secrets)),
        some.map(({ secrets }) => encrypt(dataKey, Buffer.from('{}'), secrets)),
      ],
    )
  }
}

/** Five for each revision, in order of time. */
async function addEvents(client: pg.PoolClient, workspaceId: string, deployments: number): Promise<void> {
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexname AS name, indexdef AS definition FROM pg_indexes
     WHERE schemaname = 'public' AND tablename = 'events' AND indexname <> 'events_pkey'`,
  )
  for (const { name } of indexes) await client.query(`DROP INDEX "${name}"`)
  await client.query(
    `INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, from_status, to_status, attempt,
                         actor, actor_kind, occurred_at)
     SELECT $1, (SELECT sequence FROM event_counters WHERE workspace_id = $1) + (k - 1)::bigint * $2::int + n, 'revision.status', m.id, r.id,
            (ARRAY['CREATING', 'CREATING', 'QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING'])[k % 5 + 1]::"RevisionStatus",
            (ARRAY['QUEUED', 'QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED'])[k % 5 + 1]::"RevisionStatus",
            1, null, 'system', now() - ($3::int - k) * interval '1 hour'
     FROM generate_series(1, $3::int) k, made m JOIN revisions r ON r.deployment_id = m.id
     WHERE r.number = (k - 1) / 5 + 1
     ORDER BY k, n`,
    [workspaceId, deployments, EVENTS],
  )
  for (const { definition } of indexes) await client.query(definition)
  await client.query('UPDATE event_counters SET sequence = sequence + $2 WHERE workspace_id = $1', [
    workspaceId,
    deployments * EVENTS,
  ])
}
