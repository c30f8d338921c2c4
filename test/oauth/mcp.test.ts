/** Discovery of an MCP server's authorization server and registration of a client. */
import { expect, test } from 'vitest'
import { registerForMcp } from '../../src/adapters/oauth/mcp-discovery.ts'
import { McpDiscoveryError, McpUnavailableError } from '../../src/domain/ports/oauth-client.ts'
import { createOutbound } from '../../src/platform/http/guarded-fetch.ts'
import { type McpServer, RESOURCE_METADATA, SERVER_METADATA } from '../support/mcp-server.ts'
import { mcpServer, OPENID, REDIRECT, RULES } from './mcp-support.ts'
import { useOAuthServer } from './support.ts'

const oauth = useOAuthServer({ registration: true })

/** The result of discovery: the client or the error. */
const discover = (url: string, { redirectUri = REDIRECT, timeoutMs = 10_000 } = {}) =>
  registerForMcp(createOutbound(RULES), RULES, url, { name: 'Acme', redirectUri }, timeoutMs).catch((error) => error)

const said = (text: string | RegExp) => (error: unknown) => {
  expect(error).toBeInstanceOf(McpDiscoveryError)
  expect((error as Error).message).toMatch(text)
}
const unavailable = (text: string) => (error: unknown) => {
  expect(error).toBeInstanceOf(McpUnavailableError)
  expect((error as Error).message).toContain(text)
}

