import { describe, expect, onTestFinished, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import { candidateIssuers } from '../../src/adapters/oauth/server-metadata.ts'
import { accessAt, failureOf, tokensOf } from '../support/oauth-access.ts'
import { startOAuthServer } from '../support/oauth-server.ts'
import { type Reply, startWebServer } from '../support/web-server.ts'
import { useOAuthServer } from './support.ts'

const oauth = createOAuthClient({ allow: ['127.0.0.1'] })
const server = useOAuthServer()

/** A server with one endpoint. */
async function answering(reply: Reply) {
  const web = await startWebServer()
  onTestFinished(() => web.close())
  web.answer('/', reply)
  return { url: `${web.origin}/`, requests: web.requests }
}

describe('revocation', () => {
  test.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'ends the token at the provider (%s)',
    async (method) => {
      const access = await accessAt(server, { method })
      const { refreshToken, accessToken } = await tokensOf(oauth, server, access)
      await oauth.revoke(access, server.revocationUrl, { value: refreshToken, hint: 'refresh_token' })
      expect([await server.isActive(refreshToken), await server.isActive(accessToken)]).toEqual([false, false])
    },
  )

  test('succeeds for a token that the provider does not know', async () => {
    const access = await accessAt(server)
    await oauth.revoke(access, server.revocationUrl, { value: 'never-seen', hint: 'access_token' })
  })

  test('sends the token type', async () => {
    const endpoint = await answering({ body: '', status: 204 })
    await oauth.revoke(await accessAt(server), endpoint.url, { value: 't', hint: 'access_token' })
    const sent = new URLSearchParams(endpoint.requests[0]?.body)
    expect(Object.fromEntries(sent)).toMatchObject({ token: 't', token_type_hint: 'access_token' })
  })

  test.each([
    ['invalid_token', 400],
    ['invalid_token', 401],
    ['unsupported_token_type', 400],
  ])('succeeds when the provider answers %s (%i)', async (error, status) => {
    const headers = { 'content-type': 'application/json', 'www-authenticate': 'Basic realm="x"' }
    const endpoint = await answering({ body: { error }, status, headers })
    await oauth.revoke(await accessAt(server), endpoint.url, { value: 't', hint: 'access_token' })
  })

  test.each([
    [
      { body: { error: 'invalid_client' }, status: 401 },
      { kind: 'refused', error: 'invalid_client' },
    ],
    [
      { body: '<h1>no</h1>', status: 500 },
      { kind: 'unusable', message: 'answered 500' },
    ],
    [
      { body: '<h1>no</h1>', status: 404 },
      { kind: 'unusable', message: 'answered 404' },
    ],
    [
      { body: {}, status: 400 },
      { kind: 'unusable', message: 'answered 400' },
    ],
    [
      { body: '', status: 302, headers: { location: '/' } },
      { kind: 'unusable', message: 'answered with a redirect' },
    ],
  ])('fails when the provider answers %j', async (reply, expected) => {
    const endpoint = await answering(reply)
    const revoked = oauth.revoke(await accessAt(server), endpoint.url, { value: 't', hint: 'access_token' })
    expect(await failureOf(revoked)).toMatchObject(expected)
  })
})

describe('userinfo', () => {
  test('labels the account with its e-mail address', async () => {
    const access = await accessAt(server)
    const { accessToken } = await tokensOf(oauth, server, access, { account: 'carol' })
    const account = await oauth.userinfo(access, server.userinfoUrl, accessToken)
    expect(account).toEqual({ id: 'carol', label: 'carol@example.com' })
  })

  test('rejects an unknown token', async () => {
    const call = oauth.userinfo(await accessAt(server), server.userinfoUrl, 'unknown')
    expect(await failureOf(call)).toMatchObject({ kind: 'refused', error: 'invalid_token' })
  })

  test('returns null for a response without an identity', async () => {
    const endpoint = await answering({ body: { login: 'octocat' } })
    expect(await oauth.userinfo(await accessAt(server), endpoint.url, 't')).toBeNull()
  })

  test.each([
    [
      { body: '<h1>hello</h1>', headers: { 'content-type': 'text/html' } },
      'answered with something that is not an account',
    ],
    [{ body: {}, status: 502 }, 'answered 502'],
    [{ body: '', status: 302, headers: { location: '/' } }, 'answered with a redirect'],
  ])('is unusable with the response %j', async (reply, message) => {
    const endpoint = await answering(reply)
    const call = oauth.userinfo(await accessAt(server), endpoint.url, 't')
    expect(await failureOf(call)).toMatchObject({ kind: 'unusable', message })
  })
})

