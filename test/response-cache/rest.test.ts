// Cached REST answers while nothing changed (docs/decisions/0029-response-cache.md): their cost, and that they equal
// uncached answers.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Call, TestApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { reading, useThreeServers } from './three-servers.ts'

const { app, second, sql, serving, expectFresh } = useThreeServers()

/** Repeats the request until its answer is cached on this server. */
async function warm(on: TestApp, path: string, call: Call = {}) {
  await on.rest('GET', path, call)
  return on.rest('GET', path, call)
}

test('a repeated request costs one version check, with and without its ETag', async () => {
  const { id, latest_revision_id } = await gitDeployment(app)
  const paths = [
    `/v2/deployments/${id}`,
    '/v2/deployments?limit=10',
    `/v2/deployments/${id}/revisions`,
    `/v2/deployments/${id}/revisions/${latest_revision_id}`,
    '/v2/auth/providers',
  ]
  for (const path of paths) {
    const first = await warm(app, path)
    let again = first
    const statements = await reading(app, async () => {
      again = await app.rest('GET', path)
    })
    expect([path, statements.length, /shown_versions/.test(statements[0]!)]).toEqual([path, 1, true])
    expect({ ...again, headers: null }).toEqual({ ...first, headers: null })
    for (const name of ['etag', 'content-type', 'cache-control', 'vary'])
      expect(again.headers.get(name)).toBe(first.headers.get(name))
    const headers = { 'if-none-match': first.headers.get('etag')! }
    expect(await reading(app, () => app.rest('GET', path, { headers }))).toHaveLength(1)
    expect(await app.rest('GET', path, { headers })).toMatchObject({ status: 304, text: '' })
  }
})

test('a write through one server is visible immediately on both servers', async () => {
  const { id } = await serving()
  const path = `/v2/deployments/${id}`
  for (let n = 0; n < 5; n++) {
    await warm(app, path)
    await warm(second, path)
    const writer = n % 2 ? app : second
    await writer.rest('PATCH', path, { body: { source_config: { custom_url: `https://a${n}.example.com` } } })
    for (const server of [app, second])
      expect((await server.rest('GET', path)).body.source_config.custom_url).toBe(`https://a${n}.example.com`)
  }
})

test('values of secrets are never cached, but a matching ETag still gets a 304', async () => {
  const { id } = await gitDeployment(app, { secrets: [{ name: 'TOKEN', value: 'hush' }] })
  const path = `/v2/deployments/${id}`
  const readers: [key: string, value: string][] = [
    [app.keys.secretsReader, 'hush'],
    [app.keys.viewer, '********'],
    [app.keys.deployer, '********'],
    [app.keys.secretsReader, 'hush'],
  ]
  for (const [key] of readers) await warm(app, path, { key })
  for (const [key, value] of readers) {
    const answer = await app.rest('GET', path, { key })
    expect(answer.body.secrets[0].value === 'hush').toBe(value === 'hush')
    const headers = { 'if-none-match': answer.headers.get('etag')! }
    expect(await reading(app, () => app.rest('GET', path, { key, headers }))).toHaveLength(1)
    const looks = await reading(app, () => app.rest('GET', path, { key }))
    expect(looks.length > 1).toBe(value === 'hush')
  }
})

test('a caller never gets an answer that was read for another caller', async () => {
  await gitDeployment(app)
  const path = '/v2/deployments'
  await warm(app, path)
  expect((await app.rest('GET', path, { key: app.sibling.keys.admin })).body.resources).toEqual([])
  expect(
    (await app.rest('GET', path, { key: app.keys.organization, tenant: app.sibling.workspaceId })).body.resources,
  ).toEqual([])
  expect(await app.rest('GET', path, { key: null })).toMatchObject({ status: 401 })
  expect((await reading(app, () => app.rest('GET', path, { key: app.keys.deployer }))).at(-1)).toMatch(
    /FROM .*deployments/,
  )
})

test('an invalid request is rejected, even after a cached answer', async () => {
  const { id } = await gitDeployment(app)
  const path = `/v2/deployments/${id}`
  await warm(app, path)
  expect(await app.rest('GET', `${path}?nonsense=1`)).toMatchObject({ status: 422 })
  expect(await app.rest('GET', path, { headers: { 'if-match': '"1"' } })).toMatchObject({ status: 422 })
  expect(await app.rest('GET', path, { headers: { 'if-none-match': 'nonsense' } })).toMatchObject({ status: 422 })
})