/** Metadata of an authorization server at `issuer`. Its endpoints are the real one's, except for the registration. */
const metadata = (issuer: string, more: object = {}) => ({
  issuer,
  authorization_endpoint: oauth.authUrl,
  token_endpoint: oauth.tokenUrl,
  registration_endpoint: `${new URL(issuer).origin}/register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  ...more,
})

/** An MCP server that is its own authorization server, with the given metadata and registration. */
async function ownServer(more: object = {}, registered: object = { client_id: 'registered' }): Promise<McpServer> {
  const mcp = await mcpServer()
  mcp.answer(SERVER_METADATA, { body: metadata(mcp.origin, more) })
  mcp.answer('/register', { status: 201, body: registered })
  return mcp
}

const asked = (mcp: McpServer) => mcp.requests.map(({ method, path }) => `${method} ${path}`)
const registrations = (mcp: McpServer) =>
  mcp.requests.filter(({ path }) => path === '/register').map(({ body }) => JSON.parse(body))

test('the metadata is read at the challenge’s URL, and a client is registered at the named server', async () => {
  const mcp = await mcpServer({ named: true, authorizationServers: [oauth.url] })
  expect(await discover(mcp.url)).toEqual({
    clientId: expect.any(String),
    clientSecret: expect.any(String),
    tokenEndpointAuthMethod: 'client_secret_basic',
    authUrl: oauth.authUrl,
    tokenUrl: oauth.tokenUrl,
    issuer: oauth.url,
    revocationUrl: oauth.revocationUrl,
    userinfoUrl: oauth.userinfoUrl,
    resource: mcp.url,
  })
  expect(asked(mcp)).toEqual(['POST /mcp', 'GET /about-me'])
})

test('the MCP server receives no credentials', async () => {
  const mcp = await mcpServer({ named: true, authorizationServers: [oauth.url] })
  await discover(mcp.url)
  expect(mcp.requests.every(({ authorization }) => authorization === undefined)).toBe(true)
})

test('a challenge without metadata leads to the well-known location of the path', async () => {
  const mcp = await mcpServer({ authorizationServers: [oauth.url] })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url, resource: mcp.url })
  expect(asked(mcp)).toEqual(['POST /mcp', `GET ${RESOURCE_METADATA}/mcp`])
})

test('the next location is the root, whose metadata may cover the whole origin', async () => {
  const mcp = await mcpServer()
  mcp.answer(RESOURCE_METADATA, { body: { resource: mcp.origin, authorization_servers: [oauth.url] } })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url, resource: mcp.origin })
  expect(asked(mcp)).toEqual(['POST /mcp', `GET ${RESOURCE_METADATA}/mcp`, `GET ${RESOURCE_METADATA}`])
})

test('a server that responds without a token is still asked for its metadata', async () => {
  const mcp = await mcpServer({ authorizationServers: [oauth.url] })
  mcp.answer('/mcp', { body: { jsonrpc: '2.0', id: 1, result: {} } })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url })
})

test('a server that does not respond is still asked for its metadata', async () => {
  const mcp = await mcpServer({ authorizationServers: [oauth.url] })
  mcp.answer('/mcp', { hang: true })
  expect(await discover(mcp.url, { timeoutMs: 4000 })).toMatchObject({ issuer: oauth.url })
})

test('a web page at a well-known location counts as no metadata', async () => {
  const mcp = await mcpServer()
  mcp.answer(`${RESOURCE_METADATA}/mcp`, { body: '<!doctype html><h1>Welcome</h1>' })
  mcp.answer(RESOURCE_METADATA, { body: { resource: mcp.url, authorization_servers: [oauth.url] } })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url })
})

test('without metadata the server’s own origin is the authorization server', async () => {
  const mcp = await ownServer()
  expect(await discover(mcp.url)).toMatchObject({ issuer: mcp.origin, resource: mcp.url, clientId: 'registered' })
})

test('a server at the root is identified by its origin', async () => {
  const mcp = await ownServer()
  expect(await discover(mcp.origin)).toMatchObject({ resource: mcp.origin })
})

test('redirects of metadata are followed, except to private addresses', async () => {
  const mcp = await mcpServer({ authorizationServers: [oauth.url] })
  mcp.answer('/there', { body: { resource: mcp.url, authorization_servers: [oauth.url] } })
  mcp.answer(`${RESOURCE_METADATA}/mcp`, { status: 302, headers: { location: '/there' } })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url })
  mcp.answer(`${RESOURCE_METADATA}/mcp`, { status: 302, headers: { location: 'https://169.254.169.254/latest' } })
  unavailable('redirects to')(await discover(mcp.url))
})

test.each([
  ['another server', () => 'https://mcp.example.com/mcp'],
  ['a sibling path', ({ origin }: McpServer) => `${origin}/mcp2`],
  ['a path below the server', ({ origin }: McpServer) => `${origin}/mcp/tools`],
  ['a URL with another query', ({ url }: McpServer) => `${url}?tenant=1`],
  ['a URL with a fragment', ({ url }: McpServer) => `${url}#there`],
])('metadata of %s is refused without a registration', async (_what, resource) => {
  const mcp = await ownServer()
  mcp.answer(RESOURCE_METADATA, { body: { resource: resource(mcp), authorization_servers: [mcp.origin] } })
  said('names another resource')(await discover(mcp.url))
  expect(registrations(mcp)).toEqual([])
})

test('a challenge with a wrong URL is reported, and no other location is tried', async () => {
  const mcp = await mcpServer({ authorizationServers: [oauth.url] })
  const challenge = (address: string) =>
    mcp.answer('/mcp', {
      status: 401,
      headers: { 'www-authenticate': `Basic, Bearer scope=a, resource_metadata="${address}"` },
    })
  challenge(`${mcp.origin}/nothing`)
  said('names a URL without')(await discover(mcp.url))
  challenge('http://mcp.example.com/metadata')
  said('metadata must be an https address')(await discover(mcp.url))
  challenge('https://10.0.0.1/metadata')
  said(/metadata is at .*OUTBOUND_ALLOW/)(await discover(mcp.url))
})

test('the first usable of several authorization servers is used', async () => {
  const dead = await mcpServer()
  await dead.close()
  const closed = await ownServer({ registration_endpoint: undefined })
  const mcp = await mcpServer({ authorizationServers: [dead.origin, closed.origin, oauth.url] })
  expect(await discover(mcp.url)).toMatchObject({ issuer: oauth.url })
})

