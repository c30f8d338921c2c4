/** The client with a provider that fails or responds incorrectly, and the secrecy of its messages. */
import { inspect } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { createOAuthClient } from '../../src/adapters/oauth/client.ts'
import type { ProviderAccess } from '../../src/domain/ports/oauth-client.ts'
import { clauseOf, OutboundFailure } from '../../src/platform/http/outbound-failure.ts'
import { accessAt, cameBack, failureOf, idToken, tokensOf } from '../support/oauth-access.ts'
import { type Disturbance, startOAuthServer } from '../support/oauth-server.ts'
import { useOAuthServer } from './support.ts'

const oauth = createOAuthClient({ allow: ['127.0.0.1'] })
const server = useOAuthServer({ rotate: false })
let access: ProviderAccess
beforeAll(async () => {
  access = await accessAt(server)
})

const json = (body: unknown, status = 200): Disturbance => ({ status, body: JSON.stringify(body) })

const TROUBLES: [string, Disturbance, string, string][] = [
  ['answers 500', '500', 'unusable', 'answered 500'],
  ['answers 503 with an OAuth error', json({ error: 'invalid_grant' }, 503), 'unusable', 'answered 503'],
  ['answers with HTML', 'html', 'unusable', 'answered with HTML instead of a token'],
  ['answers 404 with HTML', { status: 404, body: '<p>no</p>', type: 'text/html' }, 'unusable', 'answered 404'],
  ['redirects', 'redirect', 'unusable', 'answered with a redirect'],
  [
    'answers with an empty body',
    { status: 200, body: '', type: 'text/plain' },
    'unusable',
    'answered with nothing instead of a token',
  ],
  [
    'answers with a form',
    { status: 200, body: 'access_token=x', type: 'application/x-www-form-urlencoded' },
    'unusable',
    'answered with something that is not JSON instead of a token',
  ],
  ['answers with a JSON array', json([]), 'unusable', 'answered with JSON that is no object instead of a token'],
  // the provider issued a token, but the client does not have it
  [
    'truncates the token',
    { status: 200, body: '{"access_token":"x","token_ty', type: 'application/json; charset=utf-8' },
    'unanswered',
    'answered with JSON that is cut off or wrong instead of a token',
  ],
  [
    'announces a body and sends nothing',
    { status: 200, body: '' },
    'unanswered',
    'answered with nothing instead of a token',
  ],
  ['truncates an error', { status: 400, body: '{"error":"inva' }, 'unusable', 'answered 400'],
  ['truncates a 503 response', { status: 503, body: '{"err' }, 'unusable', 'answered 503'],
  ['omits the token', json({ token_type: 'bearer' }), 'unusable', 'answered with something that is not a token'],
  ['omits the token type', json({ access_token: 'x' }), 'unusable', 'answered with something that is not a token'],
  [
    'answers with an empty token',
    json({ access_token: '', token_type: 'bearer' }),
    'unusable',
    'answered with something that is not a token',
  ],
  [
    'answers with a bound token',
    json({ access_token: 'x', token_type: 'DPoP' }),
    'unusable',
    'answered with a token that is not a bearer token',
  ],
  [
    'answers with an unknown kind of token',
    json({ access_token: 'x', token_type: 'mac' }),
    'unusable',
    'answered with something that is not a token',
  ],
  ['answers 400 without an error code', json({ message: 'no' }, 400), 'unusable', 'answered 400'],
  ['answers 429', { status: 429, body: 'slow down', type: 'text/plain' }, 'unusable', 'answered 429'],
  [
    'answers with an error code',
    json({ error: 'invalid_scope', error_description: 'x' }, 400),
    'refused',
    'answered: invalid_scope',
  ],
  [
    'answers with an error code and status 200',
    json({ error: 'bad_verification_code' }),
    'refused',
    'answered: bad_verification_code',
  ],
  [
    'answers with a long text as error code',
    json({ error: 'Dear client, this is no error code.' }, 400),
    'refused',
    'answered with an error',
  ],
  ['cuts the connection', 'reset', 'unanswered', 'cut the connection before its answer was complete'],
]

describe.each(TROUBLES)('a provider that %s', (_, what, kind, message) => {
  test('fails a code exchange', async () => {
    const grant = await cameBack(oauth, server, access)
    server.next(what)
    expect(await failureOf(oauth.exchange(access, grant))).toMatchObject({ kind, message })
  })

  test('fails a refresh', async () => {
    const { refreshToken } = await tokensOf(oauth, server, access)
    server.next(what)
    expect(await failureOf(oauth.refresh(access, refreshToken, 5000))).toMatchObject({ kind, message })
  })
})

test('a provider that does not respond before the timeout may have refreshed the token', async () => {
  const { refreshToken } = await tokensOf(oauth, server, access)
  const hanging = server.next('hang')
  const call = failureOf(oauth.refresh(access, refreshToken, 2000))
  await hanging.reached
  expect(await call).toMatchObject({ kind: 'unanswered' })
  hanging.release()
})

test('an unreachable provider received nothing', async () => {
  const gone = await startOAuthServer()
  await gone.close()
  const refreshed = oauth.refresh({ ...access, tokenUrl: gone.tokenUrl }, 'a refresh token', 5000)
  expect(await failureOf(refreshed)).toMatchObject({ kind: 'unreachable' })
})

test('a provider at a private address is not called', async () => {
  const guarded = createOAuthClient({ allow: [] })
  const before = server.tokenRequests.length
  expect(await failureOf(guarded.refresh(access, 'a refresh token', 5000))).toMatchObject({ kind: 'unreachable' })
  expect(server.tokenRequests.length).toBe(before)
})

