// Who may call which deployment: the decisions of the door's guard.
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createLocalJWKSet, exportJWK, jwtVerify, SignJWT } from 'jose'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { AccessCopy, CallerKey, GuardSettings } from '../../src/domain/values/access-copy.ts'
import type { Guard, Verdict } from '../../src/door/guard.ts'
import { newGuard } from './support.ts'

const HOUR = 3_600_000
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
const key = (text: string, changes: Partial<CallerKey> = {}): CallerKey => ({
  id: `id of ${text}`,
  hash: hashOf(text),
  organization: 'org',
  workspace: 'ours',
  role: 'viewer',
  expires: null,
  ...changes,
})
const deployments: AccessCopy['deployments'] = (['workspace', 'organization', 'public'] as const).map((access) => ({
  id: access,
  name: `named-${access}`,
  workspace: 'ours',
  organization: 'org',
  access,
}))
const keys = [
  key('viewer'),
  key('caller', { role: 'caller' }),
  key('organization', { workspace: null }),
  key('sibling', { workspace: 'theirs' }),
  key('foreign', { organization: 'other', workspace: 'other' }),
  key('expired', { expires: Date.now() - 1 }),
]
const links = generateKeyPairSync('ed25519')
const issuer = generateKeyPairSync('ed25519')
let copy: AccessCopy
let settings: GuardSettings
let guard: Guard
let callers: ReturnType<typeof createLocalJWKSet>

beforeAll(async () => {
  const linkKeys = [{ id: 'l1', jwk: links.publicKey.export({ format: 'jwk' }) }]
  copy = { deployments, keys, sessions: ['session'], linkKeys }
  const jwt = {
    issuer: 'https://login.example.com',
    audience: 'us',
    keys: [{ ...(await exportJWK(issuer.publicKey)), alg: 'EdDSA', kid: 'i1' }],
  }
  settings = {
    issuer: 'https://control.example.com',
    hosts: '{name}.apps.example.com',
    secure: true,
    trustProxy: ['10.0.0.0/8'],
    offlineHours: 24,
    jwt,
  }
})
beforeEach(() => {
  const made = newGuard()
  guard = made.guard
  guard.set(copy, settings)
  callers = createLocalJWKSet({ keys: [made.tokens.jwk as never] })
})

function request(headers: Record<string, string> = {}, url = '/', remoteAddress = '127.0.0.1'): IncomingMessage {
  return { headers, url, socket: { remoteAddress } } as unknown as IncomingMessage
}
const check = async (deployment: string | null, headers: Record<string, string>, url?: string) => {
  const made = request(headers, url)
  guard.removeForged(made)
  return guard.check(made, deployment === null ? null : { deployment, named: true, ownHost: true })
}
const status = (verdict: Verdict) => (verdict.allow ? 200 : 'status' in verdict ? verdict.status : 303)

const jwt = (claims: object, { by = issuer.privateKey, exp = '1h' } = {}) =>
  new SignJWT({ sub: 'ada', org: 'org', role: 'viewer', ...claims })
    .setProtectedHeader({ alg: 'EdDSA', kid: 'i1' })
    .setIssuer('https://login.example.com')
    .setAudience('us')
    .setExpirationTime(exp)
    .sign(by)

function link(claims: object = {}, by: KeyObject = links.privateKey): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 600
  const act = { kind: 'key', id: 'id of viewer' }
  const body = { aud: 'link', sub: 'workspace', act, org: 'org', ws: 'ours', role: 'viewer', exp, ...claims }
  const signed = `${encode({ alg: 'EdDSA', kid: 'l1' })}.${encode(body)}`
  return `${signed}.${sign(null, Buffer.from(signed), by).toString('base64url')}`
}

