// Cached GraphQL answers while nothing changed (docs/decisions/0029-response-cache.md).
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Call, TestApp } from '../support/app.ts'
import { asAdmin } from '../support/database.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'
import { reading, type ThreeServers, threeServers } from './three-servers.ts'

let servers: ThreeServers
let app: TestApp
/** another server, and one without a cache */
let second: TestApp
let fresh: TestApp
beforeAll(async () => {
  servers = await threeServers()
  ;({ app, second, fresh } = servers)
})
afterAll(() => servers?.close())

const sql = (text: string) => asAdmin(app.databaseUrl, (client) => client.query(text))

const LIST = `query List($first: Int = 5) {
  deployments(first: $first) {
    nodes {
      id name status serving statusMessage reason url health { ready message }
      tags { key value } tracingProject { name }
      latestRevision { number status statusMessage } activeRevision { number }
      listener { computeId status }
    }
  }
}`
const ONE = `query One($id: ID!) {
  deployment(id: $id) { id name version updatedAt sourceConfig { customUrl } revisions(first: 10) { nodes { number status statusMessage } } }
}`
const HEARD = `query Heard($id: ID!) { deployment(id: $id) { name listener { status lastSeenAt } } }`
const SECRETS = `query Secrets($id: ID!) { deployment(id: $id) { name secrets { name value } } }`

/** Repeats the query until its answer is cached: once by Yoga, then compiled, twice. */
async function warm(on: TestApp, query: string, variables: object, call: Call = {}) {
  for (let n = 0; n < 4; n++) await on.gql(query, { ...variables }, call)
}

async function statementsOf(on: TestApp, query: string, variables: object = {}, call: Call = {}): Promise<string[]> {
  return reading(on, () => on.gql(query, { ...variables }, call))
}

async function serving() {
  const { id: listenerId } = await listener(app)
  const { id } = await imageDeployment(app, {
    source_config: { listener_id: listenerId, listener_config: { k8s_namespace: 'agents' } },
  })
  await sql(`
    UPDATE deployments SET active_revision_id = latest_revision_id, provisioned_at = now(),
      health = '{"ready": 1, "desired": 1, "message": null, "observedAt": "2026-01-01T00:00:00Z"}',
      claim_id = gen_random_uuid(), lease_holder = 'test', lease_expires_at = now() + interval '1 hour' WHERE id = '${id}'`)
  return { id, listenerId }
}