describe('a non-standard token response', () => {
  const said = async (more: object) => {
    const { refreshToken } = await tokensOf(oauth, server, access)
    server.next(json({ access_token: 'x', token_type: 'Bearer', ...more }))
    return oauth.refresh(access, refreshToken, 5000)
  }

  test.each([
    ['a string', '3600', 3600],
    ['a fraction', 59.5, 60],
    ['an absent member', undefined, null],
    ['null', null, null],
    ['zero, which some use for never', 0, null],
    ['zero as a string', '0', null],
    ['a negative number, already expired', -5, 0],
    ['a negative number as a string', '-5', 0],
    ['a list', [3600], null],
    ['a word', 'soon', null],
    ['an empty string', '', null],
    ['a thousand years', 31_536_000_000, 315_360_000],
  ])('may contain seconds as %s', async (_, expires_in, expiresIn) => {
    expect(await said({ expires_in })).toMatchObject({ expiresIn })
  })

  test.each([
    ['spaces', 'a b', ['a', 'b']],
    ['commas', 'repo,read:user', ['repo', 'read:user']],
    ['the form of a JSON array', ['a', 'b'], ['a', 'b']],
    ['two spaces, with a repeated scope', 'a  a', ['a']],
    ['nothing, in an empty string', '', []],
    ['spaces, with invalid scopes', 'a "b" \u0000', ['a']],
  ])('may separate scopes by %s', async (_, scope, scopes) => {
    expect(await said({ scope })).toMatchObject({ scopes })
  })

  test('with an empty refresh token contains none', async () => {
    expect(await said({ refresh_token: '' })).toMatchObject({ refreshToken: null })
  })

  test('without scopes grants the requested ones', async () => {
    expect(await said({ refresh_token: null })).toEqual({
      accessToken: 'x',
      tokenType: 'bearer',
      refreshToken: null,
      expiresIn: null,
      scopes: null,
      account: null,
    })
  })

  test.each([
    [
      'with its e-mail address',
      { sub: '1', name: 'Ann', email: 'ann@example.com' },
      { id: '1', label: 'ann@example.com' },
    ],
    ['with its user name', { sub: '1', name: 'Ann', preferred_username: 'ann' }, { id: '1', label: 'ann' }],
    ['with its name', { sub: '1', name: 'Ann', email: 7 }, { id: '1', label: 'Ann' }],
    ['with its id', { sub: '1', email: ' ' }, { id: '1', label: '1' }],
    ['without line breaks', { sub: '1', name: 'Ann\r\nOther\u202e' }, { id: '1', label: 'AnnOther' }],
    ['with at most 255 characters', { sub: '1', name: 'n'.repeat(999) }, { id: '1', label: 'n'.repeat(255) }],
    ['without half of a surrogate pair', { sub: '1', name: '😀'.repeat(200) }, { id: '1', label: '😀'.repeat(127) }],
    ['not if there is no id', { email: 'ann@example.com' }, null],
    ['not if the id is too long', { sub: 's'.repeat(256) }, null],
    ['not if the id has unprintable characters', { sub: 'ann\u202e', name: 'Ann' }, null],
  ])('labels the account by its id_token: %s', async (_, claims, account) => {
    expect(await said({ id_token: idToken(claims) })).toMatchObject({ account })
  })

  test.each(['not a JWT', 'a.b.c', 7, {}])('with an invalid id_token names no account: %j', async (id_token) => {
    expect(await said({ id_token })).toMatchObject({ account: null })
  })
})

test('no failure contains a secret, not even in nested properties', async () => {
  const canary = 'canary-0b5e'
  const secret: ProviderAccess = { ...access, clientSecret: `${canary}-secret` }
  const callback = new URLSearchParams({ code: `${canary}-code`, state: `${canary}-state` })
  const grant = {
    callback,
    state: `${canary}-state`,
    redirectUri: 'https://x.test/',
    codeVerifier: `${canary}-verifier`,
  }
  const echo = { error: `${canary} echoed`, error_description: canary, access_token: canary, refresh_token: canary }
  const answers: Disturbance[] = [
    '500',
    'html',
    'redirect',
    'reset',
    json(echo, 400),
    json(echo),
    json({ ...echo, error: undefined }),
    json({ ...echo, error: undefined, token_type: canary }),
    json({ ...echo, error: undefined, token_type: 'bearer', refresh_token: [canary] }),
    { status: 200, body: canary },
    { status: 401, body: canary, type: 'text/html' },
  ]
  const failures: OutboundFailure[] = []
  for (const answer of answers) {
    server.next(answer, 2)
    failures.push(await failureOf(oauth.exchange(secret, grant)))
    failures.push(await failureOf(oauth.refresh(secret, `${canary}-refresh`, 5000)))
  }
  const token = { value: `${canary}-token`, hint: 'refresh_token' } as const
  failures.push(await failureOf(oauth.revoke(secret, `${server.url}/nowhere`, token)))
  failures.push(await failureOf(oauth.userinfo(secret, server.userinfoUrl, `${canary}-token`)))
  failures.push(await failureOf(oauth.exchange(secret, { ...grant, state: 'another' })))
  for (const one of failures) {
    expect(one).toBeInstanceOf(OutboundFailure)
    const all = `${inspect(one, { depth: 20, showHidden: true })} ${JSON.stringify(one)} ${one.stack}`
    expect(all).not.toContain(canary)
  }
})

test('an error that is no answer of the provider is named without its message, which may contain a token', () => {
  expect(clauseOf(new TypeError('Invalid URL: canary'))).toBe('could not be called (TypeError)')
})
