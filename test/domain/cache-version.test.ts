/**
 * Tests the cache version (docs/decisions/0029-response-cache.md): which writes raise it, and that writers do not
 * block each other.
 */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { isSameVersion, readCacheVersion, withoutLastSeen } from '../../src/domain/change-feed/version.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { gitBody, useDomain } from '../support/domain.ts'

const domain = useDomain()

/** Columns that no response shows. A new column belongs here and into the triggers, or into neither. */
const UNSEEN: Record<string, readonly string[]> = {
  // latest_outcome copies the latest revision's status, which changes in the same transaction; edit_version covers
  // access, access_chosen, idle_minutes and last_change
  deployments: [
    'access',
    'access_chosen',
    'idle_minutes',
    // changes with custom_url
    'custom_host',
    'address_name',
    'repository_id',
    'latest_outcome',
    'last_change',
    'revision_count',
    'rollout',
    'generation',
    'claim_id',
    'lease_holder',
    'lease_token',
    'lease_due_at',
    'busy_step_id',
  ],
  revisions: ['rollout', 'secret_set_id', 'based_on_id', 'artifact'],
  secret_sets: ['id', 'deployment_id', 'key_id', 'wrapped_key', 'ciphertext', 'created_at'],
  deployment_tags: [],
  // a change of told_silent emits an event
  listeners: ['told_silent'],
  tags: [],
  tracing_projects: [],
  integrations: [],
  oauth_providers: [],
  // ids never change
  organizations: ['id'],
  workspaces: ['id'],
}

/** Tables without data in cached responses. */
const NOT_READ = [
  '_prisma_migrations agent_connections alert_rules alerts api_keys commit_statuses deployment_change_floors deployment_changes deployment_news endpoint_deliveries endpoint_queues event_counters events followed_logs idempotency_entries image_removals',
  'install_states installation lapses_told lease_renewals log_blocks log_lines log_removals logins metric_chunks metric_rollups oauth_authorizations oauth_tokens output_positions',
  'sessions shown_versions signing_keys steps token_revocations uploads webhook_deliveries webhook_endpoints',
].flatMap((names) => names.split(' '))

/** SQL for a different value of the column's type. */
function other(column: string, type: string): string {
  if (type.endsWith('[]')) return `ARRAY['${randomUUID()}']::${type}`
  if (type.startsWith('timestamp')) return `coalesce(${column}, now()) - interval '3 hours'`
  if (type === 'uuid') return 'gen_random_uuid()'
  if (type === 'text') return `coalesce(${column}, '') || '${randomUUID()}'`
  if (type === 'integer' || type === 'bigint') return `coalesce(${column}, 0) + 1`
  if (type === 'boolean') return `NOT coalesce(${column}, false)`
  if (type === 'jsonb') return `'{"ready": ${Date.now() % 1000}}'`
  if (type === 'bytea') return `'\\x01'`
  // enum
  return `(SELECT e FROM unnest(enum_range(NULL::${type})) AS e WHERE e IS DISTINCT FROM ${column} LIMIT 1)`
}

/** Creates a deployment with rows in all tables that it shows. */
async function furnish(ctx: RequestContext): Promise<string> {
  const { db, workspace } = ctx
  const { deploymentId: id } = await createDeployment(ctx, {
    body: { ...(await gitBody(ctx)), secrets: [{ name: 'A', value: 'b' }] },
  })
  const workspaceId = workspace.id
  const listener = await db.listener.create({
    data: { workspaceId, computeType: 'k8s', computeId: randomUUID(), k8sNamespaces: [], lastSeenAt: new Date() },
  })
  const tag = await db.tag.create({ data: { workspaceId, key: 'a', value: randomUUID() } })
  await db.deploymentTag.create({ data: { deploymentId: id, tagId: tag.id } })
  const { id: tracingProjectId } = await db.tracingProject.create({ data: { workspaceId, name: randomUUID() } })
  const { latestRevisionId } = await db.deployment.findUniqueOrThrow({ where: { id } })
  const leaseExpiresAt = new Date(Date.now() + 60_000)
  await db.deployment.update({
    where: { id },
    data: {
      tracingProjectId,
      listenerId: listener.id,
      activeRevisionId: latestRevisionId,
      ...{ claimId: randomUUID(), leaseHolder: 'test', leaseExpiresAt },
    },
  })
  await db.oAuthProvider.create({
    data: {
      organizationId: workspace.organizationId,
      ...{ providerId: randomUUID(), name: 'P', clientId: 'c', authUrl: 'https://a.test', tokenUrl: 'https://t.test' },
    },
  })
  return id
}

