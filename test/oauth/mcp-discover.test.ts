/** OAuth providers created from an MCP server, over REST and GraphQL (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import type { ResolveHost } from '../../src/adapters/oauth/guarded-connect.ts'
import { createLogger } from '../../src/app/logger.ts'
import { discoverMcpProvider } from '../../src/domain/oauth/providers/discover.ts'
import { type CallOptions, type RestApp, restApp, violations } from '../rest/support.ts'
import { agentKey } from '../support/factories.ts'
import { type McpServer, SERVER_METADATA, startMcpServer } from '../support/mcp-server.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { authenticate, connectedToken, LOCAL } from './support.ts'

const PATH = '/v2/auth/providers/mcp-discover'

const REGISTERED = {
  status: 201,
  body: { client_id: 'the-client', client_secret: 'canary-secret', client_secret_expires_at: 0 },
}

/** the complete log, at the lowest level */
const logged: string[] = []
let app: RestApp
let oauth: OAuthServer
let mcp: McpServer
/** an MCP server that is its own authorization server and counts registrations */
let own: McpServer
beforeAll(async () => {
  const log = createLogger('debug', { write: (line) => logged.push(line) })
  app = await restApp({ settings: LOCAL, overrides: { log } })
  oauth = await startOAuthServer({ registration: true })
  mcp = await startMcpServer({ named: true, authorizationServers: [oauth.url] })
  own = await startMcpServer()
  own.answer(SERVER_METADATA, { body: metadata() })
  own.answer('/register', REGISTERED)
})
afterAll(() => Promise.all([app, oauth, mcp, own].map((one) => one?.close())))