test('if no authorization server is usable, the problem of the first is reported', async () => {
  const closed = await ownServer({ registration_endpoint: undefined })
  const mcp = await mcpServer({ authorizationServers: [closed.origin, 'https://10.0.0.1'] })
  said('registers no clients by itself')(await discover(mcp.url))
})

test('a server can’t cause an unlimited number of requests', async () => {
  const others = await Promise.all(Array.from({ length: 5 }, () => mcpServer()))
  const mcp = await mcpServer({ authorizationServers: others.map(({ origin }) => origin) })
  said('publishes no metadata')(await discover(mcp.url))
  expect(others.map(({ requests }) => requests.length)).toEqual([2, 2, 2, 0, 0])
})

test.each([
  ['of OAuth, inserted before the path', `${SERVER_METADATA}/tenant`, 1],
  ['of OpenID Connect, inserted before the path', `${OPENID}/tenant`, 2],
  ['of OpenID Connect, appended to the path', `/tenant${OPENID}`, 3],
])('metadata of an issuer with a path is found with the well-known part %s', async (_what, path, calls) => {
  const issuing = await mcpServer()
  issuing.answer(path, { body: metadata(`${issuing.origin}/tenant`) })
  issuing.answer('/register', { status: 201, body: { client_id: 'registered' } })
  const mcp = await mcpServer({ authorizationServers: [`${issuing.origin}/tenant`] })
  expect(await discover(mcp.url)).toMatchObject({ issuer: `${issuing.origin}/tenant` })
  expect(asked(issuing)).toHaveLength(calls + 1)
})

