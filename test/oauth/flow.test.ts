/** The whole flow over HTTP against a real OAuth provider, from authenticate to the agent's token. */
import { describe, expect, test } from 'vitest'
import { openToken } from '../../src/domain/oauth/tokens/token.ts'
import { newKey, useApp } from '../support/app.ts'
import { idToken } from '../support/oauth-access.ts'
import { authenticate, connectedToken, LOCAL, oauthProvider, openPage, SCOPES, useOAuthServer } from './support.ts'

const server = useOAuthServer()
const app = useApp(() => ({ settings: LOCAL }))
const beside = useApp(() => ({ settings: LOCAL, beside: app }))

const db = () => app.app.core.db
const subjectOf = async (key: string) => (await app.context(key)).actor.subject
const row = (id: string) => db().oAuthToken.findUniqueOrThrow({ where: { id }, include: { connections: true } })
const wait = (authId: string, timeout = 0, on = app, key = app.keys.deployer) =>
  on.rest('GET', `/v2/auth/wait/${authId}?timeout=${timeout}`, { key })

describe.each(['none', 'client_secret_basic', 'client_secret_post'] as const)('a client of the method %s', (method) => {
  test.each([true, false])('gets a token for an agent (PKCE: %s)', async (pkce) => {
    const provider = await oauthProvider(app, server, { method, pkce })
    const started = await authenticate(app, { provider, agentId: 'researcher' })
    expect(started.body).toEqual({
      status: 'pending',
      url: expect.any(String),
      auth_id: expect.any(String),
      oauth_token_id: null,
    })
    const query = new URL(started.body.url).searchParams
    expect(query.get('code_challenge_method')).toBe(pkce ? 'S256' : null)
    expect(query.get('redirect_uri')).toBe(`${app.url}/v2/auth/callback/${provider.providerId}`)

    const page = await openPage(await server.visit(started.body.url))
    expect(page.status).toBe(200)
    expect(page.text).toContain('alice@example.com')
    expect(page.text).toContain(provider.name)
    expect(page.text).toContain('the agent “researcher” may use it')
    expect(page.text).toContain('You can close this page.')

    const done = await wait(started.body.auth_id)
    expect(done.body).toEqual({
      status: 'completed',
      url: null,
      auth_id: started.body.auth_id,
      oauth_token_id: expect.any(String),
    })
    const token = await row(done.body.oauth_token_id)
    expect(token).toMatchObject({
      subject: await subjectOf(app.keys.deployer),
      workspaceId: app.tenant.workspaceId,
      accountId: 'alice',
      accountLabel: 'alice@example.com',
      refreshable: true,
      tokenUrl: server.tokenUrl,
      version: 1,
      isDefault: false,
      connections: [{ agentId: 'researcher', createdBy: token.subject }],
    })
    expect([...token.scopes].sort()).toEqual([...SCOPES].sort())
    const left = token.expiresAt!.getTime() - Date.now()
    expect(left).toBeGreaterThan(3_500_000)
    // the lifetime starts before the request
    expect(left).toBeLessThan(3_600_000)
    const { accessToken, refreshToken } = openToken(app.app.core.keyring, token)
    expect(await server.isActive(accessToken)).toBe(true)
    expect(await server.isActive(refreshToken!)).toBe(true)
    const expected = { none: 'none', client_secret_basic: 'basic', client_secret_post: 'post' }[method]
    expect(server.tokenRequests.at(-1)).toMatchObject({ grantType: 'authorization_code', auth: expected, status: 200 })

    const again = await authenticate(app, { provider, agentId: 'researcher' })
    expect(again.body).toEqual({ status: 'completed', url: null, auth_id: null, oauth_token_id: token.id })
  })
})