const versionIn = async (client: pg.Client, workspaceId: string): Promise<string> =>
  (
    await client.query(`SELECT sum(n) || ':' || sum(heard) AS v FROM shown_versions WHERE workspace_id = $1`, [
      workspaceId,
    ])
  ).rows[0].v

/** Whether the statement raises the workspace's version, ignoring calls of listeners. Rolls it back. */
async function moves(client: pg.Client, workspaceId: string, sql: string): Promise<boolean> {
  await client.query('BEGIN')
  const before = withoutLastSeen(await versionIn(client, workspaceId))
  const { rowCount } = await client.query(sql)
  const after = withoutLastSeen(await versionIn(client, workspaceId))
  await client.query('ROLLBACK')
  if (!rowCount) throw new Error(`nothing was changed by ${sql}`)
  return before !== after
}

test('each visible column raises the version when any writer changes it, and other columns do not', async () => {
  const ctx = await domain.tenant()
  const id = await furnish(ctx)
  const { rows: columns } = await asAdmin(domain.url, (client) =>
    client.query<{ table: string; column: string; type: string }>(`
      SELECT c.relname AS table, quote_ident(a.attname) AS column, format_type(a.atttypid, NULL) AS type
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attgenerated = ''`),
  )
  expect([...new Set(columns.map(({ table }) => table))].sort()).toEqual([...Object.keys(UNSEEN), ...NOT_READ].sort())
  await asAdmin(domain.url, async (client) => {
    await client.query('BEGIN')
    // without constraints every column accepts any value; the rollback restores them
    const { rows } = await client.query(`
      SELECT format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', conrelid::regclass, conname) AS drop
      FROM pg_constraint WHERE contype IN ('f', 'c') AND connamespace = 'public'::regnamespace`)
    for (const { drop } of rows) await client.query(drop)
    const wrong: string[] = []
    for (const { table, column, type } of columns) {
      const unseen = UNSEEN[table]
      if (!unseen) continue
      await client.query('SAVEPOINT s')
      const before = withoutLastSeen(await versionIn(client, ctx.workspace.id))
      const { rowCount } = await client.query(
        `UPDATE ${table} SET ${column} = ${other(column, type)} ${whereShown(table, ctx, id)}`,
      )
      const after = withoutLastSeen(await versionIn(client, ctx.workspace.id))
      await client.query('ROLLBACK TO s')
      if (!rowCount || (before !== after) === unseen.includes(column))
        wrong.push(`${table}.${column} (${rowCount} rows)`)
    }
    await client.query('ROLLBACK')
    expect(wrong).toEqual([])
  })
})

/** Selects the table's rows that this workspace shows. */
function whereShown(table: string, ctx: RequestContext, deploymentId: string): string {
  if (table === 'organizations') return `WHERE id = '${ctx.workspace.organizationId}'`
  if (table === 'workspaces') return `WHERE id = '${ctx.workspace.id}'`
  if (table === 'oauth_providers') return `WHERE organization_id = '${ctx.workspace.organizationId}'`
  if (table === 'deployments') return `WHERE id = '${deploymentId}'`
  const byDeployment = ['revisions', 'secret_sets', 'deployment_tags'].includes(table)
  return byDeployment ? `WHERE deployment_id = '${deploymentId}'` : `WHERE workspace_id = '${ctx.workspace.id}'`
}

