/** The callback of a provider: the page, the stored outcome and the response of the waiting call. */
import { request } from 'node:http'
import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { openToken } from '../../src/domain/oauth/tokens/token.ts'
import type { Prisma } from '../../src/generated/prisma/client.ts'
import { newKey, useApp } from '../support/app.ts'
import { idToken } from '../support/oauth-access.ts'
import {
  authenticate,
  connectedToken,
  LOCAL,
  oauthProvider,
  openPage,
  SCOPES,
  type TestProvider,
  useOAuthServer,
} from './support.ts'

const lines: string[] = []
const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
const server = useOAuthServer()
const app = useApp(() => ({ settings: LOCAL, overrides: { log } }))
let provider: TestProvider
/** all issued states */
const givenOut: string[] = []
beforeAll(async () => {
  provider = await oauthProvider(app, server, { name: 'Acme' })
})

const db = () => app.app.core.db
const authorization = (id: string) => db().oAuthAuthorization.findUniqueOrThrow({ where: { id } })
const wait = (authId: string, timeout = 0) =>
  app.rest('GET', `/v2/auth/wait/${authId}?timeout=${timeout}`, { key: app.keys.deployer })
const tokens = () => db().oAuthToken.count()

/** Starts with a new provider, independent of other tests. */
async function begin(how: { agentId?: string; provider?: TestProvider; scopes?: string[] } = {}) {
  const asked = await authenticate(app, { provider, forceNew: true, ...how })
  expect(asked.status, asked.text).toBe(200)
  const { url, auth_id: authId } = asked.body as { url: string; auth_id: string }
  const state = new URL(url).searchParams.get('state')!
  givenOut.push(state)
  return { url, authId, state }
}

/** The same after the person consented. */
async function visited(how: Parameters<typeof begin>[0] = {}) {
  const begun = await begin(how)
  return { ...begun, callback: await server.visit(begun.url) }
}

const at = (parameters: Record<string, string> | string, providerId = provider.providerId) =>
  `${app.url}/v2/auth/callback/${providerId}?${new URLSearchParams(parameters)}`

const ALICE = idToken({ sub: 'alice', email: 'alice@example.com' })

/** Expects a failure with this reason, also for the waiting call. */
async function failedWith(authId: string, reason: string) {
  expect(await authorization(authId)).toMatchObject({ status: 'failed', failure: reason, codeVerifier: null })
  expect(await wait(authId)).toMatchObject({
    status: 409,
    body: { code: 'AUTHORIZATION_FAILED', detail: `${reason} Authenticate again.` },
  })
}

test('the callback page loads nothing, is not cached and sends no referrer', async () => {
  const { url } = await begin()
  const page = await openPage(await server.visit(url))
  expect(page.status).toBe(200)
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  })
})

test('a person who declines sees that nothing is connected, and the waiting call fails immediately', async () => {
  const before = await tokens()
  const { url, authId } = await begin({ agentId: 'declined' })
  const waiting = wait(authId, 60)
  const callback = await server.visit(url, { decline: true })
  const page = await openPage(callback)
  expect(page.status).toBe(403)
  const reloaded = 'Nothing was connected</h1><p>This link was used already. Access was declined at Acme. To try again'
  expect((await openPage(callback)).text).toContain(reloaded)
  expect(page.text).toContain('Nothing was connected')
  expect(page.text).toContain('Access was declined at Acme.')
  expect(await waiting).toMatchObject({ status: 409, body: { code: 'AUTHORIZATION_FAILED' } })
  await failedWith(authId, 'Access was declined at Acme.')
  expect(await tokens()).toBe(before)
})

test('an error that an admin must fix says so', async () => {
  const { state, authId } = await begin()
  const page = await openPage(at({ state, error: 'unauthorized_client' }))
  const reason =
    "The OAuth provider 'Acme' answered with an error: unauthorized_client. An admin has to check how the client is registered there."
  expect([page.status, page.text.includes('An admin has to check how the client is registered there. To try')]).toEqual(
    [409, true],
  )
  await failedWith(authId, reason)
})