describe('the provider’s metadata', () => {
  const NOTHING = { issuer: null, revocationUrl: null, userinfoUrl: null }

  /** A server with metadata at these paths. `{url}` stands for its origin. */
  async function publishing(metadata: Record<string, object | number>) {
    const web = await startWebServer()
    onTestFinished(() => web.close())
    for (const [path, found] of Object.entries(metadata))
      web.answer(
        path,
        typeof found === 'number'
          ? { status: found }
          : { body: JSON.parse(JSON.stringify(found).replaceAll('{url}', web.origin)) },
      )
    return { url: web.origin, requests: web.requests }
  }

  test('is found from its endpoints', async () => {
    expect(await oauth.published(await accessAt(server))).toEqual({
      issuer: server.url,
      revocationUrl: server.revocationUrl,
      userinfoUrl: server.userinfoUrl,
    })
  })

  test.each(['/.well-known/oauth-authorization-server/realms/a', '/realms/a/.well-known/openid-configuration'])(
    'is found below a tenant’s path: %s',
    async (path) => {
      const tokenUrl = '{url}/realms/a/protocol/token'
      const { url, requests } = await publishing({
        '/.well-known/openid-configuration': { issuer: '{url}', token_endpoint: '{url}/another' },
        [path]: { issuer: '{url}/realms/a', token_endpoint: tokenUrl, revocation_endpoint: '{url}/revoke' },
      })
      const access = await accessAt(server, {
        authUrl: `${url}/realms/a/protocol/auth?kc_idp_hint=x`,
        tokenUrl: tokenUrl.replace('{url}', url),
      })
      expect(await oauth.published(access)).toEqual({
        issuer: `${url}/realms/a`,
        revocationUrl: `${url}/revoke`,
        userinfoUrl: null,
      })
      expect(requests.length).toBeLessThanOrEqual(10)
    },
  )

  test.each([
    ['of another token endpoint', { issuer: '{url}', token_endpoint: '{url}/token/' }],
    ['of another issuer', { issuer: 'https://else.example.com', token_endpoint: '{url}/token' }],
    ['without an issuer', { token_endpoint: '{url}/token' }],
    ['a 403 response', 403],
  ])('is not used if it is %s', async (_, metadata) => {
    const { url } = await publishing({ '/.well-known/openid-configuration': metadata })
    const access = await accessAt(server, { authUrl: `${url}/auth`, tokenUrl: `${url}/token` })
    expect(await oauth.published(access)).toEqual(NOTHING)
  })

  test('is found at the authorization endpoint’s origin, but adds no other origin for tokens', async () => {
    const { url } = await publishing({
      '/.well-known/openid-configuration': {
        issuer: '{url}',
        token_endpoint: server.tokenUrl,
        revocation_endpoint: server.revocationUrl,
        userinfo_endpoint: '{url}/me',
      },
    })
    const other = await publishing({})
    const tokenAt = await accessAt(server, { authUrl: `${url}/auth` })
    // the provider's own metadata is the first match
    expect(await oauth.published(tokenAt)).toMatchObject({ issuer: server.url, userinfoUrl: server.userinfoUrl })
    const silent = await publishing({
      '/.well-known/openid-configuration': {
        issuer: '{url}',
        token_endpoint: `${other.url}/token`,
        revocation_endpoint: `${other.url}/revoke`,
        userinfo_endpoint: '{url}/me',
      },
    })
    const access = await accessAt(server, { authUrl: `${silent.url}/auth`, tokenUrl: `${other.url}/token` })
    expect(await oauth.published(access)).toEqual({
      issuer: silent.url,
      revocationUrl: `${other.url}/revoke`,
      userinfoUrl: null,
    })
  })

  test('is used without endpoints at forbidden addresses', async () => {
    const { url } = await publishing({
      '/.well-known/openid-configuration': {
        issuer: '{url}',
        token_endpoint: '{url}/token',
        revocation_endpoint: 'https://10.0.0.1/revoke',
        userinfo_endpoint: 'http://example.com/me',
      },
    })
    const access = await accessAt(server, { authUrl: `${url}/auth`, tokenUrl: `${url}/token` })
    expect(await oauth.published(access)).toEqual({ ...NOTHING, issuer: url })
  })

  test('is unknown while the provider fails', async () => {
    const { url } = await publishing({ '/.well-known/openid-configuration': 503 })
    const access = await accessAt(server, { authUrl: `${url}/auth`, tokenUrl: `${url}/token` })
    expect(await failureOf(oauth.published(access))).toMatchObject({ kind: 'unusable', message: 'answered 503' })
  })

  test('is unknown while no server responds', async () => {
    const gone = await startOAuthServer()
    await gone.close()
    const access = await accessAt(server, { authUrl: gone.authUrl, tokenUrl: gone.tokenUrl })
    expect(await failureOf(oauth.published(access))).toMatchObject({ kind: 'unreachable' })
  })

  test.each([
    ['https://id.test/oauth/authorize', 'https://id.test/oauth/token', ['https://id.test/', 'https://id.test/oauth']],
    [
      'https://accounts.test/o/oauth2/v2/auth',
      'https://oauth2.test/token',
      ['https://oauth2.test/', 'https://accounts.test/', 'https://accounts.test/o', 'https://accounts.test/o/oauth2'],
    ],
    [
      'https://kc.test/realms/a/protocol/openid-connect/auth',
      'https://kc.test/realms/a/protocol/openid-connect/token',
      ['https://kc.test/', 'https://kc.test/realms', 'https://kc.test/realms/a', 'https://kc.test/realms/a/protocol'],
    ],
    ['https://id.test/', 'https://id.test/', ['https://id.test/']],
  ])('is searched for at the issuers of %s and %s', (authUrl, tokenUrl, first) => {
    const guesses = candidateIssuers({ authUrl, tokenUrl }).map((url) => url.href)
    expect(guesses.slice(0, first.length)).toEqual(first)
    expect(guesses.length).toBeLessThanOrEqual(5)
  })
})
