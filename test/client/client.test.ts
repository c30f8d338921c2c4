/** docs/client.md: the client against a real server, over connections that fail. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, PilothouseError, UnreachableError, WaitTimeoutError } from '../../src/client/index.ts'
import { move, ROLLOUT } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { imageBody } from '../support/factories.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { clientOf, troubled } from './support.ts'

const app = useApp()

const wanted = () => {
  const { name, ...body } = imageBody()
  return { name, body: { ...body, source: 'external_container' as const } }
}
const revisionsOf = async (id: string) => (await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources
/** Creates a deployment and its first revision. */
async function deployed() {
  const { deployment, revisionId } = await clientOf(app).deploy(wanted())
  return { deploymentId: deployment.id, revisionId: revisionId! }
}
const roll = async (revisionId: string) => move(await app.context(app.keys.admin), revisionId, ROLLOUT)

describe('deploy', () => {
  test('creates a deployment, then updates the one of that name', async () => {
    const client = clientOf(app)
    const how = wanted()
    const first = await client.deploy(how)
    expect(first).toMatchObject({ created: true, deployment: { name: how.name }, revisionId: expect.any(String) })
    const image_uri = 'registry.example.com/agent:2'
    const second = await client.deploy({ name: how.name, body: { source_revision_config: { image_uri } } })
    expect(second).toMatchObject({ created: false, deployment: { id: first.deployment.id } })
    expect(second.deployment.source_revision_config.image_uri).toBe(image_uri)
    expect((await revisionsOf(first.deployment.id)).map(({ id }: { id: string }) => id)).toEqual([
      second.revisionId,
      first.revisionId,
    ])
  })

  test('of two concurrent calls, one creates and the other updates', async () => {
    const how = wanted()
    const both = await Promise.all([clientOf(app).deploy(how), clientOf(app).deploy(how)])
    expect(both.map(({ created }) => created).sort()).toEqual([false, true])
    expect(both[0].deployment.id).toBe(both[1].deployment.id)
  })

  test('makes one revision, however often its answer is lost', async () => {
    const { url, seen } = await troubled(app.url, ['swallow', 'swallow', 'pass', 'swallow'])
    const client = clientOf({ ...app, url })
    const how = wanted()
    const { deployment } = await client.deploy(how)
    await client.deploy(how)
    expect(seen.filter((line) => !line.startsWith('GET'))).toHaveLength(5)
    expect(await revisionsOf(deployment.id)).toHaveLength(2)
  })

  test('has one outcome per key, also when the whole call is repeated', async () => {
    const how = { ...wanted(), idempotencyKey: `job-${Math.random()}` }
    const first = await clientOf(app).deploy(how)
    const again = await clientOf(app).deploy(how)
    expect(again).toMatchObject({ created: true, revisionId: first.revisionId })
    const change = { name: how.name, body: { source_revision_config: { image_uri: 'registry.example.com/agent:3' } } }
    const updates = [
      await clientOf(app).deploy({ ...change, idempotencyKey: 'job "2"' }),
      await clientOf(app).deploy({ ...change, idempotencyKey: 'job "2"' }),
    ]
    expect(updates[1]).toMatchObject({ created: false, revisionId: updates[0]!.revisionId })
    expect(await revisionsOf(first.deployment.id)).toHaveLength(2)
  })

  test('reports every violation with its place', async () => {
    const how = { name: 'incomplete', body: { source: 'gitprovider' as const } }
    const error = await clientOf(app)
      .deploy(how)
      .catch((e) => e)
    expect(error).toBeInstanceOf(PilothouseError)
    expect(error).toMatchObject({ status: 422, code: 'VALIDATION_FAILED', requestId: expect.any(String) })
    const where = error.issues.map(({ loc }: { loc: string[] }) => loc.join('.'))
    expect(where).toEqual(['body.source_config', 'body.source_revision_config'])
  })
})

describe('A failed call', () => {
  test('is retried after the time that the server asks for', async () => {
    const { url, seen } = await troubled(app.url, [
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 503, headers: { 'retry-after': '0' } },
    ])
    const pauses: number[] = []
    const client = clientOf({ ...app, url }, { onRetry: (_, pauseMs) => pauses.push(pauseMs) })
    expect(await client.deploy(wanted())).toMatchObject({ created: true })
    expect(pauses).toHaveLength(2)
    expect(pauses[0]).toBeGreaterThan(1000)
    expect(pauses[1]).toBeLessThan(1000)
    expect(seen.filter((line) => line.startsWith('POST'))).toHaveLength(3)
  })

  test('is not retried when it can’t succeed', async () => {
    const { url, seen } = await troubled(app.url, [])
    const client = clientOf({ ...app, url })
    await expect(client.find('nobody')).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(seen).toHaveLength(1)
  })

  test('fails when no server has answered within the retry time', async () => {
    const proxy = await tcpProxy(app.url)
    onTestFinished(() => proxy.close())
    proxy.away(true)
    const client = createClient({ baseUrl: proxy.url, apiKey: app.keys.admin, retryForMs: 300 })
    await expect(client.find('x')).rejects.toThrow(UnreachableError)
  })

  test('ends immediately when its signal aborts', async () => {
    const { url } = await troubled(app.url, [{ status: 503, headers: { 'retry-after': '10' } }], { reads: true })
    const stop = new AbortController()
    const client = clientOf({ ...app, url }, { onRetry: () => stop.abort(new Error('enough')) })
    await expect(client.find('x', stop.signal)).rejects.toThrow('enough')
  })

  test('follows no redirect, which would carry the key away, and names no secret address', async () => {
    const headers = { location: 'https://elsewhere.example.com/login?token=canary' }
    const { url } = await troubled(app.url, [{ status: 302, headers }], { reads: true })
    const error = await clientOf({ ...app, url })
      .find('x')
      .catch((e) => e)
    expect(error).toMatchObject({ status: 302, code: 'UNEXPECTED_ANSWER' })
    expect(error.message).toContain('https://elsewhere.example.com:')
    expect(error.message).not.toContain('canary')
  })
})

