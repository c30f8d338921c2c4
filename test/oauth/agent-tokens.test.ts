/** An agent requests access tokens with its own key, through a connection. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { issueAccessToken } from '../../src/domain/oauth/tokens/issue.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { newKey, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import {
  type ConnectedAgent,
  connectedAgent,
  type GrantOptions,
  newAgent,
  requestAccessToken,
  SETTINGS,
  sentRefreshTokens,
  tokenRow,
} from './agent-support.ts'
import { oauthProvider } from './support.ts'

let server: OAuthServer
let app: TestApp
let connected: ConnectedAgent
beforeAll(async () => {
  ;[server, app] = await Promise.all([startOAuthServer(), testApp({ settings: SETTINGS })])
  connected = await connectedAgent(app, server, { scopes: ['openid', 'read'] })
})
afterAll(async () => {
  await app.close()
  await server.close()
})
beforeEach(() => {
  server.tokenRequests.length = 0
})

const more = (how: GrantOptions = {}) => connectedAgent(app, server, { provider: connected.provider, ...how })

test('an agent gets an access token of its connected account', async () => {
  const answer = await requestAccessToken(app, connected)
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      access_token: connected.content.accessToken,
      token_type: 'bearer',
      expires_at: (await tokenRow(app, connected)).expiresAt!.toISOString(),
      scopes: ['openid', 'read'],
      connection_id: connected.connectionId,
      provider_account_label: null,
    },
  ])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.text).not.toContain(connected.content.refreshToken!)
  expect(sentRefreshTokens(server)).toEqual([])
})

test('an agent may name the provider by the row id and request no scopes', async () => {
  const { agentId, key, provider } = connected
  const path = `/v2/auth/agents/${agentId}/providers/${provider.id}/access-token`
  expect((await app.rest('POST', path, { key, body: { scopes: [] } })).status).toBe(200)
})

test('the path of earlier versions answers 410 and names the new path', async () => {
  const { agentId, key, provider } = connected
  const path = `/v2/auth/agents/${agentId}/providers/${provider.providerId}`
  const { status, body } = await app.rest('POST', `${path}/tokens?x=1`, { key, body: { scopes: [] } })
  expect([status, body.code]).toEqual([410, 'GONE'])
  expect(body.detail).toBe(`This operation has moved: call POST ${path}/access-token.`)
})

test('the response contains the account label, preferably the owner’s own', async () => {
  const named = await more({ row: { accountLabel: 'alice@example.com' } })
  expect((await requestAccessToken(app, named)).body.provider_account_label).toBe('alice@example.com')
  await app.app.core.db.oAuthToken.update({ where: { id: named.tokenId }, data: { label: 'Work' } })
  expect((await requestAccessToken(app, named)).body.provider_account_label).toBe('Work')
})

describe('other callers get no token', () => {
  test.each(['admin', 'deployer', 'viewer', 'secretsReader', 'organization'] as const)(
    'a person’s key gets none: %s',
    async (role) => {
      const answer = await app.rest('POST', `/v2/auth/agents/${connected.agentId}/providers/x/access-token`, {
        key: app.keys[role],
        tenant: app.tenant.workspaceId,
        body: 'this is not looked at',
      })
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
    },
  )

  test('a listener’s key gets none', async () => {
    const { organizationId, workspaceId } = app.tenant
    const listener = await app.app.core.db.listener.create({
      data: { workspaceId, computeType: 'k8s', computeId: `c-${randomUUID()}`, k8sNamespaces: ['a'] },
    })
    const key = await newKey(app.app.core, { organizationId, workspaceId, role: 'listener', listenerId: listener.id })
    expect((await requestAccessToken(app, { ...connected, key })).status).toBe(403)
  })

  test('another agent’s key and a call without a key get none', async () => {
    const other = await newAgent(app)
    for (const body of [{}, { scopes: 'wrong' }])
      expect(await requestAccessToken(app, { ...connected, key: other.key }, body)).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN' },
      })
    const { agentId, provider } = connected
    const path = `/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`
    expect((await app.rest('POST', path, { key: null, body: { scopes: [] } })).status).toBe(401)
  })

  test('an agent of the same name in another workspace or organization gets none', async () => {
    const { agentId, provider } = connected
    for (const [tenant, status, code] of [
      [app.sibling, 409, 'CONNECTION_REQUIRED'],
      [app.other, 404, 'NOT_FOUND'],
    ] as const) {
      const { organizationId, workspaceId } = tenant
      const key = await newKey(app.app.core, { organizationId, workspaceId, role: 'agent', agentId })
      for (const named of [provider.providerId, provider.id]) {
        const answer = await requestAccessToken(app, { agentId, key, provider: { ...provider, providerId: named } })
        expect([answer.status, answer.body.code]).toEqual([status, code])
      }
      const elsewhere = await app.rest(
        'POST',
        `/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`,
        {
          key,
          tenant: app.tenant.workspaceId,
          body: { scopes: [] },
        },
      )
      expect([401, 403]).toContain(elsewhere.status)
    }
  })
})

test.each([
  [{}, ['body.scopes missing']],
  [{ scopes: 'read' }, ['body.scopes list_type']],
  [{ scopes: ['two words'] }, ['body.scopes.0 string_pattern_mismatch']],
  [{ scopes: [], user_id: '' }, ['body.user_id string_too_short']],
])('an invalid body answers a violation for each field: %j', async (body, violations) => {
  const { agentId, key, provider } = connected
  const path = `/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`
  const answer = await app.rest('POST', path, { key, body })
  expect(answer.status).toBe(422)
  const said = answer.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => `${loc.join('.')} ${type}`)
  expect(said).toEqual(expect.arrayContaining(violations))
})

test('an unknown provider answers 404', async () => {
  for (const providerId of ['nothing', randomUUID()])
    expect(
      await requestAccessToken(app, { ...connected, provider: { ...connected.provider, providerId } }),
    ).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', detail: `OAuth provider ID ${providerId} not found.` },
    })
})

describe('the error says what is missing', () => {
  test('when the agent has no connection', async () => {
    const agent = await newAgent(app)
    const answer = await requestAccessToken(app, { ...agent, provider: connected.provider })
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
      409,
      'CONNECTION_REQUIRED',
      expect.stringContaining(`The agent ${agent.agentId} is not connected`),
    ])
  })

  test('when the agent’s connected token lacks scopes', async () => {
    const answer = await requestAccessToken(app, connected, { scopes: ['read', 'write', 'email'] })
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
      409,
      'CONNECTION_REQUIRED',
      expect.stringContaining('lack scopes: write email.'),
    ])
  })

  test('when the agent is connected to a token of another provider', async () => {
    const provider = await oauthProvider(app, server)
    expect((await requestAccessToken(app, { ...connected, provider })).body.code).toBe('CONNECTION_REQUIRED')
  })

  test('when the token has ended, or has expired without a refresh token', async () => {
    const past = new Date(Date.now() - 1000)
    for (const state of [
      { endedAt: past, endedBecause: 'Why.' },
      { refreshable: false, expiresAt: past },
    ]) {
      const ended = await more({ row: state })
      const answer = await requestAccessToken(app, ended)
      expect([answer.status, answer.body.code]).toEqual([409, 'TOKEN_EXPIRED'])
    }
    expect(sentRefreshTokens(server)).toEqual([])
  })
})

describe('an agent with several tokens', () => {
  test('gets the default token, or else the oldest that covers the scopes', async () => {
    const old = await more({ row: { createdAt: new Date(Date.now() - 60_000) } })
    const { agentId, key } = old
    const newer = await more({ agent: { agentId, key } })
    const widest = await more({ agent: { agentId, key }, scopes: ['openid', 'read', 'write'] })
    const taken = async (scopes: string[]) => (await requestAccessToken(app, old, { scopes })).body.connection_id
    expect(await taken(['read'])).toBe(old.connectionId)
    expect(await taken(['write'])).toBe(widest.connectionId)
    await app.app.core.db.oAuthToken.update({ where: { id: newer.tokenId }, data: { isDefault: true } })
    expect(await taken(['read'])).toBe(newer.connectionId)
    expect(await taken(['write'])).toBe(widest.connectionId)
    await app.app.core.db.oAuthToken.update({ where: { id: newer.tokenId }, data: { endedAt: new Date() } })
    expect(await taken(['read'])).toBe(old.connectionId)
  })

  test('gets the next token immediately when a refresh ends the first one', async () => {
    const past = new Date(Date.now() - 60_000)
    const first = await more({ row: { createdAt: past, expiresAt: past } })
    const second = await more({ agent: first })
    server.next({ status: 400, body: '{"error":"invalid_grant"}' })
    expect(await requestAccessToken(app, first)).toMatchObject({
      status: 200,
      body: { connection_id: second.connectionId },
    })
    expect((await tokenRow(app, first)).endedAt).not.toBeNull()
    expect((await requestAccessToken(app, first)).body.connection_id).toBe(second.connectionId)
    expect(sentRefreshTokens(server)).toHaveLength(1)
  })

  test('loses at most one token per call to a provider that does not respond', async () => {
    const past = new Date(Date.now() - 60_000)
    const first = await more({ row: { createdAt: past, expiresAt: past } })
    const second = await more({ agent: first, row: { expiresAt: past } })
    server.next('reset')
    expect(await requestAccessToken(app, first)).toMatchObject({
      status: 502,
      body: { code: 'OAUTH_PROVIDER_UNAVAILABLE' },
    })
    expect([(await tokenRow(app, first)).endedAt, (await tokenRow(app, second)).endedAt]).toEqual([
      expect.any(Date),
      null,
    ])
    expect(await requestAccessToken(app, first)).toMatchObject({
      status: 200,
      body: { connection_id: second.connectionId },
    })
  })

  test('must name the user when tokens have several owners, even if one token has ended', async () => {
    const alices = await more()
    const bobs = await more({ agent: alices, subject: 'bob' })
    const unsaid = await requestAccessToken(app, alices)
    expect([unsaid.status, unsaid.body.code, unsaid.body.detail]).toEqual([
      409,
      'CONFLICT',
      expect.stringContaining('user_id'),
    ])
    expect((await requestAccessToken(app, alices, { user_id: 'bob' })).body.access_token).toBe(bobs.content.accessToken)
    expect((await requestAccessToken(app, alices, { user_id: 'alice' })).body.access_token).toBe(
      alices.content.accessToken,
    )
    expect((await requestAccessToken(app, alices, { user_id: 'carol' })).body.code).toBe('CONNECTION_REQUIRED')
    await app.app.core.db.oAuthToken.update({ where: { id: alices.tokenId }, data: { endedAt: new Date() } })
    expect((await requestAccessToken(app, alices)).body.code).toBe('CONFLICT')
    expect((await requestAccessToken(app, alices, { user_id: 'alice' })).body.code).toBe('TOKEN_EXPIRED')
  })

  test('never gets an unconnected token of another person', async () => {
    const mine = await more()
    await more({ subject: 'bob' })
    expect((await requestAccessToken(app, mine, { user_id: 'bob' })).body.code).toBe('CONNECTION_REQUIRED')
  })
})

test('a token with unknown expiry is issued as it is', async () => {
  const endless = await more({ row: { expiresAt: null } })
  expect(await requestAccessToken(app, endless)).toMatchObject({
    status: 200,
    body: { expires_at: null, access_token: endless.content.accessToken },
  })
})

test('a call with a fresh token is one statement and records its use once a minute', async () => {
  const quiet = await more()
  // without statements of background work
  const database = connectDatabase({ url: app.databaseUrl, poolSize: 2 })
  const ctx = { ...(await app.context(quiet.key)), db: database.prisma, transact: database.transact }
  const raw = {
    path: { agent_id: quiet.agentId, provider_id: quiet.provider.providerId },
    body: { scopes: ['read'] },
  }
  const call = () => countStatements(database, () => issueAccessToken(ctx, raw))
  expect((await call()).filter((sql) => !/SET used_at/.test(sql))).toHaveLength(1)
  await expect.poll(async () => (await tokenRow(app, quiet)).usedAt).not.toBeNull()
  const { usedAt } = await tokenRow(app, quiet)
  expect(await call()).toHaveLength(1)
  expect((await tokenRow(app, quiet)).usedAt).toEqual(usedAt)
  await database.close()
})

describe('GraphQL', () => {
  const ISSUE = `mutation ($input: IssueAccessTokenInput!) {
    issueAccessToken(input: $input) {
      __typename
      ... on IssueAccessTokenSuccess { accessToken tokenType expiresAt scopes connectionId providerAccountLabel }
      ... on Error { code message }
    }
  }`
  const issue = (key: string, input: object) => app.gql(ISSUE, { input }, { key })

  test('issues the same token to an agent', async () => {
    const { agentId, provider, content, connectionId } = connected
    const answer = await issue(connected.key, { agentId, providerId: provider.providerId, scopes: ['read'] })
    expect(answer.data.issueAccessToken).toEqual({
      __typename: 'IssueAccessTokenSuccess',
      accessToken: content.accessToken,
      tokenType: 'bearer',
      expiresAt: (await tokenRow(app, connected)).expiresAt!.toISOString(),
      scopes: ['openid', 'read'],
      connectionId,
      providerAccountLabel: null,
    })
  })

  test('answers errors with the same codes', async () => {
    const { agentId, provider, key } = connected
    const right = { agentId, providerId: provider.providerId, scopes: ['read'] }
    const code = async (by: string, input: object) => (await issue(by, input)).data.issueAccessToken.code
    expect(await code(app.keys.admin, right)).toBe('FORBIDDEN')
    expect(await code((await newAgent(app)).key, right)).toBe('FORBIDDEN')
    expect(await code(key, { ...right, providerId: 'nothing' })).toBe('NOT_FOUND')
    expect(await code(key, { ...right, scopes: ['write'] })).toBe('CONNECTION_REQUIRED')
    expect(await code(key, { ...right, scopes: ['two words'] })).toBe('VALIDATION_FAILED')
  })

  test('answers an unreachable provider with a separate error type', async () => {
    const failing = await more({ row: { expiresAt: new Date(Date.now() - 1000) } })
    server.next('500')
    const { agentId, provider, key } = failing
    const answer = await issue(key, { agentId, providerId: provider.providerId, scopes: ['read'] })
    expect([answer.errors, answer.data.issueAccessToken]).toEqual([
      undefined,
      expect.objectContaining({
        __typename: 'OAuthProviderUnavailableError',
        code: 'OAUTH_PROVIDER_UNAVAILABLE',
        message: expect.stringContaining(provider.name),
      }),
    ])
  })
})
