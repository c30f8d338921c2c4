/** The organization's login as a client, against a real provider and against failing ones. */
import { generateKeyPair, SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createLogin, type LoginSettings } from '../../src/adapters/oauth/login.ts'
import { newLogin } from '../../src/domain/sessions/login.ts'
import { failureOf } from '../support/oauth-access.ts'
import { type ClientAuth, type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { startHttp } from '../support/web-server.ts'
import { useOAuthServer } from './support.ts'

const REDIRECT_URI = 'http://127.0.0.1:9/v2/sessions/oidc/callback'
const ALICE = { org: 'acme', role: 'admin', plan: 'gold' }
const enough = (claims: object) => 'role' in claims

const provider = useOAuthServer({ claims: { alice: ALICE } })
const reticent = useOAuthServer({ claims: { alice: ALICE }, inIdToken: ['plan'] })

async function settingsAt(at: OAuthServer, method: ClientAuth = 'client_secret_basic'): Promise<LoginSettings> {
  const client = await at.client({ method, redirectUri: REDIRECT_URI, requirePkce: true })
  return { issuer: at.url, scopes: ['openid', 'profile'], name: null, ...client }
}

/** A person visits the provider and returns. */
async function walk(
  at: OAuthServer,
  login: ReturnType<typeof createLogin>,
  how: Parameters<OAuthServer['visit']>[1] = {},
) {
  const secrets = newLogin(new Date())
  const url = await login.authorizationUrl(REDIRECT_URI, secrets)
  const answer = new URL(await at.visit(url, how)).searchParams
  return { url: new URL(url), secrets, answer, claims: () => login.claims(answer, REDIRECT_URI, secrets, enough) }
}

test.each(['none', 'client_secret_basic'] as const)(
  'a client of the method %s gets the claims of the person',
  async (method) => {
    const login = createLogin(await settingsAt(provider, method))
    const { url, claims } = await walk(provider, login)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      scope: 'openid profile',
      code_challenge_method: 'S256',
    })
    expect(await claims()).toMatchObject({ sub: 'alice', ...ALICE })
    expect(provider.paths).not.toContain('/me')
  },
)

test('claims that the ID token lacks are read from userinfo', async () => {
  const login = createLogin(await settingsAt(reticent))
  const { claims } = await walk(reticent, login)
  expect(await claims()).toMatchObject({ sub: 'alice', ...ALICE })
  expect(reticent.paths).toContain('/me')
})

describe('the provider’s metadata', () => {
  const asked = (at: OAuthServer) => at.paths.filter((path) => path.includes('well-known')).length

  test('is read once for concurrent logins and again after an hour', async () => {
    let now = 0
    const at = await startOAuthServer()
    const login = createLogin(await settingsAt(at), { now: () => now })
    const begin = () => login.authorizationUrl(REDIRECT_URI, newLogin(new Date()))
    await Promise.all([begin(), begin(), begin()])
    now = 3_599_000
    await begin()
    expect(asked(at)).toBe(1)
    now = 3_601_000
    await begin()
    await expect.poll(() => asked(at)).toBe(2)
    await at.close()
    now = 9_999_000
    expect(await begin()).toContain(at.url)
  })

  test('is read again after an untrusted response', async () => {
    const at = await startOAuthServer()
    const login = createLogin(await settingsAt(at))
    const { claims } = await walk(at, login)
    at.next('html')
    expect(await failureOf(claims())).toMatchObject({ kind: 'unusable' })
    await walk(at, login)
    expect(asked(at)).toBe(2)
    await at.close()
  })
})

describe('a login fails', () => {
  test('with a token that another key signed', async () => {
    const login = createLogin(await settingsAt(provider))
    const { answer, secrets } = await walk(provider, login)
    const { privateKey } = await generateKeyPair('ES256')
    const clientId = new URL(await login.authorizationUrl(REDIRECT_URI, secrets)).searchParams.get('client_id')!
    const forged = await new SignJWT({ ...ALICE, nonce: secrets.nonce })
      .setProtectedHeader({ alg: 'ES256', kid: 'key' })
      .setIssuer(provider.url)
      .setAudience(clientId)
      .setSubject('mallory')
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(privateKey)
    const body = JSON.stringify({ access_token: 'a', token_type: 'bearer', id_token: forged })
    provider.next({ status: 200, body })
    const refused = await failureOf(login.claims(answer, REDIRECT_URI, secrets, enough))
    expect(refused).toMatchObject({ name: 'OutboundFailure', kind: 'unusable' })
    expect(`${refused.stack} ${JSON.stringify(refused)}`).not.toContain('mallory')
  })

  test('with the nonce, verifier or state of another login', async () => {
    const login = createLogin(await settingsAt(provider))
    for (const name of ['nonce', 'codeVerifier', 'state'] as const) {
      const { answer, secrets } = await walk(provider, login)
      const mixed = { ...secrets, [name]: newLogin(new Date())[name] }
      const refused = await failureOf(login.claims(answer, REDIRECT_URI, mixed, enough))
      expect(refused.name).toBe('OutboundFailure')
      expect(['unusable', 'refused']).toContain(refused.kind)
    }
  })

  test('when the person declines at the provider', async () => {
    const { claims } = await walk(provider, createLogin(await settingsAt(provider)), { decline: true })
    expect(await failureOf(claims())).toMatchObject({ kind: 'refused', error: 'access_denied' })
  })

  test('while the provider fails, and other logins still succeed', async () => {
    const login = createLogin(await settingsAt(provider), { timeoutMs: 500 })
    const one = await walk(provider, login)
    const other = await walk(provider, login)
    const hanging = provider.next('hang')
    const late = failureOf(one.claims())
    await hanging.reached
    expect(await other.claims()).toMatchObject({ sub: 'alice' })
    expect(await late).toMatchObject({ kind: 'unanswered' })
    hanging.release()
    const third = await walk(provider, login)
    provider.next('500')
    expect(await failureOf(third.claims())).toMatchObject({ kind: 'unanswered', message: 'answered 500' })
  })
})

test('a provider that does not respond or is unreachable fails before the timeout', async () => {
  const silent = await startHttp(() => undefined)
  const issuer = silent.origin
  const settings = { issuer, clientId: 'c', clientSecret: null, scopes: ['openid'], name: null }
  const begin = () => createLogin(settings, { timeoutMs: 200 }).authorizationUrl(REDIRECT_URI, newLogin(new Date()))
  expect(await failureOf(begin())).toMatchObject({ kind: 'unanswered' })
  await silent.close()
  expect(await failureOf(begin())).toMatchObject({ kind: 'unreachable' })
})
