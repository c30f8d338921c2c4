/** authenticate and wait (docs/oauth.md#rules): rights, validation and visibility. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { waitForAuthorization } from '../../src/domain/oauth/authorizations/authorization.ts'
import type { Notifier } from '../../src/platform/async/notifier.ts'
import { connectedToken, LOCAL, oauthProvider, openPage, type TestProvider, useOAuthServer } from '../oauth/support.ts'
import { useRestApp } from '../rest/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { agentKey } from '../support/factories.ts'
import { type How, overBoth } from './api.ts'

const server = useOAuthServer()
const app = useRestApp(() => ({ settings: LOCAL }))
let provider: TestProvider
beforeEach(async () => {
  provider = await oauthProvider(app, server)
})

const db = () => app.core.db
const subjectOf = async (key: string) => (await app.context(key)).actor.subject

overBoth(app, (api) => {
  const call = (input: object, key = app.keys.deployer, how: How = {}) =>
    api.call('authenticate', { provider: provider.providerId, scopes: ['read'], ...input }, { key, ...how })
  const begin = async (input: object = {}, key?: string) => {
    const { value, answer } = await call({ scopes: ['openid', 'email', 'read'], ...input }, key)
    expect(value, answer.text).toMatchObject({ url: expect.any(String) })
    return value as { url: string; auth_id: string }
  }
  const wait = (auth_id: string, timeout = 0, key = app.keys.deployer) =>
    api.call('waitForAuthorization', { auth_id, timeout }, { key })

  describe('authenticate', () => {
    test('accepts the provider’s provider_id and its row id', async () => {
      for (const name of [provider.providerId, provider.id, provider.id.toUpperCase()])
        expect((await call({ provider: name })).value).toMatchObject({ status: 'pending' })
      const message = 'OAuth provider ID nobody not found.'
      expect(await call({ provider: 'nobody', scopes: [] })).toMatchObject({ code: 'NOT_FOUND', message })
    })

    test('creates a new state, verifier and URL for each call and stores only a hash of the state', async () => {
      const [one, other] = [new URL((await begin()).url), new URL((await begin()).url)]
      for (const name of ['state', 'code_challenge'])
        expect(one.searchParams.get(name)).not.toBe(other.searchParams.get(name))
      const state = one.searchParams.get('state')!
      expect(state).toMatch(/^[\w-]{43}$/)
      const rows = await db().oAuthAuthorization.findMany({ where: { oauthProviderId: provider.id } })
      expect(JSON.stringify(rows)).not.toContain(state)
      for (const { expiresAt, createdAt } of rows)
        expect((expiresAt.getTime() - createdAt.getTime()) / 60_000).toBeCloseTo(15, 1)
    })

    test.each<[string, object, string[]]>([
      ['absent members', { provider: undefined, scopes: undefined }, ['provider missing', 'scopes missing']],
      [
        'wrong types',
        { provider: 7, scopes: 'read', agent_id: '', user_id: 'a\nb', force_new: 'yes' },
        [
          ...['agent_id string_too_short', 'force_new bool_type', 'provider string_type', 'scopes list_type'],
          'user_id string_pattern_mismatch',
        ],
      ],
      [
        'scopes that no provider takes',
        { scopes: ['', 'a b', 'a"b', 'ü', 'x'.repeat(513)] },
        [...[0, 1, 2, 3].map((i) => `scopes.${i} string_pattern_mismatch`), 'scopes.4 string_too_long'],
      ],
      ['a scope that is a number', { scopes: [7] }, ['scopes.0 string_type']],
      [
        'too much',
        { scopes: Array.from({ length: 101 }, (_, i) => `s${i}`), agent_id: 'x'.repeat(256), user_id: 'x'.repeat(256) },
        ['agent_id string_too_long', 'scopes too_long', 'user_id string_too_long'],
      ],
      ['a NUL', { provider: 'a\0b', scopes: [] }, ['provider value_error']],
    ])('reports all violations together: %s', async (_what, input, issues) => {
      const all = { provider: provider.providerId, scopes: ['read'], ...input }
      await api.refuses('authenticate', all, issues, { key: app.keys.deployer })
    })

    test('treats an absent and a null member alike and accepts no scopes', async () => {
      const { value } = await call({ scopes: [], agent_id: null, user_id: null, force_new: null })
      expect(value).toMatchObject({ status: 'pending' })
    })

    test('answers what to do when the provider lacks its client secret', async () => {
      await db().oAuthProvider.update({ where: { id: provider.id }, data: { clientSecret: null } })
      const message = expect.stringContaining('PATCH its client_secret')
      expect(await call({})).toMatchObject({ code: 'CONFLICT', message })
    })

    test('rejects viewers, agents and calls without a key', async () => {
      for (const key of [app.keys.viewer, await agentKey(app, 'a')])
        expect((await call({}, key)).code).toBe('FORBIDDEN')
      expect((await call({}, undefined, { key: null })).code).toBe('UNAUTHENTICATED')
    })

    test('accepts another person’s user_id only from admins', async () => {
      expect((await call({ user_id: await subjectOf(app.keys.deployer) })).ok).toBe(true)
      const message = expect.stringContaining('user_id')
      expect(await call({ user_id: 'ann' })).toMatchObject({ code: 'FORBIDDEN', message })
      expect((await call({ user_id: 'ann' }, app.keys.admin)).ok).toBe(true)
    })

    test('finds no provider of another organization', async () => {
      for (const name of [provider.providerId, provider.id])
        expect((await call({ provider: name }, app.other.keys.admin)).code).toBe('NOT_FOUND')
    })

    test('matches a token only for its owner and workspace, also when an admin calls', async () => {
      const { tokenId } = await connectedToken(app, server, { provider, agentId: 'shared' })
      const found = async (key: string, tenant?: string) =>
        (await call({ scopes: ['openid', 'email', 'read'], agent_id: 'shared' }, key, { tenant })).value
      expect(await found(app.keys.deployer)).toEqual({
        ...{ status: 'completed', url: null, auth_id: null, oauth_token_id: tokenId },
      })
      for (const key of [app.keys.admin, app.sibling.keys.deployer])
        expect(await found(key)).toMatchObject({ status: 'pending', oauth_token_id: null })
      for (const tenant of [app.tenant.workspaceId, app.sibling.workspaceId])
        expect(await found(app.keys.organization, tenant)).toMatchObject({ status: 'pending', oauth_token_id: null })
    })

    test('deletes authorizations a day after their expiry', async () => {
      const [old, recent] = [(await begin()).auth_id, (await begin()).auth_id]
      for (const [id, hours] of [
        [old, 25],
        [recent, 23],
      ] as const)
        await db().$executeRaw`
          UPDATE oauth_authorizations SET expires_at = now() - make_interval(hours => ${hours}::int) WHERE id = ${id}::uuid`
      await begin()
      expect((await wait(old)).code).toBe('NOT_FOUND')
      expect((await wait(recent)).code).toBe('AUTHORIZATION_FAILED')
    })

    test('answers twenty concurrent calls with twenty different URLs', async () => {
      const all = await Promise.all(Array.from({ length: 20 }, () => begin()))
      expect(new Set(all.map(({ url }) => new URL(url).searchParams.get('state'))).size).toBe(20)
    })
  })

  describe('wait', () => {
    test('answers pending after the timeout and does not repeat the URL', async () => {
      const { auth_id } = await begin()
      const pending = { status: 'pending', url: null, auth_id, oauth_token_id: null }
      expect((await wait(auth_id)).value).toEqual(pending)
      const began = performance.now()
      expect((await wait(auth_id, 1)).value).toEqual(pending)
      expect(performance.now() - began).toBeGreaterThan(900)
    })

    test('answers when the person has returned, and the next call knows the token', async () => {
      const { url, auth_id } = await begin({ agent_id: 'graph' })
      const waiting = wait(auth_id, 60)
      expect((await openPage(await server.visit(url))).status).toBe(200)
      const { value } = await waiting
      expect(value).toEqual({ status: 'completed', url: null, auth_id, oauth_token_id: expect.any(String) })
      expect((await call({ agent_id: 'graph' })).value).toEqual({ ...value, auth_id: null })
    })

    test('refuses an invalid id or timeout', async () => {
      await api.refuses('waitForAuthorization', { auth_id: 'nope' }, ['auth_id uuid_parsing'])
      const { auth_id } = await begin()
      const timeout = (seconds: number, type: string) =>
        api.refuses('waitForAuthorization', { auth_id, timeout: seconds }, [`timeout ${type}`])
      await timeout(61, 'less_than_equal')
      await timeout(-1, 'greater_than_equal')
    })

    test('is allowed only for the creator and the token’s owner', async () => {
      const { auth_id } = await begin({ user_id: await subjectOf(app.keys.viewer) }, app.keys.admin)
      for (const key of [app.keys.admin, app.keys.viewer]) expect((await wait(auth_id, 0, key)).ok).toBe(true)
      for (const key of [app.keys.deployer, app.sibling.keys.admin, app.other.keys.admin])
        expect((await wait(auth_id, 0, key)).code).toBe('NOT_FOUND')
      const unknown = randomUUID()
      expect((await wait(unknown)).message).toBe(`Authorization ID ${unknown} not found.`)
    })

    test('fails with the reason when the person declined, and when the token was deleted', async () => {
      const declined = await begin()
      await openPage(await server.visit(declined.url, { decline: true }))
      const message = expect.stringContaining('Access was declined')
      expect(await wait(declined.auth_id)).toMatchObject({ code: 'AUTHORIZATION_FAILED', message })
      const { authId, tokenId } = await connectedToken(app, server, { provider })
      await db().oAuthToken.delete({ where: { id: tokenId } })
      expect(await wait(authId)).toMatchObject({
        ...{ code: 'AUTHORIZATION_FAILED', message: 'Its token was deleted. Authenticate again.' },
      })
    })
  })
})

describe('a waiting call', () => {
  const begin = async () => {
    const body = { provider: provider.providerId, scopes: ['read'] }
    return (await app.call('POST', '/v2/auth/authenticate', { key: app.keys.deployer, body })).body.auth_id as string
  }

  /** A started wait: it has read the status once and would last a minute. */
  async function waiter(on: TestApp, authId: string, signal?: AbortSignal) {
    const ctx = await on.context(app.keys.deployer)
    const notifier = ctx.notifier!
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
    const answer = waitForAuthorization(
      { ...ctx, notifier: observed, ...(signal && { client: { gone: signal } }) },
      { path: { auth_id: authId }, query: { timeout: '60' } },
    )
    await waits
    return { answer }
  }

  test('fails immediately when the provider is deleted, and finds nothing afterwards', async () => {
    const authId = await begin()
    const { answer } = await waiter(app, authId)
    const heard = expect(answer).rejects.toMatchObject({
      code: 'AUTHORIZATION_FAILED',
      message: 'The OAuth provider was deleted during the authorization. Authenticate again.',
    })
    expect((await app.rest('DELETE', `/v2/auth/providers/${provider.providerId}`)).status).toBe(200)
    await heard
    expect((await app.call('GET', `/v2/auth/wait/${authId}`, { key: app.keys.deployer })).status).toBe(404)
  })

  test('is answered immediately when the server stops', async () => {
    const beside = await testApp({ settings: LOCAL, beside: app })
    const authId = await begin()
    const { answer } = await waiter(beside, authId)
    await beside.close()
    expect(await answer).toMatchObject({ status: 'pending', authId })
  })

  test('ends when the client disconnects', async () => {
    const authId = await begin()
    const gone = new AbortController()
    const { answer } = await waiter(app, authId, gone.signal)
    gone.abort()
    expect(await answer).toMatchObject({ status: 'pending', authId })
  })
})