test('inserts and deletes raise the version of their own workspace only', async () => {
  const [ctx, stranger] = [await domain.tenant(), await domain.tenant()]
  const id = await furnish(ctx)
  await furnish(stranger)
  const ws = ctx.workspace.id
  const strangers = await readCacheVersion(ctx, stranger.workspace.id)
  await asAdmin(domain.url, async (client) => {
    const changes = [
      `INSERT INTO deployments (id, workspace_id, name, source) VALUES (gen_random_uuid(), '${ws}', 'x', 'gitprovider')`,
      `INSERT INTO revisions (id, deployment_id, number, rollout, source) VALUES (gen_random_uuid(), '${id}', 9, 9, 'gitprovider')`,
      `INSERT INTO tags (id, workspace_id, key, value) VALUES (gen_random_uuid(), '${ws}', 'k', 'v')`,
      `DELETE FROM deployment_tags WHERE deployment_id = '${id}'`,
      `DELETE FROM tags WHERE workspace_id = '${ws}'`,
      `DELETE FROM tracing_projects WHERE workspace_id = '${ws}'`,
      `DELETE FROM revisions WHERE deployment_id = '${id}'`,
      `DELETE FROM deployments WHERE id = '${id}'`,
      `DELETE FROM oauth_providers WHERE organization_id = '${ctx.workspace.organizationId}'`,
    ]
    for (const change of changes) expect([change, await moves(client, ws, change)]).toEqual([change, true])
  })
  expect(await readCacheVersion(ctx, stranger.workspace.id)).toBe(strangers)
})

test('a renewal before the lease ends does not raise the version, but a new, ended or shortened lease does', async () => {
  const ctx = await domain.tenant()
  const id = await furnish(ctx)
  const ws = ctx.workspace.id
  const renewed = (when: string) => `UPDATE deployments SET lease_expires_at = ${when} WHERE id = '${id}'`
  await asAdmin(domain.url, async (client) => {
    expect(await moves(client, ws, renewed(`now() + interval '90 seconds'`))).toBe(false)
    expect(await moves(client, ws, renewed(`now() + interval '20 seconds'`))).toBe(true)
    expect(
      await moves(
        client,
        ws,
        `UPDATE deployments SET claim_id = NULL, lease_holder = NULL, lease_expires_at = NULL WHERE id = '${id}'`,
      ),
    ).toBe(true)
    await client.query(renewed(`now() - interval '1 second'`))
    expect(await moves(client, ws, renewed(`now() + interval '90 seconds'`))).toBe(true)
    // without an active revision, responses do not depend on the lease
    await client.query(`UPDATE deployments SET active_revision_id = NULL WHERE id = '${id}'`)
    expect(await moves(client, ws, renewed(`now() + interval '90 seconds'`))).toBe(false)
  })
})

test('repeated calls of a listener raise only the part for last_seen_at, and a call after silence raises the rest', async () => {
  const ctx = await domain.tenant()
  await furnish(ctx)
  const seen = (when: string) =>
    `UPDATE listeners SET last_seen_at = ${when} WHERE workspace_id = '${ctx.workspace.id}'`
  const called = async (when: string) => {
    const before = (await readCacheVersion(ctx, ctx.workspace.id))!
    await asAdmin(domain.url, (client) => client.query(seen(when)))
    const after = await readCacheVersion(ctx, ctx.workspace.id)
    return { all: isSameVersion(before, after), others: isSameVersion(withoutLastSeen(before), after) }
  }
  expect(await called(`clock_timestamp() + interval '1 second'`)).toEqual({ all: false, others: true })
  expect(await called(`clock_timestamp() - interval '2 minutes'`)).toEqual({ all: false, others: false })
  expect(await called('clock_timestamp()')).toEqual({ all: false, others: false })
})

test('an open transaction does not block other writers, and its commit raises the version', async () => {
  const ctx = await domain.tenant()
  const [mine, yours] = [await furnish(ctx), await furnish(ctx)]
  const rename = (id: string) => `UPDATE deployments SET name = '${randomUUID()}' WHERE id = '${id}'`
  await asAdmin(domain.url, (slow) =>
    asAdmin(domain.url, async (quick) => {
      const version = () => readCacheVersion(ctx, ctx.workspace.id)
      const versions = [await version()]
      await slow.query('BEGIN')
      await slow.query(rename(mine))
      expect(await version()).toBe(versions[0])
      await quick.query(`SET lock_timeout = 1`)
      await quick.query(rename(yours))
      versions.push(await version())
      await quick.query(rename(yours))
      versions.push(await version())
      await slow.query('COMMIT')
      versions.push(await version())
      expect(new Set(versions).size).toBe(4)
      // one slot per concurrent writer
      expect(await ctx.db.shownVersion.count({ where: { workspaceId: ctx.workspace.id } })).toBe(2)
    }),
  )
})