test.each([
  ['PKCE', { code_challenge_methods_supported: undefined }, /PKCE with S256 .* which MCP asks for/],
  ['PKCE with S256', { code_challenge_methods_supported: ['plain'] }, 'PKCE with S256'],
  ['a list of PKCE methods', { code_challenge_methods_supported: 'S256' }, 'PKCE with S256'],
  ['the code flow', { response_types_supported: ['token'] }, 'does not offer the authorization code flow'],
  ['registration', { registration_endpoint: undefined }, /Register one there.*POST \/v2\/auth\/providers/],
  ['an authorization endpoint', { authorization_endpoint: undefined }, 'has no authorization endpoint'],
  ['a token endpoint', { token_endpoint: 17 }, 'has no token endpoint'],
  [
    'a supported auth method',
    { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
    'supports none of the auth methods client_secret_basic, client_secret_post, none',
  ],
  ['the expected issuer', { issuer: 'https://issuer.example.com' }, 'publishes metadata of another issuer'],
  ['an issuer', { issuer: undefined }, 'publishes no metadata'],
  [
    'an https authorization endpoint',
    { authorization_endpoint: 'javascript:alert(1)' },
    'authorization endpoint .* must be',
  ],
  ['an https token endpoint', { token_endpoint: 'http://as.example.com/token' }, 'token endpoint .* must be an https'],
  ['a public token endpoint', { token_endpoint: 'https://10.0.0.1/token' }, 'token endpoint .* OUTBOUND_ALLOW'],
  ['a public token endpoint by IPv6', { token_endpoint: 'https://[::ffff:10.0.0.1]/token' }, 'OUTBOUND_ALLOW'],
  [
    'a public registration endpoint',
    { registration_endpoint: 'https://192.168.1.1/r' },
    'registration endpoint .* OUTBOUND_ALLOW',
  ],
  [
    'a public revocation endpoint',
    { revocation_endpoint: 'https://172.16.0.1/r' },
    'revocation endpoint .* OUTBOUND_ALLOW',
  ],
  [
    'a public userinfo endpoint',
    { userinfo_endpoint: 'https://169.254.169.254/' },
    'userinfo endpoint .* OUTBOUND_ALLOW',
  ],
])('an authorization server without %s is refused without a registration', async (_what, more, text) => {
  const mcp = await ownServer(more)
  said(typeof text === 'string' ? new RegExp(text) : text)(await discover(mcp.url))
  expect(registrations(mcp)).toEqual([])
})

test('null counts as absent', async () => {
  const names = ['revocation_endpoint', 'userinfo_endpoint', 'grant_types_supported', 'response_types_supported']
  const mcp = await ownServer(Object.fromEntries(names.map((name) => [name, null])))
  expect(await discover(mcp.url)).toMatchObject({ revocationUrl: null, userinfoUrl: null })
})

test('metadata is found even if the first location fails', async () => {
  const mcp = await ownServer()
  mcp.answer(SERVER_METADATA, { status: 500 })
  mcp.answer(OPENID, { body: metadata(mcp.origin) })
  expect(await discover(mcp.url)).toMatchObject({ clientId: 'registered' })
})

test('an authorization endpoint at a private address is refused', async () => {
  const mcp = await ownServer({ authorization_endpoint: 'https://10.0.0.1/authorize' })
  said(/authorization endpoint of this MCP server’s authorization server is at .*OUTBOUND_ALLOW/)(
    await discover(mcp.url),
  )
})

test('an authorization server at a private address is not called', async () => {
  const mcp = await mcpServer({ authorizationServers: ['https://10.0.0.1'] })
  said(/authorization server of this MCP server is at .*OUTBOUND_ALLOW/)(await discover(mcp.url))
})

test('an authorization server without metadata is refused', async () => {
  const mcp = await mcpServer()
  mcp.answer(SERVER_METADATA, { body: '<!doctype html><h1>Welcome</h1>' })
  said('publishes no metadata')(await discover(mcp.url))
})

test('the registration requests everything that the flow needs', async () => {
  const mcp = await ownServer()
  await discover(mcp.url)
  await discover(mcp.url, { redirectUri: 'https://pilothouse.example.com/v2/auth/callback/acme' })
  const wanted = {
    client_name: 'Pilothouse: Acme',
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: 'native',
  }
  expect(registrations(mcp)).toEqual([
    wanted,
    { ...wanted, redirect_uris: ['https://pilothouse.example.com/v2/auth/callback/acme'], application_type: 'web' },
  ])
})

test('the registration requests no refresh tokens if the server does not support them', async () => {
  const mcp = await ownServer({ grant_types_supported: ['authorization_code'] })
  await discover(mcp.url)
  expect(registrations(mcp)).toMatchObject([{ grant_types: ['authorization_code'] }])
})

test.each([
  [['none', 'client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
  [['none', 'private_key_jwt', 'client_secret_post'], 'client_secret_post'],
  [['none'], 'none'],
])('of the auth methods %s the registration requests %s', async (methods, method) => {
  const mcp = await ownServer({ token_endpoint_auth_methods_supported: methods })
  await discover(mcp.url)
  expect(registrations(mcp)).toMatchObject([{ token_endpoint_auth_method: method }])
})

const SECRET = { client_id: 'id', client_secret: 'canary-secret', client_secret_expires_at: 0 }

test.each([
  ['a secret', SECRET, { clientSecret: 'canary-secret', tokenEndpointAuthMethod: 'client_secret_basic' }],
  [
    'another auth method than the requested one',
    { ...SECRET, token_endpoint_auth_method: 'client_secret_post' },
    { clientSecret: 'canary-secret', tokenEndpointAuthMethod: 'client_secret_post' },
  ],
  [
    'no secret although one was requested',
    { client_id: 'id', token_endpoint_auth_method: 'none' },
    { clientSecret: null, tokenEndpointAuthMethod: 'none' },
  ],
  ['only an id', { client_id: 'id' }, { clientSecret: null, tokenEndpointAuthMethod: 'none' }],
  [
    'a secret that lasts for years',
    { ...SECRET, client_secret_expires_at: 4102444800 },
    { clientSecret: 'canary-secret' },
  ],
])('the registration response decides: %s', async (_what, answer, expected) => {
  const mcp = await ownServer({}, answer)
  expect(await discover(mcp.url)).toMatchObject({ clientId: 'id', ...expected })
})

test('a registration response with status 200 is accepted', async () => {
  const mcp = await ownServer()
  mcp.answer('/register', { status: 200, body: SECRET })
  expect(await discover(mcp.url)).toMatchObject({ clientSecret: 'canary-secret' })
})

test('a server with expiring secrets gets a public client, if it accepts one', async () => {
  const soon = Math.floor(Date.now() / 1000) + 30 * 24 * 60 * 60
  const expiring = { status: 201, body: { ...SECRET, client_secret_expires_at: soon } }
  const mcp = await ownServer()
  mcp.answer('/register', expiring)
  said(/gives out client secrets that expire.*POST \/v2\/auth\/providers/)(await discover(mcp.url))
  expect(registrations(mcp).map((one) => one.token_endpoint_auth_method)).toEqual(['client_secret_basic', 'none'])
  mcp.answer('/register', (body) =>
    JSON.parse(body).token_endpoint_auth_method === 'none' ? { status: 201, body: { client_id: 'public' } } : expiring,
  )
  expect(await discover(mcp.url)).toMatchObject({
    clientId: 'public',
    clientSecret: null,
    tokenEndpointAuthMethod: 'none',
  })
})

test.each([
  ['an unknown auth method', { ...SECRET, token_endpoint_auth_method: 'tls_client_auth' }, 'unsupported auth method'],
  [
    'an auth method that needs a secret, but no secret',
    { client_id: 'id', token_endpoint_auth_method: 'client_secret_post' },
    'without the secret',
  ],
  ['no id', { client_secret: 'canary-secret' }, 'did not return a client'],
  ['an id with a line break', { client_id: 'a\r\nb' }, 'can’t be used'],
])('a registration response with %s is refused', async (_what, answer, text) => {
  const mcp = await ownServer({}, answer)
  const error = await discover(mcp.url)
  said(text)(error)
  expect(JSON.stringify([error.message, error.cause, error.stack])).not.toContain('canary')
})

test.each([
  [{ status: 400, body: { error: 'invalid_redirect_uri', error_description: 'canary' } }, '(invalid_redirect_uri)'],
  [{ status: 400, body: { error: 'the canary says no' } }, 'refused to register a client|did not return a client'],
  [{ status: 401, body: { error: 'invalid_token' } }, 'registers no clients without credentials'],
  [{ status: 403, body: '<h1>canary</h1>' }, 'registers no clients without credentials'],
  [{ status: 302, headers: { location: 'https://canary.example.com/' } }, 'did not return a client'],
  [{ status: 201, body: '<h1>canary</h1>' }, 'did not return a client'],
])('a refused registration is reported without the server’s text: %j', async (reply, text) => {
  const mcp = await ownServer()
  mcp.answer('/register', reply)
  const error = await discover(mcp.url)
  said(new RegExp(text.replace(/[()]/g, '\\$&')))(error)
  expect(JSON.stringify([error.message, error.cause, error.stack])).not.toContain('canary')
})

test('a failing or busy server is a temporary error', async () => {
  const mcp = await ownServer()
  mcp.answer('/register', { status: 503, body: { error: 'canary' } })
  unavailable('answered 503')(await discover(mcp.url))
  mcp.answer('/register', { status: 429 })
  unavailable('answered 429')(await discover(mcp.url))
  mcp.answer(SERVER_METADATA, { status: 502 })
  unavailable('answered 502')(await discover(mcp.url))
  mcp.answer(`${RESOURCE_METADATA}/mcp`, { status: 500 })
  unavailable('answered 500')(await discover(mcp.url))
})

test('an unreachable server is reported', async () => {
  const mcp = await mcpServer()
  await mcp.close()
  unavailable('refused the connection')(await discover(mcp.url))
})

test('all requests together have one deadline', async () => {
  const mcp = await ownServer()
  mcp.answer(SERVER_METADATA, { hang: true })
  unavailable('did not answer in time')(await discover(mcp.url, { timeoutMs: 500 }))
})