test('the page shows only a plain error code of the provider', async () => {
  const known = await begin()
  const page = await openPage(at({ state: known.state, error: 'invalid_scope', error_description: 'SECRET <b>' }))
  expect([page.status, page.text.includes('SECRET')]).toEqual([409, false])
  await failedWith(known.authId, "The OAuth provider 'Acme' answered with an error: invalid_scope.")
  const strange = await begin()
  const other = await openPage(at({ state: strange.state, error: '<script>alert(1)</script>' }))
  expect([other.status, other.text.includes('script')]).toEqual([409, false])
  await failedWith(strange.authId, "The OAuth provider 'Acme' answered with an error.")
})

test('a forged, an expired and a used state connect nothing', async () => {
  const refuse = async (url: string, says: string) => {
    const page = await openPage(url)
    expect(page.status).toBe(403)
    expect(page.text).toContain(says)
  }
  const before = await tokens()
  await refuse(at({ state: 'made-up', code: 'x' }), 'Nothing was connected</h1><p>This link is unknown, or its')

  const expired = await begin()
  const late = await server.visit(expired.url)
  await db().$executeRaw`UPDATE oauth_authorizations SET expires_at = now() WHERE id = ${expired.authId}::uuid`
  await refuse(late, 'Nothing was connected</h1><p>This link has expired.')
  expect((await wait(expired.authId)).body.detail).toBe(
    'The authorization was not finished within 15 minutes. Authenticate again.',
  )
  expect(await tokens()).toBe(before)

  const used = await begin()
  const callback = await server.visit(used.url)
  expect((await openPage(callback)).status).toBe(200)
  const asked = server.tokenRequests.length
  // the person reloads the page
  await refuse(callback, 'Used already</h1><p>This link was used already, and the account was connected then.')
  expect(server.tokenRequests.length).toBe(asked)
  expect((await wait(used.authId)).body.status).toBe('completed')
})

test('a state works only with its own provider and stays valid after a callback of another', async () => {
  const other = await oauthProvider(app, server)
  const { callback, authId } = await visited()
  for (const providerId of [other.providerId, 'unknown', provider.id, '%00', 'a'.repeat(300)])
    expect((await openPage(callback.replace(provider.providerId, providerId))).status).toBeGreaterThanOrEqual(400)
  expect(await authorization(authId)).toMatchObject({ status: 'pending' })
  expect((await openPage(callback)).status).toBe(200)
})

test('a provider of the same name in another organization is a different one', async () => {
  const theirs = await oauthProvider(app, server, {
    providerId: `${provider.providerId}`,
    organizationId: app.other.organizationId,
  })
  const asked = await authenticate(app, { provider: theirs, key: app.other.keys.admin })
  expect((await openPage(await server.visit(asked.body.url))).status).toBe(200)
  expect(await db().oAuthToken.findMany({ where: { workspaceId: app.other.workspaceId } })).toMatchObject([
    { oauthProviderId: theirs.id },
  ])
})

test('an incomplete callback and a repeated parameter do not consume the state', async () => {
  const { callback, authId, state } = await visited()
  const bad = [
    at(''),
    at({ state }),
    at({ code: 'x' }),
    at({ state: 'a\0b', code: 'x' }),
    `${callback}&state=${state}`,
    `${callback}&code=other`,
  ]
  for (const address of [...bad, `${callback}&extra=1&extra=2`]) {
    const page = await openPage(address)
    expect([page.status, page.headers.get('content-type')]).toEqual([422, 'text/html; charset=utf-8'])
    expect(page.text).not.toContain(state)
  }
  expect(await authorization(authId)).toMatchObject({ status: 'pending' })
  expect((await openPage(callback)).status).toBe(200)
})

test('a HEAD request does not consume the state', async () => {
  const { callback } = await visited()
  expect((await openPage(callback, { method: 'HEAD' })).status).toBeGreaterThanOrEqual(400)
  expect((await openPage(callback)).status).toBe(200)
})

test('a provider may post a form instead of a redirect', async () => {
  const { url, authId } = await begin({ agentId: 'poster' })
  const parameters = new URL(await server.visit(url)).searchParams
  const path = `${app.url}/v2/auth/callback/${provider.providerId}`
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    openPage(path, { method: 'POST', body, headers: { 'content-type': type } })
  const refused = [
    await post(''),
    await post(JSON.stringify(Object.fromEntries(parameters)), 'application/json'),
    await post(`${parameters}&padding=${'x'.repeat(65 * 1024)}`),
    await post(`${parameters}&state=other`),
  ]
  expect(refused.map(({ status }) => status)).toEqual([422, 415, 413, 422])
  for (const page of refused) expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect((await post(`${parameters}`)).text).toContain('the agent “poster” may use it')
  expect((await wait(authId)).body.status).toBe('completed')
})