test.each([
  { baseUrl: 'http://me:canary@127.0.0.1' },
  { baseUrl: 'http://127.0.0.1/?key=canary' },
  { apiKey: 'canary\nX-More: 1' },
  { tenantId: 'canary canary' },
])('invalid options are refused without showing their values: %j', (wrong) => {
  const error = (() => {
    try {
      return createClient({ baseUrl: app.url, apiKey: app.keys.admin, ...wrong })
    } catch (e) {
      return e as Error
    }
  })()
  expect(error).toBeInstanceOf(TypeError)
  expect(String((error as Error).stack)).not.toContain('canary')
})

describe('waitUntilTerminal', () => {
  test('reports each status, and returns the one that ends the revision', async () => {
    const which = await deployed()
    const ctx = await app.context(app.keys.admin)
    const told: string[] = []
    const ended = await clientOf(app).waitUntilTerminal({
      ...which,
      onChange({ status }) {
        // each change after the previous one was seen; one status may have several messages
        const next = ROLLOUT[new Set(told).size]
        if (told.includes(status) || !told.push(status) || !next) return
        void move(ctx, which.revisionId, [next])
      },
    })
    expect(ended).toMatchObject({ id: which.revisionId, status: 'DEPLOYED' })
    expect(told).toEqual(['CREATING', ...ROLLOUT])
  })

  test('outlasts cut connections', async () => {
    const which = await deployed()
    const proxy = await tcpProxy(app.url)
    onTestFinished(() => proxy.close())
    let cuts = 0
    const client = clientOf(
      { ...app, url: proxy.url },
      {
        onRetry: () => {
          cuts += 1
          proxy.away(false)
          if (cuts === 2) void roll(which.revisionId)
        },
      },
    )
    const ended = client.waitUntilTerminal({ ...which, onChange: () => setTimeout(() => proxy.away(true), 50) })
    proxy.away(true)
    expect(await ended).toMatchObject({ status: 'DEPLOYED' })
    expect(cuts).toBeGreaterThanOrEqual(2)
  })

  test('returns the last state that it saw when the time is up', async () => {
    const which = await deployed()
    const error = await clientOf(app)
      .waitUntilTerminal({ ...which, timeoutMs: 500 })
      .catch((e) => e)
    expect(error).toBeInstanceOf(WaitTimeoutError)
    expect(error.last).toMatchObject({ id: which.revisionId, status: 'CREATING' })
  })

  test('ends immediately when its signal aborts', async () => {
    const which = await deployed()
    const stop = new AbortController()
    const onChange = () => stop.abort(new Error('enough'))
    await expect(clientOf(app).waitUntilTerminal({ ...which, signal: stop.signal, onChange })).rejects.toThrow('enough')
  })
})

describe('rollback', () => {
  test('redeploys the previous deployment, and the one before it the next time', async () => {
    const client = clientOf(app)
    const how = wanted()
    const made: string[] = []
    for (const tag of [1, 2, 3]) {
      const image_uri = `registry.example.com/agent:${tag}`
      const { revisionId, deployment } = await client.deploy({
        ...how,
        body: { ...how.body, source_revision_config: { image_uri } },
      })
      made.push(revisionId!)
      await roll(revisionId!)
      await app.app.core.db.deployment.update({ where: { id: deployment.id }, data: { activeRevisionId: revisionId } })
    }
    const deploymentId = (await client.find(how.name)).id
    const back = async () => {
      const revisionId = await client.rollback({ deploymentId })
      await move(await app.context(app.keys.admin), revisionId, ROLLOUT)
      await app.app.core.db.deployment.update({ where: { id: deploymentId }, data: { activeRevisionId: revisionId } })
      return revisionId
    }
    expect(await back()).toBe(made[1])
    expect(await back()).toBe(made[0])
    await expect(client.rollback({ deploymentId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await client.rollback({ deploymentId, revisionId: made[2]! })).toBe(made[2])
  })
})
