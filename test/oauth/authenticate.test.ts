/** authenticate and wait, over REST and GraphQL: rights, validation and visibility. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { waitForAuthorization } from '../../src/domain/oauth/authorizations/authorization.ts'
import type { Notifier } from '../../src/platform/async/notifier.ts'
import { newKey, type TestApp, testApp } from '../support/app.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { authenticate, connectedToken, LOCAL, oauthProvider, openPage, type TestProvider } from './support.ts'

let server: OAuthServer
let app: TestApp
let provider: TestProvider

beforeAll(async () => {
  server = await startOAuthServer()
  app = await testApp({ settings: LOCAL })
})
afterAll(async () => {
  await app?.close()
  await server?.close()
})
beforeEach(async () => {
  provider = await oauthProvider(app, server)
})

const db = () => app.app.core.db
const post = (body: unknown, key = app.keys.deployer) => app.rest('POST', '/v2/auth/authenticate', { key, body })
const wait = (authId: string, query = 'timeout=0', key = app.keys.deployer, on = app) =>
  on.rest('GET', `/v2/auth/wait/${authId}?${query}`, { key })
const subjectOf = async (key: string) => (await app.context(key)).actor.subject
const begin = async (key?: string, agentId?: string) =>
  (await authenticate(app, { provider, key, agentId })).body as { url: string; auth_id: string }
const problems = (answer: { status: number; body: { detail: { loc: string[]; type: string }[] } }) => [
  answer.status,
  ...answer.body.detail.map(({ loc, type }) => `${loc.join('.')} ${type}`).sort(),
]

describe('authenticate', () => {
  test('accepts the provider’s provider_id and its row id', async () => {
    for (const name of [provider.providerId, provider.id, provider.id.toUpperCase()])
      expect(await post({ provider: name, scopes: ['read'] })).toMatchObject({
        status: 200,
        body: { status: 'pending' },
      })
    expect(await post({ provider: 'nobody', scopes: [] })).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', detail: 'OAuth provider ID nobody not found.' },
    })
  })

  test('creates a new state, verifier and URL for each call and stores only a hash of the state', async () => {
    const [one, other] = [new URL((await begin()).url), new URL((await begin()).url)]
    for (const name of ['state', 'code_challenge'])
      expect(one.searchParams.get(name)).not.toBe(other.searchParams.get(name))
    const state = one.searchParams.get('state')!
    expect(state).toMatch(/^[\w-]{43}$/)
    const rows = await db().oAuthAuthorization.findMany({ where: { oauthProviderId: provider.id } })
    expect(JSON.stringify(rows)).not.toContain(state)
    for (const { expiresAt, createdAt } of rows) {
      const minutes = (expiresAt.getTime() - createdAt.getTime()) / 60_000
      expect(minutes).toBeCloseTo(15, 1)
    }
  })

  test('reports all violations of the body together', async () => {
    expect(problems(await post({}))).toEqual([422, 'body.provider missing', 'body.scopes missing'])
    expect(
      problems(await post({ provider: 7, scopes: 'read', agent_id: '', user_id: 'a\nb', force_new: 'yes' })),
    ).toEqual([
      422,
      'body.agent_id string_too_short',
      'body.force_new bool_type',
      'body.provider string_type',
      'body.scopes list_type',
      'body.user_id string_pattern_mismatch',
    ])
    const { providerId } = provider
    expect(problems(await post({ provider: providerId, scopes: ['', 'a b', 'a"b', 'ü', 7, 'x'.repeat(513)] }))).toEqual(
      [
        422,
        'body.scopes.0 string_pattern_mismatch',
        'body.scopes.1 string_pattern_mismatch',
        'body.scopes.2 string_pattern_mismatch',
        'body.scopes.3 string_pattern_mismatch',
        'body.scopes.4 string_type',
        'body.scopes.5 string_too_long',
      ],
    )
    const many = Array.from({ length: 101 }, (_, i) => `s${i}`)
    const long = 'x'.repeat(256)
    expect(problems(await post({ provider: providerId, scopes: many, agent_id: long, user_id: long }))).toEqual([
      422,
      'body.agent_id string_too_long',
      'body.scopes too_long',
      'body.user_id string_too_long',
    ])
    expect(problems(await post({ provider: 'a\0b', scopes: [] }))).toEqual([422, 'body.provider value_error'])
    expect(problems(await post('{'))).toEqual([422, 'body json_invalid'])
  })

  test('forbids caches to store the response, because its URL contains the state', async () => {
    const asked = await authenticate(app, { provider })
    for (const { headers } of [asked, await post({})]) expect(headers.get('cache-control')).toBe('no-store')
  })

  test('treats an absent and a null member alike and accepts no scopes', async () => {
    const body = { provider: provider.providerId, scopes: [], agent_id: null, user_id: null, force_new: null }
    expect(await post(body)).toMatchObject({ status: 200, body: { status: 'pending' } })
  })

  test('answers what to do when the provider lacks its client secret', async () => {
    await db().oAuthProvider.update({ where: { id: provider.id }, data: { clientSecret: null } })
    const answer = await authenticate(app, { provider })
    expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT'])
    expect(answer.body.detail).toContain('PATCH its client_secret')
  })

  test('rejects viewers, agents, listeners and calls without a key', async () => {
    const { workspaceId, organizationId } = app.tenant
    const agent = await newKey(app.app.core, { workspaceId, organizationId, role: 'agent', agentId: 'a' })
    for (const key of [app.keys.viewer, agent])
      expect(await post({}, key)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect((await app.rest('POST', '/v2/auth/authenticate', { key: null, body: {} })).status).toBe(401)
  })

  test('accepts another person’s user_id only from admins', async () => {
    const own = await subjectOf(app.keys.deployer)
    expect((await authenticate(app, { provider, userId: own })).status).toBe(200)
    expect(await authenticate(app, { provider, userId: 'ann' })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN', detail: expect.stringContaining('user_id') },
    })
    expect((await authenticate(app, { provider, userId: 'ann', key: app.keys.admin })).status).toBe(200)
  })

  test('answers 404 for a provider of another organization', async () => {
    const { key } = { key: app.other.keys.admin }
    for (const name of [provider.providerId, provider.id])
      expect((await post({ provider: name, scopes: [] }, key)).status).toBe(404)
  })

  test('matches a token only for its owner and workspace, also when an admin calls', async () => {
    const { tokenId } = await connectedToken(app, server, { provider, agentId: 'shared' })
    const status = async (key: string, tenant?: string) =>
      (await authenticate(app, { provider, key, tenant, agentId: 'shared' })).body
    expect(await status(app.keys.deployer)).toMatchObject({ status: 'completed', oauth_token_id: tokenId })
    for (const key of [app.keys.admin, app.sibling.keys.deployer])
      expect(await status(key)).toMatchObject({ status: 'pending', oauth_token_id: null })
    for (const tenant of [app.tenant.workspaceId, app.sibling.workspaceId])
      expect(await status(app.keys.organization, tenant)).toMatchObject({ status: 'pending', oauth_token_id: null })
  })

  test('deletes authorizations a day after their expiry', async () => {
    const { auth_id: old } = await begin()
    const { auth_id: recent } = await begin()
    await db()
      .$executeRaw`UPDATE oauth_authorizations SET expires_at = now() - interval '25 hours' WHERE id = ${old}::uuid`
    await db()
      .$executeRaw`UPDATE oauth_authorizations SET expires_at = now() - interval '23 hours' WHERE id = ${recent}::uuid`
    await begin()
    expect((await wait(old)).status).toBe(404)
    expect(await wait(recent)).toMatchObject({ status: 409, body: { code: 'AUTHORIZATION_FAILED' } })
  })

  test('answers twenty concurrent calls with twenty different URLs', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => begin()))
    expect(new Set(all.map(({ url }) => new URL(url).searchParams.get('state'))).size).toBe(20)
  })
})

describe('wait', () => {
  test('answers pending after the timeout and does not repeat the URL', async () => {
    const { auth_id } = await begin()
    expect(await wait(auth_id)).toMatchObject({
      status: 200,
      body: { status: 'pending', url: null, auth_id, oauth_token_id: null },
    })
    const began = performance.now()
    expect((await wait(auth_id, 'timeout=1')).body.status).toBe('pending')
    expect(performance.now() - began).toBeGreaterThan(900)
  })

  test('answers 422 for an invalid id or timeout', async () => {
    expect(problems(await wait('nope', 'timeout=x'))).toEqual([
      422,
      'path.auth_id uuid_parsing',
      'query.timeout int_parsing',
    ])
    const { auth_id } = await begin()
    expect(problems(await wait(auth_id, 'timeout=61'))).toEqual([422, 'query.timeout less_than_equal'])
    expect(problems(await wait(auth_id, 'timeout=-1'))).toEqual([422, 'query.timeout greater_than_equal'])
  })

  test('is allowed only for the creator and the token’s owner', async () => {
    const viewer = await subjectOf(app.keys.viewer)
    const asked = await authenticate(app, { provider, key: app.keys.admin, userId: viewer })
    const { auth_id } = asked.body
    for (const key of [app.keys.admin, app.keys.viewer]) expect((await wait(auth_id, undefined, key)).status).toBe(200)
    for (const key of [app.keys.deployer, app.sibling.keys.admin, app.other.keys.admin])
      expect(await wait(auth_id, undefined, key)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
    const unknown = '11111111-1111-4111-8111-111111111111'
    expect((await wait(unknown)).body.detail).toBe(`Authorization ID ${unknown} not found.`)
  })

  test('fails when the token has been deleted', async () => {
    const { authId, tokenId } = await connectedToken(app, server, { provider })
    await db().oAuthToken.delete({ where: { id: tokenId } })
    expect(await wait(authId)).toMatchObject({
      status: 409,
      body: { code: 'AUTHORIZATION_FAILED', detail: 'Its token was deleted. Authenticate again.' },
    })
  })

  /** A started wait: it has read the status once and would last a minute. */
  async function waiter(on: TestApp, authId: string, signal?: AbortSignal) {
    const ctx = await on.context(app.keys.deployer)
    const notifier = ctx.oauthNotifier!
    let begun = () => {}
    const waits = new Promise<void>((resolve) => {
      begun = resolve
    })
    const observed: Notifier = {
      mark: (key) => notifier.mark(key),
      wait(...args) {
        begun()
        return notifier.wait(...args)
      },
      get closed() {
        return notifier.closed
      },
    }
    const raw = { path: { auth_id: authId }, query: { timeout: '60' } }
    const answer = waitForAuthorization(
      { ...ctx, oauthNotifier: observed, ...(signal && { client: { gone: signal } }) },
      raw,
    )
    await waits
    return { answer }
  }

  test('fails immediately when the provider is deleted, and answers 404 afterwards', async () => {
    const { auth_id } = await begin()
    const { answer } = await waiter(app, auth_id)
    const heard = expect(answer).rejects.toMatchObject({
      code: 'AUTHORIZATION_FAILED',
      message: 'The OAuth provider was deleted during the authorization. Authenticate again.',
    })
    expect((await app.rest('DELETE', `/v2/auth/providers/${provider.providerId}`)).status).toBe(200)
    await heard
    expect((await wait(auth_id)).status).toBe(404)
  })

  test('answers immediately when the server stops', async () => {
    const beside = await testApp({ settings: LOCAL, beside: app })
    const { auth_id } = await begin()
    const { answer } = await waiter(beside, auth_id)
    await beside.close()
    expect(await answer).toMatchObject({ status: 'pending', authId: auth_id })
  })

  test('ends when the client disconnects', async () => {
    const { auth_id } = await begin()
    const gone = new AbortController()
    const { answer } = await waiter(app, auth_id, gone.signal)
    gone.abort()
    expect(await answer).toMatchObject({ status: 'pending', authId: auth_id })
  })
})

