/** Limits of a key, an address and a workspace, over REST and GraphQL. Each test has its own server. */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type TestApp, testApp, useApp } from '../support/app.ts'
import { builderKey, listener, listenerKey } from '../support/factories.ts'

const base = useApp()

const opened: TestApp[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const app of opened.splice(0)) await app.close()
})

/** Starts another server with its own limits. */
async function limited(settings: Record<string, string>): Promise<TestApp> {
  const app = await testApp({ beside: base, settings })
  opened.push(app)
  return app
}

/** The same with a stopped clock, so that no token is refilled on a slow machine. */
async function standing(settings: Record<string, string>): Promise<TestApp> {
  const app = await limited(settings)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  return app
}

const LIST = '/v2/deployments'

describe('requests of a key', () => {
  test('above its limit are 429 with Retry-After, RateLimit and RateLimit-Policy, over every transport', async () => {
    const app = await standing({ RATE_LIMIT: '1', RATE_LIMIT_BURST: '3' })
    const first = await app.rest('GET', LIST)
    expect([first.status, first.headers.get('ratelimit'), first.headers.get('ratelimit-policy')]).toEqual([
      200,
      '"key";r=2;t=1',
      '"key";q=3;w=3',
    ])
    expect((await app.gql('{ viewer { role } }')).headers.get('ratelimit')).toMatch(/^"key";r=[12];t=\d$/)
    // one of these is the third call: a stream uses the same budget
    await app.gql(
      'subscription { revisionStatusChanged(revisionId: "x") { to } }',
      {},
      { headers: { accept: 'text/event-stream' } },
    )
    await app.rest('GET', LIST)
    const refused = await app.rest('GET', LIST)
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d$/)
    const graphql = await app.gql('{ nonsense')
    expect([graphql.status, graphql.errors?.[0].extensions.code, graphql.headers.get('retry-after')]).toEqual([
      429,
      'RATE_LIMITED',
      '1',
    ])
    expect(graphql.errors?.[0].extensions.retryAfter).toBe(1)
    expect(graphql.headers.get('ratelimit')).toMatch(/^"key";r=0/)
  })

  test('don’t reduce the budget of another key', async () => {
    const app = await standing({ RATE_LIMIT: '1', RATE_LIMIT_BURST: '5' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.rest('GET', LIST, { key: app.keys.viewer })))
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10)
    expect((await app.rest('GET', LIST)).status).toBe(200)
  })

  test('are checked for 401 before 429, and for 429 before 403', async () => {
    const app = await standing({ RATE_LIMIT: '1', RATE_LIMIT_BURST: '1' })
    const key = app.keys.viewer
    const create = (of: string | null) => app.rest('POST', LIST, { key: of, body: {} })
    expect((await create(key)).status).toBe(403)
    expect((await create(key)).status).toBe(429)
    expect((await create(null)).status).toBe(401)
    expect((await create('cpk_unknown')).status).toBe(401)
  })

  test('have no limit and no rate limit headers with a limit of 0', async () => {
    const app = await limited({
      RATE_LIMIT: '0',
      RATE_LIMIT_BURST: '1',
      REQUESTS_AT_ONCE: '0',
      ADDRESS_RATE_LIMIT: '0',
    })
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await app.rest('GET', LIST)
      expect([status, headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([200, null, null])
      expect((await app.rest('GET', LIST, { key: 'cpk_unknown' })).status).toBe(401)
    }
  })

  test('run one after the other with a concurrency of one, and all are answered', async () => {
    const app = await limited({ REQUESTS_AT_ONCE: '1' })
    const answers = await Promise.all(Array.from({ length: 30 }, () => app.rest('GET', LIST)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })
})

describe('unknown keys', () => {
  test('are counted by address before the look-up, and valid keys at that address still work', async () => {
    const app = await standing({ ADDRESS_RATE_LIMIT: '1', ADDRESS_RATE_LIMIT_BURST: '3' })
    expect((await app.rest('GET', LIST)).status).toBe(200)
    const guess = (i: number) => app.rest('GET', LIST, { key: `cpk_guess_${i}` })
    for (let i = 0; i < 3; i++) expect((await guess(i)).status).toBe(401)
    let lookUps = 0
    app.app.database.pools.api.on('acquire', () => lookUps++)
    const refused = await guess(4)
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '1'])
    expect(refused.headers.get('ratelimit')).toMatch(/^"address";r=0/)
    expect(lookUps).toBe(0)
    expect((await app.gql('{ viewer { role } }', {}, { key: 'cpk_another' })).status).toBe(429)
    expect((await app.rest('GET', LIST)).status).toBe(200)
  })

  test('are charged to the address, but a valid key and a request without a key are not', async () => {
    const app = await standing({ ADDRESS_RATE_LIMIT: '1', ADDRESS_RATE_LIMIT_BURST: '1' })
    for (const key of Object.values(app.keys))
      expect((await app.rest('GET', LIST, { key, tenant: app.tenant.workspaceId })).status).toBe(200)
    for (let i = 0; i < 5; i++) expect((await app.rest('GET', LIST, { key: null })).status).toBe(401)
  })

  test('are counted by the forwarded address of a trusted proxy only', async () => {
    const settings = { ADDRESS_RATE_LIMIT: '1', ADDRESS_RATE_LIMIT_BURST: '1' }
    const from = async (app: TestApp, address: string) =>
      (await app.rest('GET', LIST, { key: 'cpk_guess', headers: { 'x-forwarded-for': address } })).status
    const behind = await standing({ ...settings, TRUST_PROXY: '127.0.0.0/8, ::1' })
    expect(await from(behind, '203.0.113.1')).toBe(401)
    expect(await from(behind, '203.0.113.1')).toBe(429)
    // the client may send its own header before the part that the proxy adds
    expect(await from(behind, '198.51.100.1, 203.0.113.1')).toBe(429)
    expect(await from(behind, '203.0.113.2')).toBe(401)
    expect(await from(behind, '2001:db8::1')).toBe(401)
    expect(await from(behind, '2001:db8::2')).toBe(429)
    const direct = await standing(settings)
    expect(await from(direct, '203.0.113.1')).toBe(401)
    expect(await from(direct, '203.0.113.2')).toBe(429)
  })

  test('and pages without a key share the address limit, but the health check is free', async () => {
    const app = await standing({ ADDRESS_RATE_LIMIT: '1', ADDRESS_RATE_LIMIT_BURST: '1' })
    const status = async (path: string, headers = {}) => (await app.rest('GET', path, { key: null, headers })).status
    expect(await status('/metrics')).toBe(200)
    expect(await status('/openapi.json')).toBe(429)
    expect(await status('/docs/json')).toBe(429)
    expect(await status('/graphql', { accept: 'text/html' })).toBe(429)
    for (let i = 0; i < 5; i++) expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 200])
  })
})