test('only the connected agent gets the token, with its own key', async () => {
  const { provider, tokenId } = await connectedToken(app, server, { agentId: 'getter' })
  const { workspaceId, organizationId } = app.tenant
  const get = async (agentId: string) => {
    const key = await newKey(app.app.core, { workspaceId, organizationId, role: 'agent', agentId })
    const path = `/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`
    return app.rest('POST', path, { key, body: { scopes: ['read'] } })
  }
  const { accessToken } = openToken(app.app.core.keyring, await row(tokenId))
  expect(await get('getter')).toMatchObject({ status: 200, body: { access_token: accessToken } })
  expect(await get('stranger')).toMatchObject({ status: 409, body: { code: 'CONNECTION_REQUIRED' } })
})

test('events show the token, the connection and the creator', async () => {
  const { tokenId, connectionId } = await connectedToken(app, server, { agentId: 'told' })
  const events = await db().event.findMany({
    where: { subjectId: { in: [tokenId, connectionId!] } },
    orderBy: { sequence: 'asc' },
  })
  const actor = await subjectOf(app.keys.deployer)
  expect(events).toMatchObject([
    { type: 'oauth_token.created', actor },
    { type: 'connection.created', actor },
  ])
})

test('waiting calls on two servers end immediately after the callback', async () => {
  const provider = await oauthProvider(app, server)
  const started = await authenticate(app, { provider })
  const began = performance.now()
  const waiting = [wait(started.body.auth_id, 60), wait(started.body.auth_id, 60, beside)]
  expect((await openPage(await server.visit(started.body.url))).status).toBe(200)
  for (const answer of await Promise.all(waiting)) expect(answer.body.status).toBe('completed')
  expect(performance.now() - began).toBeLessThan(20_000)
})

test('the callback may reach another server than the start', async () => {
  const provider = await oauthProvider(app, server)
  const started = await authenticate(app, { provider })
  const callback = await server.visit(started.body.url)
  expect((await openPage(callback.replace(app.url, beside.url))).status).toBe(200)
  expect((await wait(started.body.auth_id)).body.status).toBe('completed')
})

test('an agent that is named later is connected to the existing token', async () => {
  const first = await connectedToken(app, server)
  const { provider } = first
  const started = await authenticate(app, { provider, agentId: 'late' })
  expect(started.body).toMatchObject({
    status: 'connection_required',
    oauth_token_id: first.tokenId,
    url: expect.any(String),
  })
  expect((await openPage(await server.visit(started.body.url))).status).toBe(200)
  expect(await row(first.tokenId)).toMatchObject({ version: 2, connections: [{ agentId: 'late' }] })
  expect((await authenticate(app, { provider, agentId: 'late' })).body.status).toBe('completed')
})

test('a renewed token keeps its row and its connections', async () => {
  const first = await connectedToken(app, server, { agentId: 'faithful' })
  const { provider, tokenId } = first
  await db().oAuthToken.update({
    where: { id: tokenId },
    data: { endedAt: new Date(), endedBecause: 'gone', refreshFailures: 3, label: 'mine', isDefault: true },
  })
  const started = await authenticate(app, { provider, agentId: 'faithful' })
  expect(started.body).toMatchObject({ status: 'token_expired', oauth_token_id: tokenId, url: expect.any(String) })
  expect((await openPage(await server.visit(started.body.url))).status).toBe(200)
  expect(await row(tokenId)).toMatchObject({
    version: 2,
    endedAt: null,
    endedBecause: null,
    refreshFailures: 0,
    label: 'mine',
    isDefault: true,
    connections: [{ id: first.connectionId }],
  })
  expect((await wait(started.body.auth_id)).body.oauth_token_id).toBe(tokenId)
  expect(await db().event.findMany({ where: { subjectId: tokenId }, orderBy: { sequence: 'asc' } })).toMatchObject([
    { type: 'oauth_token.created' },
    { type: 'oauth_token.updated' },
  ])
})