test('an expired lease and a silent listener show without a write, and so does their return', async () => {
  const leased = await serving()
  const path = `/v2/deployments/${leased.id}`
  const isServing = async () => (await app.rest('GET', path)).body.serving
  await sql(`UPDATE deployments SET lease_expires_at = now() + interval '1500 milliseconds' WHERE id = '${leased.id}'`)
  await warm(app, path)
  await expect.poll(isServing, { timeout: 20_000, interval: 50 }).toBe(false)
  await warm(app, path)
  await sql(`UPDATE deployments SET lease_expires_at = now() + interval '1 hour' WHERE id = '${leased.id}'`)
  expect(await isServing()).toBe(true)

  const { listenerId } = leased
  const seen = (ago: string) =>
    sql(`UPDATE listeners SET last_seen_at = now() - interval '${ago}' WHERE id = '${listenerId}'`)
  await seen('88500 milliseconds')
  for (const each of [path, `/v2/listeners/${listenerId}`, '/v2/deployments', '/v2/listeners']) await warm(app, each)
  const status = async () => (await app.rest('GET', `/v2/listeners/${listenerId}`)).body.status
  await expect.poll(isServing, { timeout: 20_000, interval: 50 }).toBe(false)
  await expect.poll(status, { timeout: 20_000, interval: 50 }).toBe('OFFLINE')
  await seen('0 seconds')
  expect([await isServing(), await status()]).toEqual([true, 'ONLINE'])
})

test('each call of a listener shows its time and leaves answers without that time cached', async () => {
  const { id, listenerId } = await serving()
  const [deployment, own] = [`/v2/deployments/${id}`, `/v2/listeners/${listenerId}`]
  await warm(app, deployment)
  await warm(app, own)
  const seenAt = new Date(Date.now() + 1000)
  await sql(`UPDATE listeners SET last_seen_at = '${seenAt.toISOString()}' WHERE id = '${listenerId}'`)
  expect((await app.rest('GET', own)).body.last_seen_at).toBe(seenAt.toISOString())
  expect(await reading(app, () => app.rest('GET', deployment))).toHaveLength(1)
})

test('a filter by a time-dependent field is read each time', async () => {
  const { id } = await serving()
  const path = '/v2/deployments?serving=true&limit=100'
  const ids = async () => (await app.rest('GET', path)).body.resources.map((one: { id: string }) => one.id)
  await warm(app, path)
  expect(await ids()).toContain(id)
  expect((await reading(app, ids)).at(-1)).toMatch(/FROM .*deployments/)
})

test('an answer after any write equals one that is read without the cache', async () => {
  const served = await serving()
  const { id, revisionId, listenerId, git } = served
  const paths = [
    `/v2/deployments/${id}`,
    `/v2/deployments/${git}`,
    '/v2/deployments?limit=5',
    `/v2/deployments?listener_id=${listenerId}`,
    `/v2/deployments/${id}/revisions`,
    `/v2/deployments/${id}/revisions/${revisionId}`,
    '/v2/listeners',
    `/v2/listeners/${listenerId}`,
    '/v2/auth/providers',
  ]
  const reads = paths.map((path) => (on: TestApp, call: Call) => on.rest('GET', path, call))
  await expectFresh(served, reads, [
    (on) => on.rest('POST', `/v2/deployments/${git}/revisions`, { body: {} }),
    (on, n) => on.rest('PATCH', `/v2/listeners/${listenerId}`, { body: { version: `v${n}` } }),
    (_, n) =>
      sql(
        `UPDATE deployments SET health = '{"ready": ${n}, "desired": 1, "message": null, "observedAt": "2026-01-01T00:00:00Z"}' WHERE id = '${id}'`,
      ),
    (_, n) => sql(`UPDATE integrations SET suspended_at = CASE WHEN ${n} % 2 = 0 THEN now() END`),
    (_, n) => sql(`BEGIN; UPDATE deployments SET name = '${n}-${randomUUID()}' WHERE id = '${id}'; ROLLBACK`),
  ])
}, 120_000)

test('a caller always reads its own write, even with many concurrent callers', async () => {
  const deployments = await Promise.all(Array.from({ length: 4 }, () => serving()))
  await Promise.all(
    deployments.map(async ({ id }, which) => {
      const path = `/v2/deployments/${id}`
      for (let n = 0; n < 10; n++) {
        const custom_url = `https://${which}-${n}.example.com`
        const [writer, reader] = n % 2 ? [app, second] : [second, app]
        await warm(reader, path)
        const written = await writer.rest('PATCH', path, { body: { source_config: { custom_url } } })
        expect(written.status).toBe(200)
        expect((await reader.rest('GET', path)).body.source_config.custom_url).toBe(custom_url)
        const list = await reader.rest('GET', '/v2/deployments?limit=100')
        expect(list.body.resources.find((one: { id: string }) => one.id === id).source_config.custom_url).toBe(
          custom_url,
        )
      }
    }),
  )
})