test.for([
  ['no key', null, [401, 401, 200, 401]],
  ['an unknown key', 'unknown', [401, 401, 200, 401]],
  ['an expired key', 'expired', [401, 401, 200, 401]],
  ['a viewer of the workspace', 'viewer', [200, 200, 200, 403]],
  ['a caller of the workspace', 'caller', [200, 200, 200, 403]],
  ['a key of the organization', 'organization', [200, 200, 200, 403]],
  ['a key of another workspace', 'sibling', [403, 200, 200, 403]],
  ['a key of another organization', 'foreign', [403, 403, 200, 403]],
] as const)('%s gets from workspace, organization, public and unknown deployments: %s', async ([, text, expected]) => {
  const asked = ['workspace', 'organization', 'public', null]
  for (const form of ['x-api-key', 'authorization']) {
    const headers = () => (text === null ? {} : { [form]: form === 'authorization' ? `Bearer ${text}` : text })
    const found = await Promise.all(asked.map(async (deployment) => status(await check(deployment, headers()))))
    expect(found, form).toEqual(expected)
  }
})

test('the host of a custom_url is its deployment’s, unless it is a host of names or of the control plane', async () => {
  const withHosts = (...hosts: string[]) => hosts.map((host, i) => ({ ...deployments[i]!, host }))
  const idOf = (host: string) => guard.find(host, null)?.deployment
  guard.set(
    { ...copy, deployments: withHosts('chat.example.com', 'apps.example.com', 'x.named.apps.example.com') },
    settings,
  )
  expect(guard.find('chat.example.com', null)).toEqual({ deployment: 'workspace', named: true, ownHost: true })
  expect(['apps.example.com', 'x.named.apps.example.com'].map(idOf)).toEqual(['organization', 'public'])
  const reserved = ['named-public.apps.example.com', 'later.apps.example.com', 'control.example.com']
  guard.set({ ...copy, deployments: withHosts(...reserved) }, settings)
  expect(reserved.map(idOf)).toEqual(['public', undefined, undefined])
})

test('a refusal says how to authenticate, and the same for an unknown deployment', async () => {
  const [known, unknown] = [await check('workspace', {}), await check(null, {})]
  expect(known).toMatchObject({ headers: { 'www-authenticate': 'Bearer realm="pilothouse"' } })
  expect(unknown).toEqual(known)
  expect(await check(null, { 'x-api-key': 'foreign' })).toEqual(await check('workspace', { 'x-api-key': 'foreign' }))
})

test('an agent gets none of our credentials, and a token that names its caller', async () => {
  const headers: Record<string, string> = {
    'x-api-key': 'viewer',
    authorization: 'Bearer caller',
    'x-pilothouse-caller': 'forged',
    'x-session': 'half',
    'x-forwarded-for': '1.2.3.4',
    other: 'stays',
  }
  expect(status(await check('workspace', headers))).toBe(200)
  const { 'x-pilothouse-caller': token, ...rest } = headers
  expect(rest).toEqual({ other: 'stays' })
  const { payload } = await jwtVerify(token!, callers, { issuer: settings.issuer, audience: 'workspace' })
  expect(payload).toMatchObject({
    sub: 'id of viewer',
    kind: 'key',
    role: 'viewer',
    workspace: 'ours',
    organization: 'org',
    deployment: 'workspace',
  })
  expect(payload.exp! - payload.iat!).toBe(300)
})

test('a public agent gets its own credentials, and callers without a token', async () => {
  const headers = { 'x-api-key': 'its own', authorization: 'Bearer its-own', 'x-pilothouse-caller': 'forged' }
  expect(status(await check('public', headers))).toBe(200)
  expect(headers).toEqual({ 'x-api-key': 'its own', authorization: 'Bearer its-own' })
})