test('a token with missing scopes is requested again with its old scopes and keeps its row', async () => {
  const { provider, tokenId } = await connectedToken(app, server, { agentId: 'reader', scopes: ['openid', 'read'] })
  const started = await authenticate(app, { provider, agentId: 'writer', scopes: ['write'] })
  expect(started.body).toMatchObject({ status: 'pending', oauth_token_id: null })
  expect(new URL(started.body.url).searchParams.get('scope')!.split(' ').sort()).toEqual(['openid', 'read', 'write'])
  expect((await openPage(await server.visit(started.body.url))).status).toBe(200)
  const token = await row(tokenId)
  expect([...token.scopes].sort()).toEqual(['openid', 'read', 'write'])
  expect(token.connections.map(({ agentId }) => agentId).sort()).toEqual(['reader', 'writer'])
})

test('another account creates another token, also in a renewal of a different account’s token', async () => {
  const alice = await connectedToken(app, server, { account: 'alice' })
  const { provider } = alice
  await db().oAuthToken.update({ where: { id: alice.tokenId }, data: { endedAt: new Date() } })
  const bob = await connectedToken(app, server, { provider, account: 'bob' })
  expect(bob.tokenId).not.toBe(alice.tokenId)
  expect(await row(alice.tokenId)).toMatchObject({ accountId: 'alice', endedAt: expect.any(Date) })
})

test('force_new starts again, and the same account remains one token', async () => {
  const { provider, tokenId } = await connectedToken(app, server)
  const forced = await authenticate(app, { provider, forceNew: true })
  expect(forced.body).toMatchObject({ status: 'pending', url: expect.any(String), oauth_token_id: null })
  expect((await connectedToken(app, server, { provider, forceNew: true })).tokenId).toBe(tokenId)
  const other = await connectedToken(app, server, { provider, forceNew: true, account: 'carol' })
  expect(other.tokenId).not.toBe(tokenId)
})

test('an agent’s connected token is preferred, then the default, then the oldest', async () => {
  const oldest = await connectedToken(app, server, { account: 'a' })
  const { provider } = oldest
  const second = await connectedToken(app, server, { provider, account: 'b', forceNew: true })
  const third = await connectedToken(app, server, { provider, account: 'c', forceNew: true, agentId: 'x' })
  const answerFor = async (agentId?: string) => (await authenticate(app, { provider, agentId })).body
  expect(await answerFor()).toMatchObject({ status: 'completed', oauth_token_id: oldest.tokenId })
  expect(await answerFor('x')).toMatchObject({ status: 'completed', oauth_token_id: third.tokenId })
  await db().oAuthToken.update({ where: { id: second.tokenId }, data: { isDefault: true } })
  expect(await answerFor()).toMatchObject({ status: 'completed', oauth_token_id: second.tokenId })
  expect(await answerFor('x')).toMatchObject({ status: 'completed', oauth_token_id: third.tokenId })
  expect(await answerFor('y')).toMatchObject({ status: 'connection_required', oauth_token_id: second.tokenId })
})

test('an agent’s ended token is renewed, even if a token of another account is valid', async () => {
  const mine = await connectedToken(app, server, { account: 'mine', agentId: 'z' })
  const { provider } = mine
  await connectedToken(app, server, { provider, account: 'another', forceNew: true })
  await db().oAuthToken.update({ where: { id: mine.tokenId }, data: { endedAt: new Date() } })
  const started = await authenticate(app, { provider, agentId: 'z' })
  expect(started.body).toMatchObject({ status: 'token_expired', oauth_token_id: mine.tokenId, url: expect.any(String) })
  expect((await authenticate(app, { provider, agentId: 'new' })).body.status).toBe('connection_required')
})

test('a token of the provider’s former origin counts as expired', async () => {
  const { provider, tokenId } = await connectedToken(app, server)
  await db().oAuthProvider.update({ where: { id: provider.id }, data: { tokenUrl: 'https://elsewhere.example/token' } })
  expect((await authenticate(app, { provider })).body).toMatchObject({
    status: 'token_expired',
    oauth_token_id: tokenId,
  })
})