test('a transaction raises the version once, and again after a rollback to a savepoint', async () => {
  const ctx = await domain.tenant()
  const id = await furnish(ctx)
  await asAdmin(domain.url, async (client) => {
    const version = () => versionIn(client, ctx.workspace.id)
    const rename = () => client.query(`UPDATE deployments SET name = '${randomUUID()}' WHERE id = '${id}'`)
    const before = await version()
    await client.query('BEGIN; SAVEPOINT s')
    await rename()
    await client.query('ROLLBACK TO s')
    expect(await version()).toBe(before)
    await rename()
    const raised = await version()
    expect(raised).not.toBe(before)
    await rename()
    await client.query(`UPDATE revisions SET status_message = 'x' WHERE deployment_id = '${id}'`)
    expect(await version()).toBe(raised)
    await client.query('COMMIT')
    expect(await version()).toBe(raised)
    await rename()
    expect(await version()).not.toBe(raised)
  })
})

test('versions of rolled-back transactions are never used again', async () => {
  const ctx = await domain.tenant()
  const id = await furnish(ctx)
  await asAdmin(domain.url, async (client) => {
    const versions = new Set<string>()
    for (let n = 0; n < 20; n++) {
      await client.query('BEGIN')
      await client.query(`UPDATE deployments SET name = '${n}' WHERE id = '${id}'`)
      versions.add(await versionIn(client, ctx.workspace.id))
      await client.query('ROLLBACK')
    }
    expect(versions.size).toBe(20)
  })
})

test('each of many concurrent commits raises the version, and there are no more slots than writers', async () => {
  const ctx = await domain.tenant()
  const ids = await Promise.all(Array.from({ length: 8 }, () => furnish(ctx)))
  const seen = new Set<string>()
  let writing = true
  const writers = ids.map((id) =>
    asAdmin(domain.url, async (client) => {
      for (let n = 0; n < 40; n++) {
        const before = await versionIn(client, ctx.workspace.id)
        await client.query(`UPDATE deployments SET status_message = '${n}' WHERE id = '${id}'`)
        expect(BigInt(withoutLastSeen(await versionIn(client, ctx.workspace.id)))).toBeGreaterThan(
          BigInt(withoutLastSeen(before)),
        )
      }
    }),
  )
  // version and rows come from one snapshot, so one version always has the same rows
  const reader = asAdmin(domain.url, async (client) => {
    const rows = new Map<string, string>()
    while (writing) {
      const { version, state } = (
        await client.query(
          `SELECT (SELECT sum(n)::text FROM shown_versions WHERE workspace_id = $1) AS version,
                  (SELECT string_agg(id || coalesce(status_message, '-'), ' ' ORDER BY id) FROM deployments WHERE workspace_id = $1) AS state`,
          [ctx.workspace.id],
        )
      ).rows[0]
      expect(rows.get(version) ?? state).toBe(state)
      rows.set(version, state)
      seen.add(version)
    }
  })
  await Promise.all(writers).finally(() => {
    writing = false
  })
  await reader
  expect(seen.size).toBeGreaterThan(1)
  expect(await ctx.db.shownVersion.count({ where: { workspaceId: ctx.workspace.id } })).toBeLessThanOrEqual(18)
})

test('concurrent reads of the version share a read that begins after the calls', async () => {
  const ctx = await domain.tenant()
  const ask = () => readCacheVersion(ctx, ctx.workspace.id)
  const statements = await countStatements(domain.database, () => Promise.all(Array.from({ length: 50 }, ask)))
  expect(statements).toHaveLength(2)
})

test('concurrent reads for a hundred workspaces take two statements, and each gets its own version', async () => {
  const all: RequestContext[] = []
  while (all.length < 100) all.push(await domain.tenant())
  for (const ctx of all.slice(0, 10)) await createDeployment(ctx, { body: await gitBody(ctx) })
  const alone: (string | null)[] = []
  for (const ctx of all) alone.push(await readCacheVersion(ctx, ctx.workspace.id))
  let together: (string | null)[] = []
  const statements = await countStatements(domain.database, async () => {
    together = await Promise.all(all.map((ctx) => readCacheVersion(ctx, ctx.workspace.id)))
  })
  expect(together).toEqual(alone)
  expect(new Set(together).size).toBeGreaterThan(1)
  expect(statements).toHaveLength(2)
  expect(await readCacheVersion(all[0]!, randomUUID())).toBeNull()
})