test('X-Forwarded headers stay only from TRUST_PROXY', async () => {
  const headers = { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https', forwarded: 'for=1.2.3.4' }
  const trusted = request({ ...headers }, '/', '::ffff:10.1.2.3')
  guard.removeForged(trusted)
  expect(trusted.headers).toEqual(headers)
  const other = request({ ...headers }, '/', '192.0.2.1')
  guard.removeForged(other)
  expect(other.headers).toEqual({})
})

test('a header with underscores is not taken for one that the door or a proxy has set', () => {
  const headers = { x_pilothouse_caller: 'forged', x_forwarded_for: '1.2.3.4', x_session: 'half', x_other: 'stays' }
  const made = request(headers, '/', '::ffff:10.1.2.3')
  guard.removeForged(made)
  expect(made.headers).toEqual({ x_other: 'stays' })
})

test.for([
  ['of a viewer', {}, 200],
  ['of the whole organization', { workspace: null }, 200],
  ['of another workspace', { workspace: 'theirs' }, 403],
  ['of another organization', { org: 'other' }, 403],
  ['of a role that may not call', { role: 'builder' }, 401],
] as const)('a JWT %s is answered by %i', async ([, claims, expected]) => {
  const authorization = `Bearer ${await jwt(claims)}`
  expect(status(await check('workspace', { authorization }))).toBe(expected)
  // from the cache
  expect(status(await check('workspace', { authorization }))).toBe(expected)
})

test('a JWT that is expired, signed by another, or not accepted at all, is refused', async () => {
  const status401 = async (token: string) => status(await check('workspace', { authorization: `Bearer ${token}` }))
  expect(await status401(await jwt({}, { exp: '-1m' }))).toBe(401)
  expect(await status401(await jwt({}, { by: links.privateKey }))).toBe(401)
  guard.set(copy, { ...settings, jwt: null })
  expect(await status401(await jwt({}))).toBe(401)
})

test('a link sets a cookie and leads to the URL without its token, and the cookie opens the deployment', async () => {
  const token = link()
  const opened = await check('workspace', {}, `/a/b?x=1&pilothouse_link=${token}&y=2`)
  expect(opened).toMatchObject({ location: '/a/b?x=1&y=2' })
  const { cookie } = opened as { cookie: string }
  expect(cookie).toMatch(/^__Host-pilothouse_link=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=(599|600); Secure$/)
  const headers = { cookie: `other=1; ${cookie.split(';')[0]}` }
  expect(status(await check('workspace', headers))).toBe(200)
  expect(status(await check('organization', { cookie: headers.cookie }))).toBe(403)
  expect(status(await check('public', { cookie: headers.cookie }))).toBe(200)
})

test.for([
  ['that has ended', { exp: 1 }],
  ['of a key that was revoked', { act: { kind: 'key', id: 'gone' } }],
  ['of a session that has ended', { act: { kind: 'session', id: 'gone' } }],
  ['that is for something else', { aud: 'other' }],
] as const)('a link %s is refused', async ([, claims]) => {
  expect(status(await check('workspace', {}, `/?pilothouse_link=${link(claims)}`))).toBe(401)
})

test('a link that is forged, or for another deployment, opens nothing', async () => {
  const forged = link({}, issuer.privateKey)
  expect(status(await check('workspace', {}, `/?pilothouse_link=${forged}`))).toBe(401)
  expect(status(await check('workspace', {}, '/?pilothouse_link=a.b.c'))).toBe(401)
  expect(status(await check('organization', {}, `/?pilothouse_link=${link()}`))).toBe(403)
  expect(status(await check('public', {}, '/?pilothouse_link=a.b.c'))).toBe(303)
})

test('a deployment is found by its host and by its name, also while nothing serves it', () => {
  const found = [
    guard.find('named-public.apps.example.com', null),
    guard.find('127.0.0.1', 'named-public'),
    guard.find('named-public.example.com', 'other'),
  ]
  const deployment = 'public'
  expect(found).toEqual([{ deployment, named: true, ownHost: true }, { deployment, named: true, ownHost: false }, null])
})

test('a link can’t lead to another host', async () => {
  const opened = await check('workspace', {}, `//evil.example.com/?pilothouse_link=${link()}`)
  expect(opened).toMatchObject({ location: '/evil.example.com/' })
})

test('links don’t work where a host has several deployments', async () => {
  const asked = { deployment: 'workspace', named: true, ownHost: false }
  const token = link()
  expect(status(await guard.check(request({ cookie: `__Host-pilothouse_link=${token}` }), asked))).toBe(401)
  expect(status(await guard.check(request({}, `/?pilothouse_link=${token}`), asked))).toBe(401)
})

test('without a server for APPS_OFFLINE_HOURS, only public deployments are served', async () => {
  guard.set(copy, settings, Date.now() - 25 * HOUR)
  const answers = async () => [
    status(await check('workspace', { 'x-api-key': 'viewer' })),
    status(await check('public', {})),
  ]
  expect(await answers()).toEqual([503, 200])
  guard.confirm()
  expect(await answers()).toEqual([200, 200])
})

test('a door without any rules serves deployments from before names, and no others', async () => {
  const { guard: unaware } = newGuard()
  const ask = async (named: boolean) =>
    status(await unaware.check(request(), { deployment: 'x', named, ownHost: named }))
  expect([await ask(true), await ask(false)]).toEqual([503, 200])
})

test.for([
  ['a page of the agent', { 'sec-fetch-site': 'same-origin' }, 'POST', 200],
  ['the address bar', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 'GET', 200],
  ['a link on another page', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'GET', 200],
  ['a page of another agent', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, 'GET', 401],
  ['a form of another agent', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }, 'POST', 401],
  ['a WebSocket of another page', { origin: 'https://two.example.com', host: 'one.example.com' }, 'GET', 401],
  ['a WebSocket of its own page', { origin: 'https://one.example.com', host: 'one.example.com' }, 'GET', 200],
] as const)('a link’s cookie from %s is answered by %s %s %i', async ([, headers, method, expected]) => {
  const cookie = `__Host-pilothouse_link=${link()}`
  const sent = Object.assign(request({ ...headers, cookie }), { method })
  const verdict = await guard.check(sent, { deployment: 'workspace', named: true, ownHost: true })
  expect(status(verdict)).toBe(expected)
})

