/** OAuth providers created from an MCP server (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import { createLogger } from '../../src/app/logger.ts'
import { discoverMcpProvider } from '../../src/domain/oauth/providers/discover.ts'
import type { ResolveHost } from '../../src/platform/http/guarded-connect.ts'
import { authenticate, connectedToken, LOCAL, useOAuthServer } from '../oauth/support.ts'
import { useRestApp } from '../rest/support.ts'
import { agentKey } from '../support/factories.ts'
import { SERVER_METADATA, startMcpServer } from '../support/mcp-server.ts'
import { useStarted } from '../support/started.ts'
import { type How, overBoth } from './api.ts'

const REGISTERED = {
  status: 201,
  body: { client_id: 'the-client', client_secret: 'canary-secret', client_secret_expires_at: 0 },
}

/** the complete log, at the lowest level */
const logged: string[] = []
const log = createLogger('debug', { write: (line) => logged.push(line) })
const app = useRestApp(() => ({ settings: LOCAL, overrides: { log } }))
const oauth = useOAuthServer({ registration: true })
const mcp = useStarted(() => startMcpServer({ named: true, authorizationServers: [oauth.url] }))
/** an MCP server that is its own authorization server and counts registrations */
const own = useStarted(() => startMcpServer())
beforeAll(() => {
  own.answer(SERVER_METADATA, { body: metadata() })
  own.answer('/register', REGISTERED)
})

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
const row = (id: string) => app.core.db.oAuthProvider.findUniqueOrThrow({ where: { id } })
const rows = (providerId: string) => app.core.db.oAuthProvider.findMany({ where: { providerId } })
const registrations = () => own.requests.filter(({ path }) => path === '/register')