describe('GraphQL', () => {
  const FIELDS = 'status url authId oauthTokenId oauthToken { id providerAccountLabel provider { providerId } }'
  const ask = async (input: object, key = app.keys.deployer) => {
    const { data, errors } = await app.gql(
      `mutation ($input: AuthenticateInput!) { authenticate(input: $input) { __typename
        ... on AuthenticateSuccess { authorization { ${FIELDS} } }
        ... on Error { message code } ... on ValidationError { issues { path code } } } }`,
      { input },
      { key },
    )
    expect(errors).toBeUndefined()
    return data.authenticate
  }
  const look = (id: string, timeoutSeconds: number | null = 0, key = app.keys.deployer) =>
    app.gql(
      `query ($id: ID!, $timeoutSeconds: Int) { authorization(id: $id, timeoutSeconds: $timeoutSeconds) { ${FIELDS} } }`,
      { id, timeoutSeconds },
      { key },
    )

  test('supports the whole flow', async () => {
    const input = { provider: provider.providerId, scopes: ['openid', 'email'], agentId: 'graph' }
    const { authorization } = await ask(input)
    expect(authorization).toMatchObject({ status: 'pending', oauthTokenId: null, oauthToken: null })
    expect((await look(authorization.authId)).data.authorization).toMatchObject({ status: 'pending', url: null })
    const waiting = look(authorization.authId, 60)
    expect((await openPage(await server.visit(authorization.url))).status).toBe(200)
    const done = (await waiting).data.authorization
    expect(done).toMatchObject({
      status: 'completed',
      oauthToken: {
        id: done.oauthTokenId,
        providerAccountLabel: 'alice@example.com',
        provider: { providerId: provider.providerId },
      },
    })
    expect((await ask(input)).authorization).toMatchObject({ status: 'completed', url: null, authId: null })
  })

  test('shows an admin only the id of another person’s token', async () => {
    const input = { provider: provider.providerId, scopes: ['read'], userId: 'ann' }
    const { authorization } = await ask(input, app.keys.admin)
    expect((await openPage(await server.visit(authorization.url))).status).toBe(200)
    expect((await look(authorization.authId, 0, app.keys.admin)).data.authorization).toMatchObject({
      status: 'completed',
      oauthTokenId: expect.any(String),
      oauthToken: null,
    })
  })

  test('answers the same errors as REST', async () => {
    expect(await ask({ provider: 'nobody', scopes: [] })).toMatchObject({ __typename: 'NotFoundError' })
    expect(await ask({ provider: provider.providerId, scopes: ['a b'] })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'scopes', '0'], code: 'string_pattern_mismatch' }],
    })
    const viewed = await ask({ provider: provider.providerId, scopes: [] }, app.keys.viewer)
    expect(viewed.__typename).toBe('ForbiddenError')
    await db().oAuthProvider.update({ where: { id: provider.id }, data: { clientSecret: null } })
    expect(await ask({ provider: provider.providerId, scopes: [] })).toMatchObject({ __typename: 'ConflictError' })
  })

  test('answers why an authorization failed, and nothing about another person’s', async () => {
    const { auth_id, url } = await begin()
    expect((await look(auth_id, 0, app.keys.admin)).errors![0]!.extensions.code).toBe('NOT_FOUND')
    expect((await look(auth_id, 61)).errors![0]!.extensions.code).toBe('VALIDATION_FAILED')
    await openPage(await server.visit(url, { decline: true }))
    expect((await look(auth_id, null)).errors![0]).toMatchObject({
      message: expect.stringContaining('Access was declined'),
      extensions: { code: 'AUTHORIZATION_FAILED' },
    })
  })
})