test('over REST caches are forbidden to store the response, because its URL contains the state', async () => {
  const post = (body: unknown) => app.call('POST', '/v2/auth/authenticate', { key: app.keys.deployer, body })
  for (const { headers } of [await post({ provider: provider.providerId, scopes: [] }), await post({})])
    expect(headers.get('cache-control')).toBe('no-store')
})

test('over GraphQL an authorization has its token, but not another person’s', async () => {
  const finished = async (key: string, userId?: string) => {
    const input = { provider: provider.providerId, scopes: ['openid', 'email'], userId }
    const started = await app.gql(
      `mutation ($input: AuthenticateInput!) { authenticate(input: $input) {
        ... on AuthenticateSuccess { authorization { url authId oauthToken { id } } } } }`,
      { input },
      { key },
    )
    const { url, authId, oauthToken } = started.data.authenticate.authorization
    expect(oauthToken).toBeNull()
    expect((await openPage(await server.visit(url))).status).toBe(200)
    const query = `query ($id: ID!) { authorization(id: $id, timeoutSeconds: null) {
      oauthTokenId oauthToken { id providerAccountLabel provider { providerId } } } }`
    return (await app.gql(query, { id: authId }, { key })).data.authorization
  }
  const mine = await finished(app.keys.deployer)
  expect(mine.oauthToken).toEqual({
    id: mine.oauthTokenId,
    providerAccountLabel: 'alice@example.com',
    provider: { providerId: provider.providerId },
  })
  expect(await finished(app.keys.admin, 'ann')).toEqual({ oauthTokenId: expect.any(String), oauthToken: null })
})