const metadata = (more: object = {}) => ({
  issuer: own.origin,
  authorization_endpoint: `${own.origin}/authorize`,
  token_endpoint: `${own.origin}/token`,
  registration_endpoint: `${own.origin}/register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  ...more,
})

const newId = () => `mcp-${randomUUID().slice(0, 8)}`
const body = (more: object = {}) => ({ provider_id: newId(), name: 'Notes', mcp_server_url: own.url, ...more })
const discover = (what: object, options?: CallOptions) => app.call('POST', PATH, { body: what, ...options })
const row = (id: string) => app.core.db.oAuthProvider.findUniqueOrThrow({ where: { id } })
const rows = (providerId: string) => app.core.db.oAuthProvider.findMany({ where: { providerId } })
const registrations = () => own.requests.filter(({ path }) => path === '/register')

async function discovered(more?: object) {
  const answer = await discover(body(more))
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

const MUTATION = `mutation ($input: DiscoverMcpProviderInput!) {
  discoverMcpProvider(input: $input) {
    __typename
    ... on DiscoverMcpProviderSuccess {
      oauthProvider {
        id providerId name clientId authUrl tokenUrl usesPkce codeChallengeMethod mcpServerUrl isDynamicClient
        tokenEndpointAuthMethod
      }
    }
    ... on Error { message code }
    ... on ValidationError { issues { path code } }
  }
}`
async function mutate(input: object, key = app.keys.admin) {
  const answer = await app.gql(MUTATION, { input }, { key })
  return answer.data?.discoverMcpProvider ?? answer.errors
}

describe('MCP discovery', () => {
  test('creates a provider with a client that it registered', async () => {
    const made = await discovered({ mcp_server_url: mcp.url })
    expect(made).toMatchObject({
      organization_id: app.tenant.organizationId,
      name: 'Notes',
      client_id: expect.any(String),
      auth_url: oauth.authUrl,
      token_url: oauth.tokenUrl,
      uses_pkce: true,
      code_challenge_method: 'S256',
      provider_type: null,
      mcp_server_url: mcp.url,
      token_endpoint_auth_method: 'client_secret_basic',
      is_dynamic_client: true,
    })
    expect(await row(made.id)).toMatchObject({
      issuer: oauth.url,
      resource: mcp.url,
      revocationUrl: oauth.revocationUrl,
      userinfoUrl: oauth.userinfoUrl,
      metadataReadAt: expect.any(Date),
    })
    const { keys } = app
    for (const key of [keys.viewer, keys.deployer])
      expect((await app.call('GET', `/v2/auth/providers/${made.provider_id}`, { key })).body).toEqual(made)
    const event = await app.core.db.event.findFirst({ where: { subjectId: made.id } })
    expect(event).toMatchObject({ type: 'oauth_provider.created' })
  })

  test('works by GraphQL', async () => {
    const providerId = newId()
    expect(await mutate({ providerId, name: 'Notes', mcpServerUrl: own.url })).toEqual({
      __typename: 'DiscoverMcpProviderSuccess',
      oauthProvider: {
        id: expect.any(String),
        providerId,
        name: 'Notes',
        clientId: 'the-client',
        authUrl: `${own.origin}/authorize`,
        tokenUrl: `${own.origin}/token`,
        usesPkce: true,
        codeChallengeMethod: 'S256',
        mcpServerUrl: own.url,
        isDynamicClient: true,
        tokenEndpointAuthMethod: 'client_secret_basic',
      },
    })
    expect(await mutate({ providerId, name: 'Notes', mcpServerUrl: own.url })).toMatchObject({
      __typename: 'ConflictError',
      code: 'ALREADY_EXISTS',
    })
    expect(await mutate({ providerId: newId(), name: 'Notes', mcpServerUrl: 'https://10.0.0.1/' })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'mcpServerUrl'], code: 'value_error' }],
    })
  })

  test('creates a provider whose flow uses PKCE and the server’s resource', async () => {
    const made = await discovered({ mcp_server_url: mcp.url })
    const provider = {
      id: made.id,
      providerId: made.provider_id,
      name: made.name,
      clientId: made.client_id,
      clientSecret: null,
    }
    const asked = await authenticate(app, { provider, scopes: ['read'] })
    const { searchParams } = new URL(asked.body.url)
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: made.client_id,
      code_challenge_method: 'S256',
      code_challenge: expect.any(String),
      resource: mcp.url,
    })
    const { connectionId } = await connectedToken(app, oauth, { provider, scopes: ['read'], agentId: 'notes-agent' })
    expect(oauth.tokenRequests.at(-1)).toMatchObject({ auth: 'basic', resource: mcp.url, status: 200 })
    const path = `/v2/auth/agents/notes-agent/providers/${made.provider_id}/access-token`
    const key = await agentKey(app, 'notes-agent')
    const { status, body: given } = await app.call('POST', path, { key, body: { scopes: ['read'] } })
    expect([status, given]).toEqual([200, expect.objectContaining({ connection_id: connectionId })])
    expect(await oauth.isActive(given.access_token)).toBe(true)
  })

  test('hides the client secret in responses, log and database', async () => {
    const made = await discovered()
    const { clientSecret } = await row(made.id)
    expect(clientSecret).toEqual(expect.any(String))
    const list = await app.call('GET', '/v2/auth/providers')
    const events = await app.core.db.event.findMany({ where: { subjectId: made.id } })
    const mutated = await mutate({ providerId: newId(), name: 'Notes', mcpServerUrl: own.url })
    expect(JSON.stringify([made, mutated, list.body, clientSecret, events, logged], text)).not.toContain('canary')
  })

  test('allows the same provider_id in each organization', async () => {
    const { provider_id } = await discovered()
    const { status } = await discover(body({ provider_id }), { key: app.other.keys.admin })
    expect(status).toBe(200)
    expect(
      (await app.call('GET', `/v2/auth/providers/${provider_id}`, { key: app.other.keys.viewer })).body,
    ).toMatchObject({
      organization_id: app.other.organizationId,
    })
  })
})

const text = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

describe('MCP discovery is refused', () => {
  test('for callers other than admins, without a request', async () => {
    const before = own.requests.length
    const { viewer, deployer } = app.keys
    for (const key of [viewer, deployer, await agentKey(app, 'notes-agent')])
      expect(await discover(body(), { key })).toMatchObject({ status: 403 })
    expect((await discover(body(), { key: null })).status).toBe(401)
    expect(await mutate({ providerId: newId(), name: 'Notes', mcpServerUrl: own.url }, deployer)).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(own.requests).toHaveLength(before)
  })

  test.each([
    [
      { provider_id: undefined, name: undefined, mcp_server_url: undefined },
      'mcp_server_url missing, name missing, provider_id missing',
    ],
    [{ provider_id: '-a' }, 'provider_id string_pattern_mismatch'],
    [{ provider_id: 'mcp-discover' }, 'provider_id value_error'],
    [{ provider_id: randomUUID() }, 'provider_id value_error'],
    [{ name: '' }, 'name string_too_short'],
    [{ mcp_server_url: 7 }, 'mcp_server_url string_type'],
    [{ mcp_server_url: 'mcp.example.com' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'ftp://mcp.example.com/' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'http://mcp.example.com/' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'https://user:canary@mcp.example.com/' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'https://mcp.example.com/#part' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'https://10.1.2.3/mcp' }, 'mcp_server_url value_error'],
    [{ mcp_server_url: 'https://[fd00::1]/mcp' }, 'mcp_server_url value_error'],
  ])('for %j, without a request', async (more, wrong) => {
    const before = own.requests.length
    const answer = await discover(body(more))
    expect(violations(answer)).toEqual(wrong.split(', ').map((one) => `body.${one}`))
    expect(answer.text).not.toContain('canary')
    expect(own.requests).toHaveLength(before)
  })

  test('for a used provider_id, before any registration', async () => {
    const { provider_id } = await discovered()
    const before = own.requests.length
    const answer = await discover(body({ provider_id }))
    expect(answer).toMatchObject({ status: 409, body: { code: 'ALREADY_EXISTS' } })
    expect(own.requests).toHaveLength(before)
  })

  test('for one of two concurrent calls with the same provider_id', async () => {
    const provider_id = newId()
    // both responses wait until both calls found the provider_id unused
    let arrived = 0
    let release = () => {}
    const both = new Promise<void>((resolve) => {
      release = resolve
    })
    own.answer('/register', async () => {
      if (++arrived === 2) release()
      await both
      return REGISTERED
    })
    const answers = await Promise.all([discover(body({ provider_id })), discover(body({ provider_id }))])
    own.answer('/register', REGISTERED)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await rows(provider_id)).toHaveLength(1)
  })

  test('for a server that lacks a required feature, which the message names', async () => {
    const before = registrations().length
    own.answer(SERVER_METADATA, { body: metadata({ code_challenge_methods_supported: ['plain'] }) })
    const what = body()
    const answer = await discover(what)
    own.answer(SERVER_METADATA, { body: metadata({ token_endpoint: 'https://192.168.0.1/canary' }) })
    const aimed = await discover(what)
    own.answer(SERVER_METADATA, { body: metadata() })
    expect(answer.body.detail).toEqual([
      { loc: ['body', 'mcp_server_url'], msg: expect.stringContaining('PKCE with S256'), type: 'value_error' },
    ])
    expect(aimed.body.detail).toMatchObject([{ msg: expect.stringContaining('token endpoint') }])
    expect(aimed.text).not.toContain('canary')
    expect(registrations()).toHaveLength(before)
    expect(await rows(what.provider_id)).toEqual([])
  })

  test('while no server responds, as a temporary error', async () => {
    const gone = await startMcpServer()
    await gone.close()
    const { host } = new URL(gone.url)
    const says = `This MCP server could not be asked: ${host} refused the connection. Try again later.`
    expect(await discover(body({ mcp_server_url: gone.url }))).toMatchObject({
      status: 502,
      body: { code: 'OAUTH_PROVIDER_UNAVAILABLE', detail: says },
    })
    expect(await mutate({ providerId: newId(), name: 'Notes', mcpServerUrl: gone.url })).toEqual({
      __typename: 'OAuthProviderUnavailableError',
      code: 'OAUTH_PROVIDER_UNAVAILABLE',
      message: says,
    })
  })

  test('for a host name with a private address, as the caller’s error', async () => {
    const ctx = await app.context(app.keys.admin)
    const resolve: ResolveHost = (_name, _options, done) => done(null, [{ address: '10.11.12.13', family: 4 }])
    const asked = discoverMcpProvider(
      { ...ctx, oauth: createOAuthClient({ allow: [] }, resolve) },
      { body: body({ mcp_server_url: 'https://mcp.example.com/' }) },
    )
    const { violations: found } = await asked.catch((error) => error)
    expect(found).toEqual([
      {
        loc: ['body', 'mcp_server_url'],
        msg: 'This MCP server has a host name that leads to a private address; see OUTBOUND_ALLOW.',
        type: 'value_error',
      },
    ])
  })

  test('for every other method', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status, headers } = await app.rest(method, PATH)
      expect([status, headers.get('allow')]).toEqual([405, 'POST'])
    }
  })
})
