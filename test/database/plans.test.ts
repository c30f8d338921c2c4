/**
 * Plans every statement of the server on 20,000 deployments; none may scan a whole table. It runs each REST operation, each
 * GraphQL field with each argument, the data plane's calls and the jobs, so new statements are covered automatically.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { changeJobsOf, gitProviderJobsOf, jobsOf } from '../../src/app/jobs.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import type { GitProvider } from '../../src/domain/ports/git-provider.ts'
import { useApp } from '../support/app.ts'
import { asAdmin } from '../support/database.ts'
import { agentKey, builderKey, imageDeployment, listener, listenerKey } from '../support/factories.ts'
import { claimOne, settle, workOff } from '../support/holder.ts'
import { manyDeployments } from '../support/many.ts'
import { storedAuthorization, storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type Recorded, recordStatements, scannedWhole } from '../support/recorded-statements.ts'
import { queriesOf } from '../support/walk-graphql.ts'

const MANY = 20_000

/** Tables that may be scanned, and why that stays cheap. */
const SMALL: Record<string, string> = {
  signing_keys: 'one row for each door, and one for links',
  installation: 'one row',
  metric_rollups: 'one row for each length of samples',
  lease_renewals: 'one row for each lease that was renewed while its deployment was locked, for an hour',
  followed_logs: 'one row for each log that somebody follows now',
  organizations: 'one row for each customer; read as a whole by the first start and the command line alone',
}

// the test checks plans, not durations on a busy machine
const app = useApp(() => ({ settings: { DATABASE_QUERY_SECONDS: '120' } }))
let recorded: Map<string, Recorded>
/** REST parameter name → value */
let values: Record<string, string>
beforeAll(async () => {
  const ctx = await app.context(app.keys.admin)
  // existing deployments are held, so the claims below are new
  await manyDeployments(app.databaseUrl, ctx.workspace.id, MANY, true)
  const own = await imageDeployment(app)
  const cluster = await listener(app)
  const provider = await storedProvider(app)
  const token = await storedToken(app, { provider, key: app.keys.admin })
  const tag = await ctx.db.tag.create({ data: { workspaceId: ctx.workspace.id, key: 'team', value: 'a' } })
  values = {
    deployment_id: own.id,
    deployment_ids: own.id,
    revision_id: own.latest_revision_id,
    listener_id: cluster.id,
    integration_id: app.tenant.integrationId,
    tag_value_ids: tag.id,
    claim_id: randomUUID(),
    provider_id: provider.providerId,
    token_id: token.id,
    connection_id: (await storedConnection(app, token, 'agent')).id,
    auth_id: (await storedAuthorization(app, token)).id,
    agent_id: 'agent',
    user_id: token.subject,
    type: 'build',
    source: 'gitprovider',
    status: 'READY',
    latest_revision_status: 'BUILD_FAILED',
    deployment_type: 'dev',
  }
  const keys: Record<string, string> = {
    'Data plane': await listenerKey(app, cluster),
    Builders: await builderKey(app),
    Agents: await agentKey(app, 'agent'),
  }
  const recording = recordStatements()
  recorded = recording.recorded
  try {
    await walkGraphql()
    await walkRest(keys, 'GET')
    await work(own.id)
    for (const method of ['POST', 'PATCH', 'DELETE']) await walkRest(keys, method)
    await doJobs()
  } finally {
    recording.stop()
  }
}, 300_000)

const idOf = (name: string, field: string) => {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  if (name !== 'id') return values[snake] ?? 'a'
  return values[`${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_id`] ?? values.deployment_id!
}

async function walkGraphql(): Promise<void> {
  for (const query of queriesOf(schema, idOf)) {
    const { errors } = await app.gql(query)
    // a missing row is fine, an invalid request is not
    for (const { extensions, message } of errors ?? [])
      expect(['NOT_FOUND', 'VALIDATION_FAILED', 'CONFLICT', 'FORBIDDEN'], `${message}: ${query}`).toContain(
        extensions?.code,
      )
  }
}

