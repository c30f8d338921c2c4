/** The OAuth flow as a client, against a real provider. */
import { describe, expect, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import { accessAt, cameBack, failureOf, REDIRECT_URI, tokensOf } from '../support/oauth-access.ts'
import { startWebServer } from '../support/web-server.ts'
import { useOAuthServer } from './support.ts'

const oauth = createOAuthClient({ allow: ['127.0.0.1'] })
const rotating = useOAuthServer()
const keeping = useOAuthServer({ rotate: false, accessTokenSeconds: 120 })

const METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const
const SEEN = { none: 'none', client_secret_basic: 'basic', client_secret_post: 'post' } as const

describe.each(METHODS)('with the method %s', (method) => {
  test.each([true, false])('a person signs in and the tokens work (PKCE: %s)', async (usesPkce) => {
    const access = await accessAt(rotating, { method, usesPkce })
    const tokens = await tokensOf(oauth, rotating, access, { account: 'bob' })
    expect(tokens).toMatchObject({
      tokenType: 'bearer',
      expiresIn: 3600,
      scopes: ['openid', 'email', 'read'],
      account: { id: 'bob', label: 'bob' },
    })
    expect(await rotating.isActive(tokens.accessToken)).toBe(true)
    expect(rotating.tokenRequests.at(-1)).toMatchObject({ auth: SEEN[method], status: 200 })
  })

  test('a refresh token works and is replaced by a provider that rotates', async () => {
    const access = await accessAt(rotating, { method })
    const first = await tokensOf(oauth, rotating, access)
    const second = await oauth.refresh(access, first.refreshToken, 5000)
    expect(second.accessToken).not.toBe(first.accessToken)
    expect(second.refreshToken).not.toBe(first.refreshToken)
    expect(await rotating.isActive(second.accessToken)).toBe(true)
    expect(rotating.tokenRequests.at(-1)).toMatchObject({ grantType: 'refresh_token', auth: SEEN[method] })
  })
})

test('a provider that does not rotate accepts a refresh token again', async () => {
  const access = await accessAt(keeping)
  const { refreshToken, expiresIn } = await tokensOf(oauth, keeping, access)
  expect(expiresIn).toBe(120)
  await oauth.refresh(access, refreshToken, 5000)
  await oauth.refresh(access, refreshToken, 5000)
})

test('a used refresh token is refused with its error code', async () => {
  const access = await accessAt(rotating)
  const { refreshToken } = await tokensOf(oauth, rotating, access)
  await oauth.refresh(access, refreshToken, 5000)
  expect(await failureOf(oauth.refresh(access, refreshToken, 5000))).toMatchObject({
    kind: 'refused',
    error: 'invalid_grant',
    message: 'answered: invalid_grant',
  })
})

test.each(['client_secret_basic', 'client_secret_post'] as const)(
  'a secret with special characters arrives unchanged (%s)',
  async (method) => {
    await tokensOf(oauth, rotating, await accessAt(rotating, { method, secret: 'a-b_c.d~e f+g%h:i/j=k&l!*()' }))
  },
)

test('usual ids and secrets are sent without escapes, for providers that decode nothing', async () => {
  const web = await startWebServer()
  web.answer('/token', { body: { error: 'invalid_client' }, status: 401 })
  const access = {
    ...(await accessAt(rotating)),
    tokenUrl: `${web.origin}/token`,
    clientId: 'my-app.v1_x',
    clientSecret: 's-e_c.r',
  }
  await failureOf(oauth.refresh(access, 'a refresh token', 5000))
  await web.close()
  expect(atob(web.requests[0]?.authorization?.split(' ')[1] ?? '')).toBe('my-app.v1_x:s-e_c.r')
})

describe('the authorization URL', () => {
  test('keeps its configured parameters and adds the required ones', async () => {
    const access = { ...(await accessAt(rotating)), authUrl: `${rotating.authUrl}?prompt=consent&scope=old` }
    const request = { redirectUri: REDIRECT_URI, state: 's', scopes: ['read', 'write'] }
    const url = new URL(await oauth.authorizationUrl(access, { ...request, codeVerifier: await oauth.codeVerifier() }))
    const { code_challenge, ...said } = Object.fromEntries(url.searchParams)
    expect(code_challenge).toMatch(/^[\w-]{43}$/)
    expect(said).toEqual({
      prompt: 'consent',
      response_type: 'code',
      client_id: access.clientId,
      redirect_uri: REDIRECT_URI,
      state: 's',
      scope: 'read write',
      code_challenge_method: 'S256',
    })
  })

  test('omits PKCE and scopes if there are none', async () => {
    const access = await accessAt(rotating, { usesPkce: false })
    const request = { redirectUri: REDIRECT_URI, state: 's', scopes: [], codeVerifier: null }
    const url = new URL(await oauth.authorizationUrl(access, request))
    expect([...url.searchParams.keys()]).toEqual(['response_type', 'client_id', 'redirect_uri', 'state'])
  })

  test('names the resource, like the exchange and every refresh', async () => {
    const resource = 'https://mcp.example.com/mcp'
    const access = await accessAt(rotating, { resource })
    const { refreshToken } = await tokensOf(oauth, rotating, access, { scopes: ['read'] })
    await oauth.refresh(access, refreshToken, 5000)
    expect(rotating.tokenRequests.slice(-2)).toMatchObject([
      { grantType: 'authorization_code', resource, status: 200 },
      { grantType: 'refresh_token', resource, status: 200 },
    ])
  })
})

describe('the exchange rejects', () => {
  test('a code with another verifier', async () => {
    const access = await accessAt(rotating)
    const grant = { ...(await cameBack(oauth, rotating, access)), codeVerifier: await oauth.codeVerifier() }
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'refused', error: 'invalid_grant' })
  })

  test('a second use of a code, which also ends its tokens', async () => {
    const access = await accessAt(rotating)
    const grant = await cameBack(oauth, rotating, access)
    const { accessToken } = await oauth.exchange(access, grant)
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'refused', error: 'invalid_grant' })
    expect(await rotating.isActive(accessToken)).toBe(false)
  })

  test('an expired code', async () => {
    const access = await accessAt(rotating)
    const grant = await cameBack(oauth, rotating, access)
    rotating.expireCodes()
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'refused', error: 'invalid_grant' })
  })

  test('a code with a wrong client secret', async () => {
    const access = { ...(await accessAt(rotating)), clientSecret: 'wrong' }
    const grant = await cameBack(oauth, rotating, access)
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'refused', error: 'invalid_client' })
  })

  test.each([
    ['another state', (callback: URLSearchParams) => callback.set('state', 'another')],
    ['no state', (callback: URLSearchParams) => callback.delete('state')],
    ['two states', (callback: URLSearchParams) => callback.append('state', 'another')],
    ['no code', (callback: URLSearchParams) => callback.delete('code')],
    ['two codes', (callback: URLSearchParams) => callback.append('code', 'another')],
    ['a token in addition to the code', (callback: URLSearchParams) => callback.set('id_token', 'x.y.z')],
  ])('a callback with %s, without a request to the provider', async (_, change) => {
    const access = await accessAt(rotating)
    const grant = await cameBack(oauth, rotating, access)
    const before = rotating.tokenRequests.length
    change(grant.callback)
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'unusable' })
    expect(rotating.tokenRequests.length).toBe(before)
  })

  test('a callback of a person who declined', async () => {
    const access = await accessAt(rotating)
    const grant = await cameBack(oauth, rotating, access, { decline: true })
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind: 'refused', error: 'access_denied' })
  })
})

describe('the issuer of a callback', () => {
  test('must equal a known issuer', async () => {
    const access = await accessAt(rotating, { issuer: keeping.url })
    const grant = await cameBack(oauth, rotating, access)
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({
      kind: 'unusable',
      message: 'did not send this callback: its iss names another issuer',
    })
    await oauth.exchange({ ...access, issuer: rotating.url }, grant)
  })

  test('is ignored if the issuer is unknown', async () => {
    const access = await accessAt(rotating)
    const grant = await cameBack(oauth, rotating, access)
    expect(grant.callback.get('iss')).toBe(rotating.url)
    await oauth.exchange(access, grant)
  })
})