describe('streams and waits', () => {
  const SUBSCRIPTION = 'subscription { revisionStatusChanged { to } }'
  async function subscribe(app: TestApp, key = app.keys.viewer) {
    const gone = new AbortController()
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      signal: gone.signal,
      headers: { 'x-api-key': key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: SUBSCRIPTION }),
    })
    return { response, end: () => gone.abort() }
  }

  test('of a workspace are limited: one stream more is a 429 until another ends', async () => {
    const app = await limited({ STREAMS_PER_WORKSPACE: '2' })
    const streams = [await subscribe(app), await subscribe(app, app.keys.admin)]
    expect(streams.map(({ response }) => response.status)).toEqual([200, 200])
    const refused = await subscribe(app)
    expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await refused.response.text()).toContain('"code":"RATE_LIMITED"')
    const elsewhere = await subscribe(app, app.sibling.keys.viewer)
    expect(elsewhere.response.status).toBe(200)
    streams[0]!.end()
    await expect.poll(async () => (await subscribe(app)).response.status, { timeout: 15_000 }).toBe(200)
  })

  test('have a separate limit for waits of listeners: a claim is a 429, and a heartbeat answers immediately', async () => {
    const app = await limited({ WAITS_PER_WORKSPACE: '1' })
    const own = await listener(app)
    const key = await listenerKey(app, own)
    const call = (what: string, body: object) => app.rest('POST', `/v2/listeners/${own.id}/${what}`, { key, body })
    const gone = new AbortController()
    const waiting = fetch(`${app.url}/v2/listeners/${own.id}/claims`, {
      method: 'POST',
      signal: gone.signal,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ max: 1, lease_seconds: 60, wait_seconds: 15 }),
    }).catch(() => null)
    const claim = { max: 1, lease_seconds: 60, wait_seconds: 10 }
    const { listenerWaits } = app.app.core.slots!
    const isFull = () => {
      const leave = listenerWaits.take(app.tenant.workspaceId, 'anybody')
      if (typeof leave === 'function') leave()
      return leave === 'workspace'
    }
    await expect.poll(isFull, { timeout: 15_000 }).toBe(true)
    const refused = await call('claims', claim)
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '5'])
    // without a wait it is answered normally
    expect((await call('claims', { ...claim, wait_seconds: 0 })).status).toBe(200)
    const began = performance.now()
    expect((await call('heartbeat', { lease_seconds: 60, wait_seconds: 20, claims: [] })).status).toBe(200)
    expect(performance.now() - began).toBeLessThan(10_000)
    gone.abort()
    await waiting
  })
})