/** Sends each body's example, then each query parameter with a known value. */
async function walkRest(keys: Record<string, string>, wanted: string): Promise<void> {
  const { paths } = (await app.rest('GET', '/openapi.json')).body
  for (const { method, path, tag } of operations) {
    if (method !== wanted) continue
    const { parameters = [], requestBody } = paths[path][method.toLowerCase()]
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? randomUUID())
    const example = requestBody?.content['application/json'].example
    const body =
      example && JSON.parse(JSON.stringify(example), (name, value) => values[name] ?? (/^wait/.test(name) ? 0 : value))
    const key = keys[tag] ?? app.keys.admin
    const required = parameters.filter((one: { in: string; required?: boolean }) => one.in === 'query' && one.required)
    const base = required.map(({ name }: { name: string }) => `${name}=${values[name]}`)
    await app.rest(method, `${target}?${base.join('&')}`, { key, body })
    for (const { name, in: place } of parameters) {
      if (place !== 'query' || name === 'wait' || name === 'follow') continue
      const value =
        values[name] ?? (name === 'limit' || name === 'offset' ? '2' : name.startsWith('name') ? 'agent' : 'true')
      await app.rest(method, `${target}?${[...base, `${name}=${value}`].join('&')}`, { key })
    }
  }
}

async function work(deploymentId: string): Promise<void> {
  const plane = localControlPlane(app.app.core)
  const claim = await claimOne(plane, deploymentId)
  await workOff(plane, claim)
  await plane.heartbeat({
    leaseSeconds: 60,
    claims: [{ claimId: claim.claimId, token: claim.token, health: { ready: 1, desired: 1, message: null } }],
  })
  await plane.release(claim)
}

async function doJobs(): Promise<void> {
  const { core } = app.app
  const { signal } = new AbortController()
  const gitProvider = {} as GitProvider
  for (const { round } of [...jobsOf(core, 5), ...changeJobsOf(core), ...gitProviderJobsOf({ ...core, gitProvider })])
    await round(signal)
}

test('no statement scans a whole table', async () => {
  expect(recorded.size).toBeGreaterThan(200)
  const client = new pg.Client({ connectionString: app.databaseUrl })
  await client.connect()
  const whole: string[] = []
  try {
    await client.query('SET enable_seqscan = off')
    for (const statement of recorded.values()) {
      const tables = (await scannedWhole(client, statement)).filter((table) => !(table in SMALL))
      if (tables.length > 0) whole.push(`${tables.join(', ')}: ${statement.text.replace(/\s+/g, ' ')}`)
    }
  } finally {
    await client.end()
  }
  expect(whole).toEqual([])
})

test('a repeated statement is planned once, independent of its values', async () => {
  const { core, database } = app.app
  const plane = localControlPlane(core)
  // this workspace has no listener: steps of the built-in worker
  const key = app.other.keys.admin
  const two = [await imageDeployment(app, {}, { key }), await imageDeployment(app, {}, { key })]
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      two.map(async ({ id }) => {
        const body = { source_revision_config: { image_uri: `registry.example.com/agent:${round}` } }
        const { body: patched } = await app.rest('PATCH', `/v2/deployments/${id}`, { body, key })
        await app.rest('GET', `/v2/deployments/${id}/revisions/${patched.latest_revision_id}`, { key })
      }),
    )
    await settle(plane)
  }
  const clients = await Promise.all(
    Array.from({ length: database.pools.api.totalCount }, () => database.pools.api.connect()),
  )
  const found = await Promise.all(
    clients.map(async (client) => {
      const { rows } = await client.query<{ name: string; generic: number; custom: number }>(
        'SELECT name, generic_plans::int AS generic, custom_plans::int AS custom FROM pg_prepared_statements',
      )
      client.release()
      return rows
    }),
  )
  const often = found.flat().filter(({ generic, custom }) => generic + custom > TRIED)
  // checks that writes, their reads, steps and polls are among the statements
  expect(new Set(often.map(({ name }) => name)).size).toBeGreaterThan(8)
  expect(often.filter(({ generic }) => generic === 0)).toEqual([])
}, 60_000)

/** Postgres makes this many custom plans before it considers a generic one. */
const TRIED = 5
const ROUNDS = 20

/** Foreign keys to rows that are deleted one by one, never, or are few. */
const UNINDEXED: Record<string, string> = {
  'workspace_id → workspaces': 'no workspace is ever deleted',
  'token_id → oauth_tokens': 'authorizations are kept for a day: there are few',
  'renews_token_id → oauth_tokens': 'likewise',
}

test('deleting a row finds its references by an index', async () => {
  const found = await asAdmin(app.databaseUrl, (client) =>
    client.query<{ table: string; reference: string }>(`
      SELECT c.conrelid::regclass::text AS table, a.attname || ' → ' || c.confrelid::regclass AS reference
      FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
      WHERE c.contype = 'f' AND NOT EXISTS (
        SELECT 1 FROM pg_index i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1]
        AND coalesce(pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname), true))`),
  )
  expect(found.rows.filter(({ reference }) => !(reference in UNINDEXED))).toEqual([])
})