test('a form with thousands of parameters is rejected quickly', async () => {
  const names = Array.from({ length: 16_000 }, (_, i) => i.toString(36))
  const path = `${app.url}/v2/auth/callback/${provider.providerId}`
  const post = (body: string) =>
    openPage(path, { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
  // CPU time of this process, which is the server
  const began = process.cpuUsage()
  expect((await post(`state=made-up&code=x&${names.join('&')}`)).status).toBe(403)
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(1000)
  expect((await post(`state=made-up&code=x&${names.join('&')}&zz`)).status).toBe(422)
})

test('one of two concurrent callbacks connects, and the other says that the link was used', async () => {
  const { callback } = await visited({ agentId: 'tabs' })
  const asked = server.tokenRequests.length
  const pages = await Promise.all([openPage(callback), openPage(callback), openPage(callback)])
  expect(pages.map(({ status }) => status).sort()).toEqual([200, 403, 403])
  expect(server.tokenRequests.length).toBe(asked + 1)
})

test('two concurrent callbacks for one account store one token with both agents', async () => {
  const fresh = await oauthProvider(app, server)
  const begun = [await begin({ provider: fresh, agentId: 'one' }), await begin({ provider: fresh, agentId: 'two' })]
  const callbacks = await Promise.all(begun.map(({ url }) => server.visit(url)))
  const pages = await Promise.all(callbacks.map((callback) => openPage(callback)))
  expect(pages.map(({ status }) => status)).toEqual([200, 200])
  const kept = await db().oAuthToken.findMany({ where: { oauthProviderId: fresh.id }, include: { connections: true } })
  expect(kept).toMatchObject([{ version: 2, accountId: 'alice' }])
  expect(kept[0]!.connections.map(({ agentId }) => agentId).sort()).toEqual(['one', 'two'])
})

test('an expired, a forged and a used code are rejected', async () => {
  const before = await tokens()
  const reason = "The OAuth provider 'Acme' answered: invalid_grant. The link was followed too late, or twice."
  const late = await begin()
  const callback = await server.visit(late.url)
  server.expireCodes()
  const page = await openPage(callback)
  expect([page.status, page.text]).toEqual([409, expect.stringContaining('The link was followed too late, or twice.')])
  await failedWith(late.authId, reason)
  const madeUp = await begin()
  expect((await openPage(at({ state: madeUp.state, code: 'made-up' }))).status).toBe(409)
  await failedWith(madeUp.authId, reason)
  expect(await tokens()).toBe(before)

  const { url } = await begin()
  const good = await server.visit(url)
  expect((await openPage(good)).status).toBe(200)
  const replayed = await begin()
  const code = new URL(good).searchParams.get('code')!
  expect((await openPage(at({ state: replayed.state, code }))).status).toBe(409)
  await failedWith(replayed.authId, reason)
})

test('PKCE rejects a code that another person’s login obtained', async () => {
  const [victim, attacker] = [await begin(), await begin()]
  const code = new URL(await server.visit(victim.url)).searchParams.get('code')!
  expect((await openPage(at({ state: attacker.state, code }))).status).toBe(409)
  expect((await authorization(attacker.authId)).status).toBe('failed')
})

test.each([
  ['answers 500', '500', 'answered 500'],
  ['answers HTML', 'html', 'answered with HTML instead of a token'],
  ['redirects', 'redirect', 'answered with a redirect'],
  ['closes the connection', 'reset', ''],
  ['answers truncated JSON', { status: 200, body: '{"access_token":"SECRET"' }, ''],
] as const)('a token endpoint that %s answers 502 and stores nothing', async (_, disturbance, clause) => {
  const before = await tokens()
  const { callback, authId } = await visited()
  server.next(disturbance)
  const page = await openPage(callback)
  expect(page.status).toBe(502)
  expect(page.text).toContain('Nothing was connected')
  expect(page.text).toContain('. To try again later, begin where you were given the link.')
  // once
  expect(page.text.match(/try again/gi)).toHaveLength(1)
  expect(page.text).not.toContain('SECRET')
  const { status, failure } = await authorization(authId)
  expect([status, failure]).toEqual(['failed', expect.stringContaining(`The OAuth provider 'Acme' ${clause}`)])
  expect((await wait(authId)).status).toBe(409)
  expect(await tokens()).toBe(before)
  expect(lines.join('')).not.toContain('SECRET')
})

test.each([
  ['invalid_client', 'An admin has to check the provider’s client_id and client_secret.'],
  ['unauthorized_client', 'An admin has to check how the client is registered there.'],
])('a client that the provider rejects (%s) is reported as a task for an admin', async (error, says) => {
  const { callback, authId } = await visited()
  server.next({ status: 401, body: JSON.stringify({ error }) })
  const page = await openPage(callback)
  expect([page.status, page.text]).toEqual([409, expect.stringContaining(says)])
  expect((await authorization(authId)).status).toBe('failed')
})

test('the page shows an unknown error code, but no other text of the provider', async () => {
  const { callback, authId } = await visited()
  server.next({ status: 400, body: '{"error":"constructor"}' })
  expect((await openPage(callback)).status).toBe(409)
  await failedWith(authId, "The OAuth provider 'Acme' answered: constructor.")
})

test('the exchange waits for a slow token endpoint, even after the browser disconnects', async () => {
  const { callback, authId } = await visited({ agentId: 'patient' })
  const slow = server.next('hang')
  const browser = request(callback).on('error', () => {})
  browser.end()
  await slow.reached
  expect(await authorization(authId)).toMatchObject({ status: 'exchanging' })
  const again = await openPage(callback)
  expect([again.status, again.text]).toEqual([
    403,
    expect.stringContaining(
      'Not finished yet</h1><p>This link was used already, and its result is not known yet. Reload this page',
    ),
  ])
  expect((await wait(authId)).body.status).toBe('pending')
  browser.destroy()
  const waiting = wait(authId, 60)
  slow.release()
  expect((await waiting).body).toMatchObject({ status: 'completed', oauth_token_id: expect.any(String) })
})

test('an exchange that a dead server left unfinished fails after two minutes', async () => {
  const { callback, authId } = await visited()
  const hung = server.next('hang')
  const page = openPage(callback)
  await hung.reached
  const { expiresAt } = await authorization(authId)
  expect(expiresAt.getTime() - Date.now()).toBeLessThan(121_000)
  await db().$executeRaw`UPDATE oauth_authorizations SET expires_at = now() WHERE id = ${authId}::uuid`
  expect((await wait(authId)).body.detail).toContain('The server stopped during the authorization.')
  expect((await openPage(callback)).text).toContain(
    'Nothing was connected</h1><p>This link was used already. The server stopped during the authorization. To try',
  )
  hung.release()
  expect((await page).status).toBe(200)
})

test('a token with too few scopes is stored, but no agent is connected to it', async () => {
  const fresh = await oauthProvider(app, server, { name: 'Stingy' })
  const { callback, authId } = await visited({ provider: fresh, agentId: 'greedy', scopes: ['read', 'write', 'email'] })
  server.next({
    status: 200,
    body: JSON.stringify({ access_token: 'at', token_type: 'Bearer', scope: 'read', expires_in: 3600 }),
  })
  const page = await openPage(callback)
  expect([page.status, page.text]).toEqual([409, expect.stringContaining('granted only: read')])
  const says =
    'The token is kept, but no agent was connected to it. Begin again where you were given the link, and allow all that'
  // also after a reload
  for (const { text } of [page, await openPage(callback)]) {
    expect(text).toContain('<h1>Not everything was granted</h1>')
    expect(text).toContain(says)
  }
  const kept = await db().oAuthToken.findMany({ where: { oauthProviderId: fresh.id }, include: { connections: true } })
  expect(kept).toMatchObject([{ scopes: ['read', 'email'], refreshable: false, connections: [] }])
  await failedWith(
    authId,
    "The OAuth provider 'Stingy' granted only: read, email. The token is kept, but no agent was connected to it.",
  )
})

/** The same account again, with these scopes. */
async function consentAgain(to: TestProvider, scopes: string[], agentId?: string) {
  const { callback, authId } = await visited({ provider: to, scopes, agentId })
  return { authId, open: () => openPage(callback) }
}

test('the page names the agents that continue to use a renewed token', async () => {
  const fresh = await oauthProvider(app, server)
  const { tokenId } = await connectedToken(app, server, { provider: fresh })
  const told = async () => (await (await consentAgain(fresh, SCOPES)).open()).text
  const connect = (agentId: string) =>
    app.rest('POST', `/v2/auth/agents/${agentId}/connections`, {
      key: app.keys.deployer,
      body: { oauth_token_id: tokenId },
    })
  expect(await told()).toContain(', and no agent may use it yet. You can close')
  await connect('pg1')
  expect(await told()).toContain(', and the agent “pg1” goes on using it. You can close')
  await connect('pg2')
  expect(await told()).toContain(', and the agents “pg1” and “pg2” go on using it. You can close')
  for (const agentId of ['pg3', 'pg4', 'pg5']) await connect(agentId)
  expect(await told()).toContain(', and the agents “pg1”, “pg2”, “pg3” and 2 more go on using it. You can close')
  const named = (await (await consentAgain(fresh, SCOPES, 'pg4')).open()).text
  expect(named).toContain(', and the agent “pg4” may use it. You can close')
})

test('the page names the scopes that connected agents lost', async () => {
  const fresh = await oauthProvider(app, server)
  const scopes = [...SCOPES, 'write']
  const { tokenId } = await connectedToken(app, server, { provider: fresh, scopes, agentId: 'writer' })
  const lost = 'The token has lost permissions: write. Agents that need them can’t use it until they are given again.'
  for (const agentId of ['reader', undefined, 'writer']) {
    await db().oAuthToken.update({ where: { id: tokenId }, data: { scopes } })
    const again = await consentAgain(fresh, SCOPES, agentId)
    const page = await again.open()
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')])
    expect(page.text).toContain(`${lost} You can close this page.`)
    expect((await wait(again.authId)).body.status).toBe('completed')
  }
  // nothing is lost a second time
  expect((await (await consentAgain(fresh, SCOPES)).open()).text).not.toContain('lost')
})

test('the page lists at most twenty lost scopes', async () => {
  const fresh = await oauthProvider(app, server)
  const { tokenId } = await connectedToken(app, server, { provider: fresh, agentId: 'many' })
  const many = Array.from({ length: 23 }, (_, i) => `s${i}`)
  await db().oAuthToken.update({ where: { id: tokenId }, data: { scopes: [...SCOPES, ...many] } })
  const { text } = await (await consentAgain(fresh, SCOPES)).open()
  expect(text).toContain(`has lost permissions: ${many.slice(0, 20).join(', ')} and 3 more. Agents`)
})

test('the page mentions no lost scopes for a token without connected agents', async () => {
  const fresh = await oauthProvider(app, server)
  await connectedToken(app, server, { provider: fresh, scopes: [...SCOPES, 'write'] })
  const page = await (await consentAgain(fresh, SCOPES, 'first')).open()
  expect([page.status, page.text.includes('lost')]).toEqual([200, false])
})

test('connected agents lose scopes that are not granted again, even if the new agent is not connected', async () => {
  const fresh = await oauthProvider(app, server, { name: 'Stingy' })
  const { tokenId } = await connectedToken(app, server, { provider: fresh, agentId: 'old' })
  const again = await consentAgain(fresh, [...SCOPES, 'write'], 'new')
  const body = { access_token: 'at', token_type: 'Bearer', scope: 'write', id_token: ALICE }
  server.next({ status: 200, body: JSON.stringify(body) })
  expect((await again.open()).status).toBe(409)
  expect(await db().agentConnection.findMany({ where: { tokenId } })).toMatchObject([{ agentId: 'old' }])
  await failedWith(
    again.authId,
    "The OAuth provider 'Stingy' granted only: write, openid, email. The token is kept, but only for the agents that were connected to it before. The token has lost permissions: read. Agents that need them can’t use it until they are given again.",
  )
})

test('a response without a refresh token keeps the old one of the same account, unless a refresh may have used it up', async () => {
  const fresh = await oauthProvider(app, server)
  const { tokenId } = await connectedToken(app, server, { provider: fresh })
  const again = async () => {
    const callback = await server.visit((await begin({ provider: fresh })).url)
    const body = { access_token: 'at', token_type: 'Bearer', scope: SCOPES.join(' '), id_token: ALICE }
    server.next({ status: 200, body: JSON.stringify(body) })
    expect((await openPage(callback)).status).toBe(200)
    return db().oAuthToken.findUniqueOrThrow({ where: { id: tokenId } })
  }
  expect(await again()).toMatchObject({ refreshable: true, version: 2, expiresAt: null })
  await db()
    .$executeRaw`UPDATE oauth_tokens SET refresh_id = gen_random_uuid(), refresh_until = now() + interval '1 minute' WHERE id = ${tokenId}::uuid`
  expect(await again()).toMatchObject({ refreshable: false, version: 3 })
})

test('a callback after the provider’s deletion connects nothing', async () => {
  const revocations = await db().tokenRevocation.count()
  const fresh = await oauthProvider(app, server)
  const { callback } = await visited({ provider: fresh })
  const slow = server.next('hang')
  const page = openPage(callback)
  await slow.reached
  expect((await app.rest('DELETE', `/v2/auth/providers/${fresh.providerId}`)).status).toBe(200)
  slow.release()
  expect(await page).toMatchObject({
    status: 409,
    text: expect.stringContaining('was deleted during the authorization'),
  })
  expect((await openPage(callback)).text).toContain('or its OAuth provider was deleted.')
  // the newly issued token is revoked
  expect(await db().tokenRevocation.count()).toBe(revocations + 1)
  expect((await openPage(callback)).status).toBe(403)
})

test('a callback concurrent with the provider’s deletion connects nothing', async () => {
  const fresh = await oauthProvider(app, server)
  // without openid there is no request before this one
  const { callback, authId } = await visited({ provider: fresh, scopes: ['read'] })
  const waits = async () =>
    (
      await db().$queryRaw<unknown[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    ).length > 0
  let page: ReturnType<typeof openPage>
  const slow = server.next('hang')
  // like deleteProvider, with a pause
  const deletion = async (sql: Prisma.TransactionClient) => {
    page = openPage(callback)
    await slow.reached
    await sql.$queryRaw`SELECT 1 FROM oauth_providers WHERE id = ${fresh.id}::uuid FOR UPDATE`
    slow.release()
    await expect.poll(waits).toBe(true)
    await sql.oAuthProvider.delete({ where: { id: fresh.id } })
  }
  await db().$transaction(deletion, { timeout: 15_000 })
  expect(await page!).toMatchObject({
    status: 409,
    text: expect.stringContaining('was deleted during the authorization'),
  })
  expect((await wait(authId)).status).toBe(404)
})

test('a callback for a revoked key connects nothing', async () => {
  const { workspaceId, organizationId } = app.tenant
  const key = await newKey(app.app.core, { workspaceId, organizationId, role: 'deployer' })
  const asked = await authenticate(app, { provider, key })
  const callback = await server.visit(asked.body.url)
  const { subject } = (await app.context(key)).actor
  await db().apiKey.update({ where: { id: subject }, data: { revokedAt: new Date() } })
  expect((await openPage(callback)).status).toBe(403)
  expect(await db().oAuthToken.count({ where: { subject } })).toBe(0)
})

test('the page escapes the name of an account', async () => {
  const { url } = await begin()
  const callback = await server.visit(url, { account: '<b>&' })
  const page = await openPage(callback)
  expect(page.status).toBe(200)
  expect(page.text).toContain('&lt;b&gt;&amp;@example.com')
  expect(page.text).not.toContain('<b>')
})

test('an internal error answers 500 with only the request id', async () => {
  const { callback, authId } = await visited()
  await db().$executeRaw`UPDATE oauth_authorizations SET code_verifier = 'broken' WHERE id = ${authId}::uuid`
  const page = await openPage(callback)
  expect([page.status, page.text]).toEqual([500, expect.stringContaining(page.headers.get('x-request-id')!)])
  await failedWith(authId, 'An internal error occurred on this server.')
})

test('no state, code or token of the tests above is in the log', async () => {
  const codes = server.tokenRequests.flatMap(({ code }) => code ?? []).filter((code) => code !== 'made-up')
  const kept = (await db().oAuthToken.findMany()).flatMap((token) => {
    const { accessToken, refreshToken } = openToken(app.app.core.keyring, token)
    return [accessToken, refreshToken].filter((text) => text !== null && text !== 'at')
  })
  const logged = lines.join('')
  expect([givenOut.length > 20, codes.length > 20, kept.length > 5, logged.includes('callback')]).toEqual(
    Array(4).fill(true),
  )
  for (const secret of [...givenOut, ...codes, ...kept]) expect(logged.includes(secret!)).toBe(false)
})