test('a key that was revoked never reaches an agent, nor one that anybody may call', async () => {
  const headers = { 'x-api-key': 'cpk_revoked', authorization: 'Bearer cpk_revoked' }
  expect(status(await check('public', headers))).toBe(200)
  expect(headers).toEqual({})
})

test('only a reverse proxy learns whether a host is known', () => {
  const isProxy = (address: string, headers = {}) => guard.isProxy(request(headers, '/', address))
  const answers = [isProxy('127.0.0.1'), isProxy('::1'), isProxy('::ffff:10.0.0.1'), isProxy('192.0.2.1')]
  expect(answers).toEqual([true, true, true, false])
  expect(isProxy('127.0.0.1', { 'x-forwarded-for': '192.0.2.1' })).toBe(false)
})

test('a link’s token in a header lets its caller in, by host and by path, and the agent does not get it', async () => {
  for (const ownHost of [true, false]) {
    const made = request({ 'x-pilothouse-link': link(), cookie: 'a=1' })
    expect(await guard.check(made, { deployment: 'workspace', named: true, ownHost })).toMatchObject({ allow: true })
    const { 'x-pilothouse-caller': token, ...rest } = made.headers
    expect(rest).toEqual({ cookie: 'a=1' })
    expect((await jwtVerify(token as string, callers, { audience: 'workspace' })).payload.sub).toBe('id of viewer')
  }
  expect(status(await check('organization', { 'x-pilothouse-link': link() }))).toBe(403)
  for (const token of ['', 'wrong', link({}, issuer.privateKey)])
    expect(status(await check('workspace', { 'x-pilothouse-link': token })), token).toBe(401)
  const ofPublic: Record<string, string> = { 'x-pilothouse-link': '' }
  expect(status(await check('public', ofPublic))).toBe(200)
  expect(ofPublic).toEqual({})
})

test('a link of a session that has just begun waits for the copy that has it', async () => {
  const late = (iat: number) => link({ act: { kind: 'session', id: 'new' }, iat: Math.floor(iat / 1000) })
  const checked = check('workspace', { 'x-pilothouse-link': late(Date.now()) })
  const opened = check('workspace', {}, `/?pilothouse_link=${late(Date.now())}`)
  guard.confirm()
  guard.set({ ...copy, sessions: ['new'] }, settings)
  expect([await checked, await opened].map(status)).toEqual([200, 303])
  guard.set(copy, settings)
  // it has ended: the copy is newer than the link
  expect(guard.check(request({ 'x-pilothouse-link': late(Date.now() - 60_000) }), null)).toMatchObject({ status: 401 })
})
