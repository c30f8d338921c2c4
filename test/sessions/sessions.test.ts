/** Sessions (docs/api-rules.md#sessions): two halves, only for the server's own pages, with the rights and lifetime of a key. */
import { beforeAll, describe, expect, test } from 'vitest'
import { issueSessionCode } from '../../src/domain/sessions/open.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { listener } from '../support/factories.ts'
import { asPage, type Browser, openSession, signIn } from './support.ts'

const app = useApp(() => ({ settings: { ADDRESS_RATE_LIMIT: '0' } }))

const status = async (headers: Record<string, string>) =>
  (await app.rest('GET', '/v2/deployments', { key: null, headers })).status
const codeOf = (grant: object = {}, options: object = {}) =>
  issueSessionCode(
    app.app.core,
    { kind: 'command_line', organizationId: app.tenant.organizationId, workspaceId: app.tenant.workspaceId, ...grant },
    { seconds: 600, ...options },
  )
const key = (how: object = {}) => newKey(app.app.core, { ...app.tenant, name: 'a key', ...how })

describe('signing in', () => {
  test('with a key answers one half as an HttpOnly cookie and the other in the body', async () => {
    const answer = await openSession(app, { api_key: app.keys.deployer })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const cookie = answer.headers.get('set-cookie')!
    expect(cookie).toMatch(/^pilothouse_[0-9a-f]{12}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=60\d{4}$/)
    const { session, half, workspace_id } = answer.body
    expect(half).toMatch(/^[\w-]{43}$/)
    expect(cookie).not.toContain(half)
    expect(workspace_id).toBe(app.tenant.workspaceId)
    expect(session).toMatchObject({ role: 'deployer', current: true, ended_at: null, actor: { kind: 'api_key' } })
    const stored = await app.app.core.db.session.findUniqueOrThrow({ where: { id: session.id } })
    for (const secret of [half, cookie.split(/[=;]/)[1]!]) expect(JSON.stringify(stored)).not.toContain(secret)
  })

  test('with an organization-wide key answers the workspace to start in', async () => {
    const { body } = await openSession(app, { api_key: app.keys.organization })
    expect(body.session.workspace_id).toBeNull()
    expect(body.workspace_id).toBe(app.tenant.workspaceId)
  })

  test('writes an event without a token', async () => {
    const { id } = await signIn(app, { api_key: app.keys.viewer })
    const event = await app.app.core.db.event.findFirstOrThrow({ where: { subjectId: id } })
    expect(event).toMatchObject({ type: 'session.created', workspaceId: app.tenant.workspaceId, actorKind: 'api_key' })
  })

  test('behind https sets a cookie that is sent only over https', async () => {
    const secure = await testApp({ beside: app, settings: { PUBLIC_URL: 'https://pilot.example.com' } })
    const answer = await secure.app.fastify.inject({
      method: 'POST',
      url: '/v2/sessions',
      headers: { host: 'pilot.example.com' },
      payload: { api_key: app.keys.viewer },
    })
    expect(answer.headers['set-cookie']).toMatch(/^__Host-pilothouse_\w+=[\w-]+; Path=\/; .*; Secure$/)
    await secure.close()
  })

  test.each([
    [{}, 422],
    [{ api_key: 'a', code: 'b' }, 422],
    [{ api_key: '' }, 422],
    [{ api_key: 'cpk_unknown' }, 401],
    [{ code: 'unknown' }, 401],
    ['{', 422],
  ])('refuses %j with %i', async (body, expected) => {
    expect((await openSession(app, body)).status).toBe(expected)
  })

  test('is refused for keys of machines', async () => {
    const { id } = await listener(app)
    for (const how of [
      { role: 'listener', listenerId: id },
      { role: 'agent', agentId: 'bot' },
    ])
      expect((await openSession(app, { api_key: await key(how) })).body).toMatchObject({ code: 'FORBIDDEN' })
  })

  test('is refused for pages of other origins', async () => {
    for (const headers of [
      { origin: 'https://evil.example.com' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect((await openSession(app, { api_key: app.keys.viewer }, headers as never)).status).toBe(403)
    expect((await openSession(app, { api_key: app.keys.viewer }, { origin: app.url })).status).toBe(201)
  })
})

describe('a code', () => {
  test('works once, also for two concurrent uses', async () => {
    const code = await codeOf()
    const both = await Promise.all([openSession(app, { code }), openSession(app, { code })])
    expect(both.map((one) => one.status).sort()).toEqual([201, 401])
    expect((await openSession(app, { code })).status).toBe(401)
  })

  test('expires', async () => {
    expect((await openSession(app, { code: await codeOf({}, { seconds: -1 }) })).status).toBe(401)
  })

  test('that is bound to a cookie does not work without it', async () => {
    const code = await codeOf({}, { boundTo: 'what the browser has' })
    const { cookie } = await signIn(app, { api_key: app.keys.viewer })
    const name = `${cookie.split('=')[0]}_code`
    expect((await openSession(app, { code })).status).toBe(401)
    expect((await openSession(app, { code }, { cookie: `${name}=guessed` })).status).toBe(401)
    const planted = `${name}=planted by a page at another port; `
    expect((await openSession(app, { code }, { cookie: `${planted}${name}=what the browser has` })).status).toBe(201)
  })

  test('that is bound to a cookie does not accept one that another host or port could set', async () => {
    const secure = await testApp({ beside: app, settings: { PUBLIC_URL: 'https://pilot.example.com' } })
    const code = await codeOf({}, { boundTo: 'planted' })
    const name = `${(await signIn(app, { api_key: app.keys.viewer })).cookie.split('=')[0]}_code`
    const beside = async (cookie: string) => {
      const headers = { host: 'pilot.example.com', cookie }
      return (await secure.app.fastify.inject({ method: 'POST', url: '/v2/sessions', headers, payload: { code } }))
        .statusCode
    }
    expect(await beside(`${name}=planted`)).toBe(401)
    expect(await beside(`__Host-${name}=another; ${name}=planted`)).toBe(401)
    expect(await beside(`__Host-${name}=planted`)).toBe(201)
    await secure.close()
  })

  test('of the command line opens an admin session with the command line as actor', async () => {
    const page = await signIn(app, { code: await codeOf() })
    const { data } = await app.gql('{ me { role actor { kind subject } session { id current } } }', {}, asPage(page))
    expect(data.me).toEqual({
      role: 'admin',
      actor: { kind: 'command_line', subject: null },
      session: { id: page.id, current: true },
    })
  })

  test('of a person opens a session with that person’s role, for at most 12 hours', async () => {
    const person = { kind: 'person', subject: 'jane', name: 'Jane', role: 'viewer' }
    const answer = await openSession(app, { code: await codeOf(person) })
    expect(answer.body.session).toMatchObject({ role: 'viewer', actor: { kind: 'person', id: 'jane', name: 'Jane' } })
    expect(Math.round((Date.parse(answer.body.session.expires_at) - Date.now()) / 3_600_000)).toBe(12)
  })

  test('of a key does not work after the key’s revocation', async () => {
    const { apiKeyId } = await app.app.core.db.session.findUniqueOrThrow({
      where: { id: (await signIn(app, { api_key: await key() })).id },
    })
    const code = await codeOf({ kind: 'api_key', apiKeyId })
    await app.app.core.db.apiKey.update({ where: { id: apiKeyId! }, data: { revokedAt: new Date() } })
    expect((await openSession(app, { code })).status).toBe(401)
  })
})

describe('a request over a session', () => {
  let page: Browser
  beforeAll(async () => {
    page = await signIn(app, { api_key: app.keys.deployer })
  })

  test('needs both halves', async () => {
    const { cookie, half } = page
    const site = { 'sec-fetch-site': 'same-origin' }
    expect(await status({ ...site, cookie, 'x-session': half })).toBe(200)
    expect(await status({ ...site, cookie })).toBe(401)
    expect(await status({ ...site, 'x-session': half })).toBe(401)
    const cookieAlone = await app.rest('GET', '/v2/deployments', { key: null, headers: { cookie } })
    expect(cookieAlone.body.detail).toMatch(/cookie alone is not a credential.*X-Session header/)
    expect(await status({ ...site, cookie, 'x-session': cookie.split('=')[1]! })).toBe(401)
    expect(await status({ ...site, cookie: `${cookie.split('=')[0]}=${half}`, 'x-session': half })).toBe(401)
    const other = await signIn(app, { api_key: app.keys.deployer })
    expect(await status({ ...site, cookie, 'x-session': other.half })).toBe(401)
  })

  test('is accepted despite cookies of the same name from another port, in one statement', async () => {
    const { cookie, headers } = page
    const name = cookie.split('=')[0]
    const others = (n: number) => Array.from({ length: n }, (_, i) => `${name}=planted${i}`)
    for (const cookies of [
      [`${name}=`, cookie],
      [cookie, ...others(3)],
      [...others(40), cookie, `__Host-${name}=x`],
    ]) {
      const asked = () => status({ ...headers, cookie: ['a=b', ...cookies].join('; ') })
      const sent = await countStatements(app.app.database, async () => expect(await asked()).toBe(200))
      expect(sent.filter((sql) => sql.includes('FROM sessions'))).toHaveLength(1)
    }
    expect(await status({ ...headers, cookie: others(40).join('; ') })).toBe(401)
  })

  test('must come from a page of this server, with any method', async () => {
    const { cookie, half } = page
    const shown = { cookie, 'x-session': half }
    const own = new URL(app.url)
    expect(await status({ ...shown, origin: app.url })).toBe(200)
    expect(await status({ ...shown, 'sec-fetch-site': 'same-origin' })).toBe(200)
    for (const headers of [
      {},
      { origin: 'null' },
      { origin: `http://${own.hostname}:1` },
      { origin: `https://${own.host}` },
      { origin: `${app.url}/path` },
      { origin: 'http://evil.example.com' },
      { 'sec-fetch-site': 'same-site', origin: app.url },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ])
      expect(await status({ ...shown, ...(headers as object) }), JSON.stringify(headers)).toBe(403)
    const asked = await app.gql('{ me { role } }', {}, { key: null, headers: shown })
    expect(asked.status).toBe(403)
  })

  test('at another host name must come from a page of that host name', async () => {
    const shown = { cookie: page.cookie, 'x-session': page.half, host: 'pilot.internal:8443' }
    const at = (origin: string) =>
      app.app.fastify
        .inject({ method: 'GET', url: '/v2/deployments', headers: { ...shown, origin } })
        .then(({ statusCode }) => statusCode)
    expect(await at('https://pilot.internal:8443')).toBe(200)
    expect(await at('https://pilot.internal')).toBe(403)
    expect(await at('https://other.internal:8443')).toBe(403)
  })

  test('with an API key or a JWT uses that credential instead', async () => {
    const { data } = await app.gql(
      '{ me { role session { id } } }',
      {},
      { key: app.keys.viewer, headers: page.headers },
    )
    expect(data.me).toEqual({ role: 'viewer', session: null })
    expect(await status({ ...page.headers, authorization: 'Bearer cpk_wrong' })).toBe(401)
  })

  test('has the current role and the budgets of its key', async () => {
    expect((await app.rest('POST', '/v2/deployments', { ...asPage(page), body: {} })).status).toBe(422)
    const viewer = await signIn(app, { api_key: app.keys.viewer })
    expect((await app.rest('POST', '/v2/deployments', { ...asPage(viewer), body: {} })).status).toBe(403)
    const { actor } = await app.context(app.keys.viewer)
    const { data } = await app.gql('{ me { actor { subject } } }', {}, asPage(viewer))
    expect(data.me.actor.subject).toBe(actor.subject)
  })

  test('can’t reach another tenant', async () => {
    const call = { key: null, headers: { ...page.headers, 'x-tenant-id': app.other.workspaceId } }
    expect((await app.rest('GET', '/v2/deployments', call)).status).toBe(403)
  })

  test('needs as many statements as one with its key: none, once cached', async () => {
    for (const headers of [page.headers, { 'x-api-key': app.keys.deployer }]) {
      const asked = async () => expect(await status(headers)).toBe(200)
      await asked()
      const sent = await countStatements(app.app.database, asked)
      expect(sent.filter((sql) => /sessions|api_keys/.test(sql))).toEqual([])
    }
  })

  test('in GraphQL needs as many statements as one with its key: the query itself', async () => {
    // a different query each time, because responses may be cached
    let first = 0
    for (const call of [asPage(page), { key: app.keys.deployer }])
      for (const known of [false, true]) {
        first += 1
        const asked = async () => {
          const { errors } = await app.gql(
            'query ($first: Int!) { deployments(first: $first) { nodes { id name } } }',
            { first },
            call,
          )
          expect(errors).toBeUndefined()
        }
        const sent = await countStatements(app.app.database, asked)
        if (known) expect(sent, sent.join('\n')).toHaveLength(1)
      }
  })
})
