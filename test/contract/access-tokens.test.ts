/** An agent requests access tokens with its own key, through a connection (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { issueAccessToken } from '../../src/domain/oauth/tokens/issue.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import {
  type ConnectedAgent,
  connectedAgent,
  type GrantOptions,
  newAgent,
  SETTINGS,
  sentRefreshTokens,
  tokenRow,
} from '../oauth/agent-support.ts'
import { oauthProvider, useOAuthServer } from '../oauth/support.ts'
import { useRestApp } from '../rest/support.ts'
import { countStatements } from '../support/database.ts'
import { agentKey, listener, listenerKey } from '../support/factories.ts'
import { overBoth } from './api.ts'

const server = useOAuthServer()
const app = useRestApp(() => ({ settings: SETTINGS }))
let connected: ConnectedAgent
beforeAll(async () => {
  connected = await connectedAgent(app, server, { scopes: ['openid', 'read'] })
})
beforeEach(() => {
  server.tokenRequests.length = 0
})

const more = (how: GrantOptions = {}) => connectedAgent(app, server, { provider: connected.provider, ...how })
const change = (tokenId: string, data: object) => app.core.db.oAuthToken.update({ where: { id: tokenId }, data })

overBoth(app, (api) => {
  const ask = (agent: Pick<ConnectedAgent, 'agentId' | 'key' | 'provider'>, input: object = {}) =>
    api.call(
      'issueAccessToken',
      { agent_id: agent.agentId, provider_id: agent.provider.providerId, scopes: ['read'], ...input },
      { key: agent.key },
    )

  test('an agent gets an access token of its connected account', async () => {
    const { value, answer } = await ask(connected)
    expect(value, answer.text).toEqual({
      access_token: connected.content.accessToken,
      token_type: 'bearer',
      expires_at: (await tokenRow(app, connected)).expiresAt!.toISOString(),
      scopes: ['openid', 'read'],
      connection_id: connected.connectionId,
      provider_account_label: null,
    })
    expect(answer.text).not.toContain(connected.content.refreshToken!)
    expect(sentRefreshTokens(server)).toEqual([])
    // the provider may be named by its row's id, and no scopes requested
    expect((await ask(connected, { provider_id: connected.provider.id, scopes: [] })).ok).toBe(true)
  })

  test('the response contains the account label, preferably the owner’s own', async () => {
    const named = await more({ row: { accountLabel: 'alice@example.com' } })
    expect((await ask(named)).value.provider_account_label).toBe('alice@example.com')
    await change(named.tokenId, { label: 'Work' })
    expect((await ask(named)).value.provider_account_label).toBe('Work')
  })

  describe('other callers get no token', () => {
    test.each(['admin', 'deployer', 'viewer', 'secretsReader', 'organization'] as const)(
      'a person’s key gets none: %s',
      async (role) => {
        const input = { agent_id: connected.agentId, provider_id: 'x', scopes: ['two words'] }
        await api.fails('issueAccessToken', input, 'FORBIDDEN', {
          ...{ key: app.keys[role], tenant: app.tenant.workspaceId },
        })
      },
    )

    test('a listener’s key, another agent’s and a call without a key get none', async () => {
      const ofListener = await listenerKey(app, await listener(app))
      expect((await ask({ ...connected, key: ofListener })).code).toBe('FORBIDDEN')
      const { key } = await newAgent(app)
      for (const input of [{}, { scopes: ['two words'] }])
        expect((await ask({ ...connected, key }, input)).code).toBe('FORBIDDEN')
      const input = { agent_id: connected.agentId, provider_id: connected.provider.providerId, scopes: [] }
      await api.fails('issueAccessToken', input, 'UNAUTHENTICATED', { key: null })
    })

    test('an agent of the same name in another workspace or organization gets none', async () => {
      const { agentId, provider } = connected
      for (const [tenant, code] of [
        [app.sibling, 'CONNECTION_REQUIRED'],
        [app.other, 'NOT_FOUND'],
      ] as const) {
        const key = await agentKey(app, agentId, tenant)
        for (const provider_id of [provider.providerId, provider.id])
          expect((await ask({ agentId, key, provider }, { provider_id })).code).toBe(code)
        const input = { agent_id: agentId, provider_id: provider.providerId, scopes: [] }
        await api.fails('issueAccessToken', input, 'FORBIDDEN', { key, tenant: app.tenant.workspaceId })
      }
    })
  })

  test.each<[object, string]>([
    [{ scopes: undefined }, 'scopes missing'],
    [{ scopes: 'read' }, 'scopes list_type'],
    [{ scopes: ['two words'] }, 'scopes.0 string_pattern_mismatch'],
    [{ scopes: [], user_id: '' }, 'user_id string_too_short'],
  ])('an invalid input is refused: %j', async (wrong, violation) => {
    const { agentId, provider, key } = connected
    // one scope is a list in GraphQL
    if (api.over === 'GraphQL' && violation === 'scopes list_type') return
    const input = { agent_id: agentId, provider_id: provider.providerId, scopes: ['read'], ...wrong }
    await api.refuses('issueAccessToken', input, [violation], { key })
  })

  test('an unknown provider is not found', async () => {
    for (const provider_id of ['nothing', randomUUID()])
      expect(await ask(connected, { provider_id })).toMatchObject({
        ...{ code: 'NOT_FOUND', message: `OAuth provider ID ${provider_id} not found.` },
      })
  })

  describe('the error says what is missing', () => {
    test('when the agent has no connection', async () => {
      const agent = await newAgent(app)
      const message = expect.stringContaining(`The agent ${agent.agentId} is not connected`)
      const refused = await ask({ ...agent, provider: connected.provider })
      expect(refused).toMatchObject({ code: 'CONNECTION_REQUIRED', message })
    })

    test('when the agent’s connected token lacks scopes', async () => {
      const message = expect.stringContaining('lack scopes: write email.')
      const refused = await ask(connected, { scopes: ['read', 'write', 'email'] })
      expect(refused).toMatchObject({ code: 'CONNECTION_REQUIRED', message })
    })

    test('when the agent is connected to a token of another provider', async () => {
      const provider = await oauthProvider(app, server)
      expect((await ask({ ...connected, provider })).code).toBe('CONNECTION_REQUIRED')
    })

    test('when the token has ended, or has expired without a refresh token', async () => {
      const past = new Date(Date.now() - 1000)
      for (const row of [
        { endedAt: past, endedBecause: 'Why.' },
        { refreshable: false, expiresAt: past },
      ])
        expect((await ask(await more({ row }))).code).toBe('TOKEN_EXPIRED')
      expect(sentRefreshTokens(server)).toEqual([])
    })

    test('when the provider does not respond', async () => {
      const failing = await more({ row: { expiresAt: new Date(Date.now() - 1000) } })
      server.next('500')
      const message = expect.stringContaining(failing.provider.name)
      expect(await ask(failing)).toMatchObject({ code: 'OAUTH_PROVIDER_UNAVAILABLE', message })
    })
  })

  describe('an agent with several tokens', () => {
    test('gets the default token, or else the oldest that covers the scopes', async () => {
      const old = await more({ row: { createdAt: new Date(Date.now() - 60_000) } })
      const newer = await more({ agent: old })
      const widest = await more({ agent: old, scopes: ['openid', 'read', 'write'] })
      const taken = async (scope: string) => (await ask(old, { scopes: [scope] })).value.connection_id
      expect([await taken('read'), await taken('write')]).toEqual([old.connectionId, widest.connectionId])
      await change(newer.tokenId, { isDefault: true })
      expect([await taken('read'), await taken('write')]).toEqual([newer.connectionId, widest.connectionId])
      await change(newer.tokenId, { endedAt: new Date() })
      expect(await taken('read')).toBe(old.connectionId)
      await change(newer.tokenId, { isDefault: false })
    })

    test('gets the next token immediately when a refresh ends the first one', async () => {
      const past = new Date(Date.now() - 60_000)
      const first = await more({ row: { createdAt: past, expiresAt: past } })
      const second = await more({ agent: first })
      server.next({ status: 400, body: '{"error":"invalid_grant"}' })
      for (const _ of [1, 2]) expect((await ask(first)).value.connection_id).toBe(second.connectionId)
      expect((await tokenRow(app, first)).endedAt).not.toBeNull()
      expect(sentRefreshTokens(server)).toHaveLength(1)
    })

    test('loses at most one token per call to a provider that does not respond', async () => {
      const past = new Date(Date.now() - 60_000)
      const first = await more({ row: { createdAt: past, expiresAt: past } })
      const second = await more({ agent: first, row: { expiresAt: past } })
      server.next('reset')
      expect((await ask(first)).code).toBe('OAUTH_PROVIDER_UNAVAILABLE')
      const ends = async () =>
        (await Promise.all([first, second].map((one) => tokenRow(app, one)))).map((r) => r.endedAt)
      expect(await ends()).toEqual([expect.any(Date), null])
      expect((await ask(first)).value.connection_id).toBe(second.connectionId)
    })

    test('must name the user when tokens have several owners, even if one token has ended', async () => {
      const alices = await more()
      const bobs = await more({ agent: alices, subject: 'bob' })
      expect(await ask(alices)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('user_id') })
      for (const [user_id, { content }] of [['bob', bobs] as const, ['alice', alices] as const])
        expect((await ask(alices, { user_id })).value.access_token).toBe(content.accessToken)
      expect((await ask(alices, { user_id: 'carol' })).code).toBe('CONNECTION_REQUIRED')
      await change(alices.tokenId, { endedAt: new Date() })
      expect((await ask(alices)).code).toBe('CONFLICT')
      expect((await ask(alices, { user_id: 'alice' })).code).toBe('TOKEN_EXPIRED')
    })

    test('never gets an unconnected token of another person', async () => {
      const mine = await more()
      await more({ subject: 'bob' })
      expect((await ask(mine, { user_id: 'bob' })).code).toBe('CONNECTION_REQUIRED')
    })
  })

  test('a token with unknown expiry is issued as it is', async () => {
    const endless = await more({ row: { expiresAt: null } })
    const issued = { expires_at: null, access_token: endless.content.accessToken }
    expect((await ask(endless)).value).toMatchObject(issued)
  })
})

test('over REST no cache may store the response, and the path of earlier versions names the new one', async () => {
  const { agentId, key, provider } = connected
  const path = `/v2/auth/agents/${agentId}/providers/${provider.providerId}`
  const issued = await app.call('POST', `${path}/access-token`, { key, body: { scopes: [] } })
  expect(issued.headers.get('cache-control')).toBe('no-store')
  const { status, body } = await app.rest('POST', `${path}/tokens?x=1`, { key, body: { scopes: [] } })
  expect([status, body.code]).toEqual([410, 'GONE'])
  expect(body.detail).toBe(`This operation has moved: call POST ${path}/access-token.`)
})

test('a call with a fresh token is one statement and records its use once a minute', async () => {
  const quiet = await more()
  // without statements of background work
  const database = connectDatabase({ url: app.databaseUrl, poolSize: 2 })
  const ctx = { ...(await app.context(quiet.key)), ...database.requests }
  const path = { agent_id: quiet.agentId, provider_id: quiet.provider.providerId }
  const call = () => countStatements(database, () => issueAccessToken(ctx, { path, body: { scopes: ['read'] } }))
  expect((await call()).filter((sql) => !/SET used_at/.test(sql))).toHaveLength(1)
  await expect.poll(async () => (await tokenRow(app, quiet)).usedAt).not.toBeNull()
  const { usedAt } = await tokenRow(app, quiet)
  expect(await call()).toHaveLength(1)
  expect((await tokenRow(app, quiet)).usedAt).toEqual(usedAt)
  await database.close()
})