test('a repeated query costs one version check and gets the same bytes', async () => {
  const { id } = await serving()
  for (const [query, variables] of [
    [LIST, { first: 3 }],
    [LIST, {}],
    [ONE, { id }],
    [HEARD, { id }],
  ] as const) {
    await warm(app, query, variables)
    const statements = await statementsOf(app, query, variables)
    expect([query, statements.length, /^SELECT \(SELECT sum/.test(statements[0]!)]).toEqual([query, 1, true])
    const [given, made] = [await app.gql(query, { ...variables }), await fresh.gql(query, { ...variables })]
    expect(given.text).toBe(made.text)
    expect(given.headers.get('content-length')).toBe(String(Buffer.byteLength(made.text)))
  }
})

test('other variables, another caller and another workspace have separate answers', async () => {
  const { id } = await serving()
  const { id: other } = await gitDeployment(app)
  await warm(app, ONE, { id })
  expect((await app.gql(ONE, { id: other })).data.deployment.id).toBe(other)
  expect((await app.gql(ONE, { id }, { key: app.sibling.keys.admin })).data.deployment).toBeNull()
  expect((await app.gql(ONE, { id }, { key: null })).status).toBe(401)
  expect((await statementsOf(app, ONE, { id }, { key: app.keys.viewer })).at(-1)).toMatch(/FROM deployments/)
})

test('values of secrets are never cached', async () => {
  const { id } = await gitDeployment(app, { secrets: [{ name: 'A', value: 'hush' }] })
  for (const [key, value] of [
    [app.keys.secretsReader, 'hush'],
    [app.keys.viewer, null],
    [app.keys.secretsReader, 'hush'],
  ] as const) {
    await warm(app, SECRETS, { id }, { key })
    const { data } = await app.gql(SECRETS, { id }, { key })
    expect(data.deployment.secrets[0].value === 'hush').toBe(value === 'hush')
    const statements = await statementsOf(app, SECRETS, { id }, { key })
    expect(statements.some((text) => /secret_sets/.test(text))).toBe(true)
  }
})

test('an answer that changed each time is read without a version check until it stays the same', async () => {
  const { id } = await serving()
  const change = (n: number) => sql(`UPDATE revisions SET status_message = 'change ${n}' WHERE deployment_id = '${id}'`)
  await warm(app, ONE, { id })
  for (let n = 0; n < 6; n++) {
    await change(n)
    const statements = await reading(app, async () => {
      const { data } = await app.gql(ONE, { id })
      expect(data.deployment.revisions.nodes[0].statusMessage).toBe(`change ${n}`)
    })
    expect(statements).toHaveLength(n < 2 ? 2 : 1)
  }
  await app.gql(ONE, { id })
  expect((await statementsOf(app, ONE, { id }))[0]).toMatch(/^SELECT \(SELECT sum/)
})

test('a listener’s call only invalidates answers that show its time', async () => {
  const { id, listenerId } = await serving()
  await warm(app, HEARD, { id })
  await warm(app, ONE, { id })
  const lastSeenAt = new Date(Date.now() + 1000).toISOString()
  await sql(`UPDATE listeners SET last_seen_at = '${lastSeenAt}' WHERE id = '${listenerId}'`)
  expect((await app.gql(HEARD, { id })).data.deployment.listener.lastSeenAt).toBe(lastSeenAt)
  expect((await statementsOf(app, ONE, { id }))[0]).toMatch(/^SELECT \(SELECT sum/)
})

test('an expired lease shows without a write', async () => {
  const { id } = await serving()
  const query = `query Serves($id: ID!) { deployment(id: $id) { serving } }`
  await sql(`UPDATE deployments SET lease_expires_at = now() + interval '1500 milliseconds' WHERE id = '${id}'`)
  await warm(app, query, { id })
  const isServing = async () => (await app.gql(query, { id })).data.deployment.serving
  await expect.poll(isServing, { timeout: 20_000, interval: 50 }).toBe(false)
  await sql(`UPDATE deployments SET lease_expires_at = now() + interval '1 hour' WHERE id = '${id}'`)
  expect(await isServing()).toBe(true)
})

test('an answer after any write equals one that is read without the cache', async () => {
  const { id, listenerId } = await serving()
  const { id: git } = await gitDeployment(app)
  const { workspaceId } = app.tenant
  const writes: ((on: TestApp, n: number) => Promise<unknown>)[] = [
    (on, n) =>
      on.rest('PATCH', `/v2/deployments/${id}`, {
        body: { source_config: { custom_url: `https://${n}.example.com` } },
      }),
    (on, n) => on.rest('PATCH', `/v2/deployments/${git}`, { body: { secrets: [{ name: `A${n}`, value: 'x' }] } }),
    (on) => gitDeployment(on),
    (_, n) =>
      sql(`INSERT INTO tags (id, workspace_id, key, value) VALUES (gen_random_uuid(), '${workspaceId}', 'k', '${randomUUID()}');
                   INSERT INTO deployment_tags SELECT '${id}', id FROM tags WHERE workspace_id = '${workspaceId}' ORDER BY random() LIMIT ${n % 3} ON CONFLICT DO NOTHING`),
    () => sql(`DELETE FROM deployment_tags WHERE deployment_id = '${id}'`),
    (_, n) => sql(`UPDATE tracing_projects SET name = name || '${n}'`),
    (_, n) => sql(`UPDATE listeners SET compute_id = 'c${n}' WHERE id = '${listenerId}'`),
    () => sql(`UPDATE listeners SET last_seen_at = clock_timestamp() WHERE id = '${listenerId}'`),
    () =>
      sql(`UPDATE listeners SET last_seen_at = clock_timestamp() - interval '5 minutes' WHERE id = '${listenerId}'`),
    (_, n) =>
      sql(`UPDATE deployments SET lease_expires_at = now() + make_interval(mins => ${n - 50}) WHERE id = '${id}'`),
    (_, n) => sql(`UPDATE revisions SET status_message = '${n}' WHERE deployment_id = '${id}'`),
  ]
  const queries: [string, object][] = [
    [LIST, {}],
    [LIST, { first: 2 }],
    [ONE, { id }],
    [ONE, { id: git }],
    [HEARD, { id }],
    [SECRETS, { id: git }],
  ]
  const read = fc.record({ on: fc.boolean(), query: fc.nat(queries.length - 1), reader: fc.boolean() })
  const write = fc.record({ on: fc.boolean(), write: fc.nat(writes.length - 1), n: fc.integer({ min: 1, max: 99 }) })
  const steps = fc.array(fc.oneof({ weight: 4, arbitrary: read }, { weight: 1, arbitrary: write }), { maxLength: 50 })
  await fc.assert(
    fc.asyncProperty(steps, async (run) => {
      for (const step of run) {
        const server = step.on ? app : second
        if ('write' in step) {
          await writes[step.write]!(server, step.n)
          continue
        }
        const call = { key: step.reader ? app.keys.secretsReader : app.keys.viewer }
        const [query, variables] = queries[step.query]!
        const ask = (on: TestApp) => on.gql(query, { ...variables }, call)
        const [given, made] = [await ask(server), await ask(fresh)]
        expect([query, given.text]).toEqual([query, made.text])
      }
    }),
    { numRuns: 15 },
  )
}, 120_000)