overBoth(app, (api) => {
  const discover = (more?: object, how?: How) => api.call('discoverMcpProvider', body(more), how)
  const discovered = (more?: object) => api.get('discoverMcpProvider', body(more))

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
      for (const key of [app.keys.viewer, app.keys.deployer])
        expect(await api.get('getOAuthProvider', { provider_id: made.provider_id }, { key })).toEqual(made)
      const event = await app.core.db.event.findFirst({ where: { subjectId: made.id } })
      expect(event).toMatchObject({ type: 'oauth_provider.created' })
    })

    test('creates a provider whose flow uses PKCE and the server’s resource', async () => {
      const made = await discovered({ mcp_server_url: mcp.url })
      const { id, provider_id: providerId, name, client_id: clientId } = made
      const provider = { id, providerId, name, clientId, clientSecret: null }
      const asked = await authenticate(app, { provider, scopes: ['read'] })
      expect(Object.fromEntries(new URL(asked.body.url).searchParams)).toMatchObject({
        client_id: clientId,
        code_challenge_method: 'S256',
        code_challenge: expect.any(String),
        resource: mcp.url,
      })
      const agent_id = `notes-${providerId}`
      const { connectionId } = await connectedToken(app, oauth, { provider, scopes: ['read'], agentId: agent_id })
      expect(oauth.tokenRequests.at(-1)).toMatchObject({ auth: 'basic', resource: mcp.url, status: 200 })
      const how = { key: await agentKey(app, agent_id) }
      const given = await api.get('issueAccessToken', { agent_id, provider_id: providerId, scopes: ['read'] }, how)
      expect(given).toMatchObject({ connection_id: connectionId })
      expect(await oauth.isActive(given.access_token)).toBe(true)
    })

    test('hides the client secret in responses, log and database', async () => {
      const { answer, value } = await discover()
      const { clientSecret } = await row(value.id)
      expect(clientSecret).toEqual(expect.any(String))
      const list = await api.get('listOAuthProviders')
      const events = await app.core.db.event.findMany({ where: { subjectId: value.id } })
      const text = (_name: string, one: unknown) => (typeof one === 'bigint' ? String(one) : one)
      expect(JSON.stringify([answer.text, list, clientSecret, events, logged], text)).not.toContain('canary')
    })

    test('allows the same provider_id in each organization', async () => {
      const { provider_id } = await discovered()
      const { value } = await discover({ provider_id }, { key: app.other.keys.admin })
      expect(value).toMatchObject({ provider_id, organization_id: app.other.organizationId })
    })
  })

  describe('MCP discovery is refused', () => {
    test('for callers other than admins, without a request', async () => {
      const before = own.requests.length
      for (const key of [app.keys.viewer, app.keys.deployer, await agentKey(app, 'notes-agent')])
        expect((await discover({}, { key })).code).toBe('FORBIDDEN')
      expect((await discover({}, { key: null })).code).toBe('UNAUTHENTICATED')
      expect(own.requests).toHaveLength(before)
    })

    test.each<[object, ...string[]]>([
      [
        { provider_id: undefined, name: undefined, mcp_server_url: undefined },
        ...['mcp_server_url missing', 'name missing', 'provider_id missing'],
      ],
      [{ provider_id: '-a' }, 'provider_id string_pattern_mismatch'],
      [{ provider_id: 'mcp-discover' }, 'provider_id value_error'],
      [{ provider_id: randomUUID() }, 'provider_id value_error'],
      [{ name: '' }, 'name string_too_short'],
      [{ mcp_server_url: 7 }, 'mcp_server_url string_type'],
      ...[
        ...['mcp.example.com', 'ftp://mcp.example.com/', 'http://mcp.example.com/', 'https://mcp.example.com/#part'],
        ...['https://user:canary@mcp.example.com/', 'https://10.1.2.3/mcp', 'https://[fd00::1]/mcp'],
      ].map((mcp_server_url): [object, string] => [{ mcp_server_url }, 'mcp_server_url value_error']),
    ])('for %j, without a request', async (more, ...issues) => {
      const before = own.requests.length
      const { answer } = await api.refuses('discoverMcpProvider', body(more), issues)
      expect(answer.text).not.toContain('canary')
      expect(own.requests).toHaveLength(before)
    })

    test('for a used provider_id, before any registration', async () => {
      const { provider_id } = await discovered()
      const before = own.requests.length
      expect((await discover({ provider_id })).code).toBe('ALREADY_EXISTS')
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
      const answers = await Promise.all([discover({ provider_id }), discover({ provider_id })])
      own.answer('/register', REGISTERED)
      expect(answers.map(({ code }) => code ?? 'made').sort()).toEqual(['ALREADY_EXISTS', 'made'])
      expect(await rows(provider_id)).toHaveLength(1)
    })

    test.each([
      ['PKCE with S256', { code_challenge_methods_supported: ['plain'] }],
      ['token endpoint', { token_endpoint: 'https://192.168.0.1/canary' }],
    ])('for a server that lacks a required feature, which the message names: %s', async (named, lacking) => {
      const before = registrations().length
      own.answer(SERVER_METADATA, { body: metadata(lacking) })
      const what = body()
      const refused = await api.refuses('discoverMcpProvider', what, ['mcp_server_url value_error'])
      own.answer(SERVER_METADATA, { body: metadata() })
      expect(refused.message).toContain(named)
      expect(refused.answer.text).not.toContain('canary')
      expect(registrations()).toHaveLength(before)
      expect(await rows(what.provider_id)).toEqual([])
    })

    test('while no server responds, as a temporary error', async () => {
      const gone = await startMcpServer()
      await gone.close()
      const message = `This MCP server could not be asked: ${new URL(gone.url).host} refused the connection. Try again later.`
      const refused = await discover({ mcp_server_url: gone.url })
      expect(refused).toMatchObject({ code: 'OAUTH_PROVIDER_UNAVAILABLE', message })
    })
  })
})

test('a host name with a private address is refused as the caller’s error', async () => {
  const ctx = await app.context(app.keys.admin)
  const resolve: ResolveHost = (_name, _options, done) => done(null, [{ address: '10.11.12.13', family: 4 }])
  const asked = discoverMcpProvider(
    { ...ctx, oauth: createOAuthClient({ allow: [] }, resolve) },
    { body: body({ mcp_server_url: 'https://mcp.example.com/' }) },
  )
  const { violations } = await asked.catch((error) => error)
  expect(violations).toEqual([
    {
      loc: ['body', 'mcp_server_url'],
      msg: 'This MCP server has a host name that leads to a private address; see OUTBOUND_ALLOW.',
      type: 'value_error',
    },
  ])
})

test('the path of discovery has no other method, although it looks like a provider’s', async () => {
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status, headers } = await app.rest(method, '/v2/auth/providers/mcp-discover')
    expect([status, headers.get('allow')]).toEqual([405, 'POST'])
  }
})