test('an admin may authenticate for another person, and only that person sees the token', async () => {
  const provider = await oauthProvider(app, server)
  const userId = await subjectOf(app.keys.viewer)
  const started = await authenticate(app, { provider, key: app.keys.admin, userId, agentId: 'theirs' })
  const page = await openPage(await server.visit(started.body.url))
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('the API key “test ')])
  for (const key of [app.keys.admin, app.keys.viewer])
    expect((await wait(started.body.auth_id, 0, app, key)).body.status).toBe('completed')
  expect((await wait(started.body.auth_id, 0, app, app.keys.deployer)).status).toBe(404)
  const admin = await subjectOf(app.keys.admin)
  expect(
    await db().oAuthToken.findMany({ where: { oauthProviderId: provider.id }, include: { connections: true } }),
  ).toMatchObject([{ subject: userId, connections: [{ agentId: 'theirs', createdBy: admin }] }])
  const list = async (key: string) => (await app.rest('GET', '/v2/auth/tokens', { key })).text
  expect(await list(app.keys.viewer)).toContain(provider.providerId)
  expect(await list(app.keys.admin)).not.toContain(provider.providerId)
})

test('a JWT user appears under the subject of the JWT', async () => {
  const provider = await oauthProvider(app, server)
  const started = await authenticate(app, { provider, key: app.keys.admin, userId: 'ann@<b>corp' })
  const page = await openPage(await server.visit(started.body.url))
  expect(page.text).toContain('the user “ann@&lt;b&gt;corp”')
  // the name of another organization's key is not shown
  const theirs = await subjectOf(app.other.keys.admin)
  const next = await authenticate(app, { provider, key: app.keys.admin, userId: theirs })
  expect((await openPage(await server.visit(next.body.url))).text).toContain(`the user “${theirs}”`)
})

test('the provider’s metadata is read once, and its issuer is not stored', async () => {
  const { provider } = await connectedToken(app, server)
  const read = () => db().oAuthProvider.findUniqueOrThrow({ where: { id: provider.id } })
  const known = await read()
  expect(known).toMatchObject({
    issuer: null,
    userinfoUrl: server.userinfoUrl,
    revocationUrl: server.revocationUrl,
    metadataReadAt: expect.any(Date),
  })
  await connectedToken(app, server, { provider, forceNew: true })
  expect(await read()).toEqual(known)
})

test('a provider without account names still issues a token', async () => {
  const { provider, tokenId } = await connectedToken(app, server, { scopes: ['read'] })
  expect(await row(tokenId)).toMatchObject({ accountId: null, accountLabel: null, scopes: ['read'] })
  await db().oAuthToken.update({ where: { id: tokenId }, data: { endedAt: new Date() } })
  const renewed = await connectedToken(app, server, { provider, scopes: ['read'] })
  expect(renewed.tokenId).toBe(tokenId)
  const another = await connectedToken(app, server, { provider, scopes: ['read'], forceNew: true })
  expect(another.tokenId).not.toBe(tokenId)
})

test('a userinfo response about another account is ignored', async () => {
  const bob = await connectedToken(app, server, { account: 'bob' })
  const { provider } = bob
  const bobs = openToken(app.app.core.keyring, await row(bob.tokenId)).accessToken
  const started = await authenticate(app, { provider, forceNew: true })
  const callback = await server.visit(started.body.url)
  const body = {
    access_token: bobs,
    token_type: 'Bearer',
    scope: SCOPES.join(' '),
    id_token: idToken({ sub: 'alice' }),
  }
  server.next({ status: 200, body: JSON.stringify(body) })
  expect((await openPage(callback)).text).toContain('The account “alice” at')
  expect(await row(bob.tokenId)).toMatchObject({ accountId: 'bob', version: 1 })
})

test('a new token ends the running refresh of the row', async () => {
  const { provider, tokenId } = await connectedToken(app, server)
  await db().$executeRaw`
    UPDATE oauth_tokens SET refresh_id = gen_random_uuid(), refresh_until = now() + interval '1 minute', rotates = true
    WHERE id = ${tokenId}::uuid`
  await connectedToken(app, server, { provider, forceNew: true })
  expect(await row(tokenId)).toMatchObject({ version: 2, refreshId: null, refreshUntil: null, rotates: true })
})
