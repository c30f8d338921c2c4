// Cached GraphQL answers while nothing changed (docs/decisions/0029-response-cache.md).
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Call, TestApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { reading, useThreeServers } from './three-servers.ts'

const { app, fresh, sql, serving, expectFresh } = useThreeServers()

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
  const { id, git: other } = await serving()
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
  const served = await serving()
  const { id, git, listenerId } = served
  const { workspaceId } = app.tenant
  const queries: [string, object][] = [
    [LIST, {}],
    [LIST, { first: 2 }],
    [ONE, { id }],
    [ONE, { id: git }],
    [HEARD, { id }],
    [SECRETS, { id: git }],
  ]
  const reads = queries.map(
    ([query, variables]) =>
      (on: TestApp, call: Call) =>
        on.gql(query, { ...variables }, call),
  )
  await expectFresh(served, reads, [
    (_, n) =>
      sql(`INSERT INTO tags (id, workspace_id, key, value) VALUES (gen_random_uuid(), '${workspaceId}', 'k', '${randomUUID()}');
                   INSERT INTO deployment_tags SELECT '${id}', id FROM tags WHERE workspace_id = '${workspaceId}' ORDER BY random() LIMIT ${n % 3} ON CONFLICT DO NOTHING`),
    () => sql(`DELETE FROM deployment_tags WHERE deployment_id = '${id}'`),
    (_, n) => sql(`UPDATE tracing_projects SET name = name || '${n}'`),
    (_, n) => sql(`UPDATE listeners SET compute_id = 'c${n}' WHERE id = '${listenerId}'`),
  ])
}, 120_000)