describe('calls that keep a lease', () => {
  test('are never 429, neither above the key’s limit nor from an address with too many wrong keys', async () => {
    const app = await standing({
      RATE_LIMIT: '1',
      RATE_LIMIT_BURST: '1',
      ADDRESS_RATE_LIMIT: '1',
      ADDRESS_RATE_LIMIT_BURST: '1',
      REQUESTS_AT_ONCE: '1',
    })
    const own = await listener(base)
    const key = await listenerKey(base, own)
    expect((await app.rest('GET', LIST, { key: 'cpk_guess' })).status).toBe(401)
    expect((await app.rest('GET', LIST, { key: 'cpk_guess' })).status).toBe(429)
    const path = `/v2/listeners/${own.id}`
    const claim = `${path}/claims/${own.id}`
    const token = '1'
    const calls = [
      [`${path}/heartbeat`, { lease_seconds: 60, wait_seconds: 0, claims: [] }, 200],
      [`${claim}/complete`, { token, step_id: own.id, outcome: 'stopped' }, 409],
      [`${claim}/release`, { token }, 409],
    ] as const
    const many = Array.from({ length: 10 }, () => calls).flat()
    const answers = await Promise.all(many.map(([target, body]) => app.rest('POST', target, { key, body })))
    expect(answers.map(({ status }) => status)).toEqual(many.map(([, , status]) => status))
    const ordinary = () =>
      app.rest('POST', `${path}/claims`, { key, body: { max: 1, lease_seconds: 60, wait_seconds: 0 } })
    expect((await ordinary()).status).toBe(200)
    expect((await ordinary()).status).toBe(429)
  })

  test('of a builder are its heartbeats and reports, but not its requests for git credentials', async () => {
    const app = await standing({ RATE_LIMIT: '1', RATE_LIMIT_BURST: '1' })
    const key = await builderKey(base)
    const claim = `claims/${randomUUID()}`
    const call = async (what: string, body: object) =>
      (await app.rest('POST', `/v2/builders/${what}`, { key, body })).status
    for (let i = 0; i < 3; i++) {
      expect(await call('heartbeat', { claims: [] })).toBe(200)
      expect(await call(`${claim}/complete`, { token: '1', outcome: 'stopped' })).toBe(409)
      expect(await call(`${claim}/release`, { token: '1' })).toBe(409)
    }
    expect(await call(`${claim}/access`, { token: '1' })).toBe(409)
    expect(await call(`${claim}/access`, { token: '1' })).toBe(429)
  })
})

describe('heavy documents', () => {
  test('of one key run with limited concurrency, and all are answered', async () => {
    const app = await limited({ HEAVY_DOCUMENTS: '1' })
    const long = `{ viewer { role } } #${'x'.repeat(3000)}`
    const costly = '{ deployments(first: 100) { nodes { revisions(first: 30) { nodes { id } } } } }'
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => app.gql(i % 2 ? long : costly)))
    expect(answers.map(({ status, errors }) => [status, errors])).toEqual(answers.map(() => [200, undefined]))
  })

  test('above the queue length are 429', async () => {
    const app = await limited({ HEAVY_DOCUMENTS: '1', REQUESTS_AT_ONCE: '0' })
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        app.gql(`{ viewer { role } deployments { totalCount } } #${'x'.repeat(3000)}${i}`),
      ),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]!.errors?.[0].extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 1 })
    expect(refused[0]!.headers.get('retry-after')).toBe('1')
    expect((await app.gql(`{ viewer { role } } #${'x'.repeat(3000)}`)).status).toBe(200)
  })

  test('get some of their validation errors, not hundreds', async () => {
    const names = Array.from({ length: 300 }, (_, i) => `unknown${i}`)
    const { errors } = await base.gql(`{ viewer { ${names.join(' ')} } }`)
    expect(errors).toHaveLength(21)
    expect(errors?.[20].message).toMatch(/Too many validation errors/)
  })

  test('get error locations, except very long ones, where each location counts all lines before it', async () => {
    const located = async (lines: number) => (await base.gql(`${'\n'.repeat(lines)}{ unknown }`)).errors?.[0].locations
    expect(await located(900)).toEqual([{ line: 901, column: 3 }])
    expect(await located(1_000)).toBeUndefined()
    expect(await located(400_000)).toBeUndefined()
  })

  test('that repeat a field too often are rejected before validation', async () => {
    const { errors } = await base.gql(`{ ${'viewer { role } '.repeat(300)} }`, {}, { key: base.keys.viewer })
    expect(errors).toHaveLength(1)
    expect(errors?.[0].message).toMatch(/^The field viewer is repeated too often/)
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', status: 422 })
  })
})

test('a deployment has a limited number of upload URLs, and a used or expired one frees its place', async () => {
  const app = await limited({ UPLOADS_PER_DEPLOYMENT: '2' })
  const { body } = await app.rest('POST', LIST, {
    body: {
      name: 'uploaded',
      source: 'internal_source',
      source_config: {},
      source_revision_config: { graph_config_path: 'graph.json' },
      secrets: [],
    },
  })
  const ask = () => app.rest('POST', `/v2/deployments/${body.id}/upload-url`)
  const both = await Promise.all([ask(), ask(), ask()])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 200, 429])
  const refused = await ask()
  expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', detail: expect.stringContaining('the limit is 2') })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3500)
  const { db } = app.app.core
  const [first, second] = await db.upload.findMany({ where: { deploymentId: body.id } })
  await db.upload.update({ where: { id: first!.id }, data: { usedAt: new Date() } })
  expect((await ask()).status).toBe(200)
  await db.upload.update({ where: { id: second!.id }, data: { expiresAt: new Date(0) } })
  expect((await ask()).status).toBe(200)
  expect((await ask()).status).toBe(429)
})
