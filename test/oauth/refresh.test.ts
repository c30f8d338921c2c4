/** Refreshes on one server. Tests with two servers are in refresh-two-servers.test.ts. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { ensureFresh, refresh, refreshExpiring } from '../../src/domain/oauth/tokens/refresh.ts'
import {
  endAbandonedToken,
  readSnapshot,
  storeResult,
  takeRefreshLease,
} from '../../src/domain/oauth/tokens/refresh-state.ts'
import { tokenStatusMessage } from '../../src/domain/oauth/tokens/token.ts'
import { type Answer, testApp, useApp } from '../support/app.ts'
import { type Disturbance, startOAuthServer } from '../support/oauth-server.ts'
import {
  connectedAgent,
  expiredAgent,
  kinds,
  makeDueForRefresh,
  newAgent,
  requestAccessToken,
  SETTINGS,
  sentRefreshTokens,
  storedContent,
  tokenRow,
} from './agent-support.ts'
import { authenticate, connectedToken, useOAuthServer } from './support.ts'

const lines: string[] = []
const log = createLogger('debug', { write: (line: string) => void lines.push(line) })
const rotating = useOAuthServer()
const plain = useOAuthServer({ rotate: false })
const app = useApp(() => ({ settings: SETTINGS, overrides: { log } }))
beforeEach(() => {
  rotating.tokenRequests.length = 0
  plain.tokenRequests.length = 0
})

const many = (count: number, call: () => Promise<Answer>) => Promise.all(Array.from({ length: count }, call))
const endings = async () =>
  (await app.app.core.db.event.findMany({ where: { type: 'oauth_token.expired' } })).map(({ subjectId }) => subjectId)

test('a call with an expired access token gets a new one, and the new refresh token is stored', async () => {
  const connected = await expiredAgent(app, rotating)
  const answer = await requestAccessToken(app, connected)
  expect(answer).toMatchObject({ status: 200, body: { token_type: 'bearer', scopes: ['openid', 'read'] } })
  expect(answer.body.access_token).not.toBe(connected.content.accessToken)
  expect(Date.parse(answer.body.expires_at)).toBeGreaterThan(Date.now() + 3_500_000)
  expect(await rotating.isActive(answer.body.access_token)).toBe(true)
  const now = await storedContent(app, connected)
  expect(now.refreshToken).not.toBe(connected.content.refreshToken)
  expect(await tokenRow(app, connected)).toMatchObject({
    version: 2,
    rotates: true,
    refreshId: null,
    refreshUntil: null,
  })
  expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
  // and again
  await makeDueForRefresh(app, connected)
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken, now.refreshToken])
})

test('a provider that does not rotate gets the same refresh token again', async () => {
  const connected = await expiredAgent(app, plain)
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  await makeDueForRefresh(app, connected)
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  expect(sentRefreshTokens(plain)).toEqual([connected.content.refreshToken, connected.content.refreshToken])
  expect(await tokenRow(app, connected)).toMatchObject({ version: 3, rotates: false })
})

test('a provider that rotated once counts as rotating, even if it later keeps a refresh token', async () => {
  const connected = await expiredAgent(app, rotating, { row: { rotates: true } })
  rotating.next({ status: 200, body: '{"access_token":"next","token_type":"Bearer","expires_in":600}' })
  expect((await requestAccessToken(app, connected)).body.access_token).toBe('next')
  expect(await tokenRow(app, connected)).toMatchObject({ version: 2, rotates: true })
  expect((await storedContent(app, connected)).refreshToken).toBe(connected.content.refreshToken)
})

test('an access token that is expired on arrival is refreshed again for the next call', async () => {
  const connected = await expiredAgent(app, plain)
  plain.next({ status: 200, body: '{"access_token":"over","token_type":"Bearer","expires_in":-5}' })
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  const answer = await requestAccessToken(app, connected)
  expect([answer.status, await plain.isActive(answer.body.access_token)]).toEqual([200, true])
  expect(sentRefreshTokens(plain)).toHaveLength(2)
})

describe('a valid access token', () => {
  const soon = () => ({ expiresAt: new Date(Date.now() + 40_000) })
  /** as if the token had been issued a while ago */
  const aged = (tokenId: string) =>
    app.app.core.db
      .$executeRaw`UPDATE oauth_tokens SET updated_at = now() - interval '1 hour' WHERE id = ${tokenId}::uuid`

  test('with less than a minute left is refreshed before it is issued', async () => {
    const connected = await connectedAgent(app, rotating, { row: soon() })
    await aged(connected.tokenId)
    expect((await requestAccessToken(app, connected)).body.access_token).not.toBe(connected.content.accessToken)
  })

  test('is issued even if the provider fails', async () => {
    // enough failures that the backoff lasts until the next call
    const connected = await connectedAgent(app, rotating, { row: { ...soon(), refreshFailures: 5 } })
    await aged(connected.tokenId)
    rotating.next('500')
    expect(await requestAccessToken(app, connected)).toMatchObject({
      status: 200,
      body: { access_token: connected.content.accessToken },
    })
    // during the backoff no request is sent
    expect((await requestAccessToken(app, connected)).status).toBe(200)
    expect(sentRefreshTokens(rotating)).toHaveLength(1)
  })

  test('with a short lifetime is not refreshed for each call', async () => {
    const short = await startOAuthServer({ accessTokenSeconds: 40 })
    const connected = await expiredAgent(app, short)
    const answers = [
      await requestAccessToken(app, connected),
      await requestAccessToken(app, connected),
      await requestAccessToken(app, connected),
    ]
    expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(1)
    expect(sentRefreshTokens(short)).toHaveLength(1)
    await short.close()
  })
})

describe('when the provider fails', () => {
  /** enough failures that no retry happens before the slowest call */
  const failedBefore = { row: { refreshFailures: 5 } }

  test.each([
    ['500', '500' as const, 'answered 500'],
    ['HTML', 'html' as const, 'HTML'],
    ['a redirect', 'redirect' as const, 'redirect'],
    [
      'an unknown client',
      { status: 401, body: '{"error":"invalid_client"}' },
      'An admin has to check the provider’s client_id and client_secret',
    ],
  ])('with %s, all waiting calls fail after one request, and a later refresh succeeds', async (_name, what, why) => {
    const connected = await expiredAgent(app, rotating, failedBefore)
    rotating.next(what)
    lines.length = 0
    const answers = await many(8, () => requestAccessToken(app, connected))
    expect(kinds(answers)).toEqual(['502 OAUTH_PROVIDER_UNAVAILABLE'])
    for (const { body } of answers)
      for (const said of [connected.provider.name, why]) expect(body.detail).toContain(said)
    expect(sentRefreshTokens(rotating)).toHaveLength(1)
    expect(lines.filter((line) => line.includes(why))).toHaveLength(1)
    const after = await tokenRow(app, connected)
    expect(after).toMatchObject({ endedAt: null, refreshFailures: 6, refreshId: null })
    expect(tokenStatusMessage(after, new Date())).toContain(why)
    await makeDueForRefresh(app, connected)
    expect((await requestAccessToken(app, connected)).status).toBe(200)
    expect(await tokenRow(app, connected)).toMatchObject({ refreshFailures: 0, refreshAfter: null, refreshError: null })
  })

  test('because it is unreachable, nothing was sent and nothing is lost', async () => {
    const gone = await startOAuthServer()
    const connected = await expiredAgent(app, gone, failedBefore)
    await gone.close()
    expect(kinds(await many(8, () => requestAccessToken(app, connected)))).toEqual(['502 OAUTH_PROVIDER_UNAVAILABLE'])
    expect(await tokenRow(app, connected)).toMatchObject({ endedAt: null, refreshFailures: 6 })
  })

  test('a waiting call fails as well, even if the backoff is over by then', async () => {
    const { core } = app.app
    const connected = await expiredAgent(app, rotating)
    const seen = await readSnapshot(core, connected.tokenId)
    rotating.next('500')
    expect((await requestAccessToken(app, connected)).status).toBe(502)
    await makeDueForRefresh(app, connected)
    await expect(ensureFresh(core, 'The provider', seen!)).rejects.toThrow('at the last attempt: it answered 500')
    expect(sentRefreshTokens(rotating)).toHaveLength(1)
  })

  test('repeatedly, the delay grows to at most five minutes', async () => {
    const connected = await expiredAgent(app, rotating)
    const pauses: number[] = []
    for (const failures of [0, 1, 5, 8, 30]) {
      await app.app.core.db.oAuthToken.update({ where: { id: connected.tokenId }, data: { refreshFailures: failures } })
      await makeDueForRefresh(app, connected)
      rotating.next('500')
      const before = Date.now()
      expect((await requestAccessToken(app, connected)).status).toBe(502)
      // includes the duration of the call
      pauses.push(Math.floor(((await tokenRow(app, connected)).refreshAfter!.getTime() - before) / 1000))
    }
    expect(pauses).toEqual([1, 2, 32, 256, 300])
  })

  const CUT_OFF = { status: 200, body: '{"access_token":"cut off' }

  test.each<[string, Disturbance]>([
    ['cuts the connection', 'reset'],
    ['truncates the response', CUT_OFF],
    ['sends no response', { ...CUT_OFF, body: '' }],
  ])('and %s after a rotation, the old refresh token is never sent again', async (_what, trouble) => {
    const connected = await expiredAgent(app, rotating)
    rotating.next(trouble)
    expect(kinds(await many(5, () => requestAccessToken(app, connected)))).toEqual(['409 TOKEN_EXPIRED'])
    await makeDueForRefresh(app, connected)
    expect((await requestAccessToken(app, connected)).body).toMatchObject({
      ...{ code: 'TOKEN_EXPIRED', detail: expect.stringContaining('may have been used up') },
    })
    expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
    expect(await endings()).toContain(connected.tokenId)
  })

  test.each<[string, Disturbance]>([
    ['cuts the connection', 'reset'],
    ['truncates the response', CUT_OFF],
  ])('and %s without rotation, the refresh is retried', async (_what, trouble) => {
    const connected = await expiredAgent(app, plain, { row: { rotates: false, refreshFailures: 5 } })
    plain.next(trouble)
    expect(kinds(await many(5, () => requestAccessToken(app, connected)))).toEqual(['502 OAUTH_PROVIDER_UNAVAILABLE'])
    await makeDueForRefresh(app, connected)
    expect((await requestAccessToken(app, connected)).status).toBe(200)
  })
})

test('a refresh token that the provider rejects ends the token, with one event', async () => {
  const connected = await expiredAgent(app, rotating)
  rotating.next({ status: 400, body: '{"error":"invalid_grant","error_description":"canary-description"}' })
  const answers = await many(6, () => requestAccessToken(app, connected))
  expect(kinds(answers)).toEqual(['409 TOKEN_EXPIRED'])
  expect(answers[0]!.body.detail).toContain('authenticate again')
  expect((await requestAccessToken(app, connected)).body.code).toBe('TOKEN_EXPIRED')
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
  expect((await endings()).filter((id) => id === connected.tokenId)).toHaveLength(1)
  expect(lines.join()).not.toContain('canary-description')
})

test('an ended token works again after its owner authenticates', async () => {
  const agent = await newAgent(app)
  const asked = { agentId: agent.agentId, scopes: ['openid', 'read'] }
  const { tokenId, provider } = await connectedToken(app, rotating, asked)
  await makeDueForRefresh(app, { tokenId })
  rotating.next({ status: 400, body: '{"error":"invalid_grant"}' })
  expect((await requestAccessToken(app, { ...agent, provider })).body.code).toBe('TOKEN_EXPIRED')
  expect((await authenticate(app, { ...asked, provider })).body).toMatchObject({ status: 'token_expired' })
  expect(await connectedToken(app, rotating, { ...asked, provider })).toMatchObject({ tokenId })
  const answer = await requestAccessToken(app, { ...agent, provider })
  expect([answer.status, await rotating.isActive(answer.body.access_token)]).toEqual([200, true])
})

test('a token that a lost response used up says so', async () => {
  const connected = await expiredAgent(app, rotating, { row: { refreshFailures: 1 } })
  rotating.next({ status: 400, body: '{"error":"invalid_grant"}' })
  expect((await requestAccessToken(app, connected)).body.detail).toContain('a failed refresh used it up')
})

describe('a server that died during a refresh', () => {
  const died = (tokenId: string, rotates: boolean | null, ago = 1) => app.app.core.db.$executeRaw`
    UPDATE oauth_tokens SET refresh_id = ${randomUUID()}::uuid, rotates = ${rotates}::boolean,
      refresh_until = now() - make_interval(secs => ${ago}::float8) WHERE id = ${tokenId}::uuid`

  test.each([true, null])(
    'may have used up the refresh token, so it is not sent again (rotates: %s)',
    async (rotates) => {
      const connected = await expiredAgent(app, rotating)
      await died(connected.tokenId, rotates)
      expect(kinds(await many(5, () => requestAccessToken(app, connected)))).toEqual(['409 TOKEN_EXPIRED'])
      expect(sentRefreshTokens(rotating)).toEqual([])
      expect((await endings()).filter((id) => id === connected.tokenId)).toHaveLength(1)
    },
  )

  test.each([true, null])('prevents the job from refreshing the token, too (rotates: %s)', async (rotates) => {
    const connected = await expiredAgent(app, rotating)
    await died(connected.tokenId, rotates)
    const { core } = app.app
    await refresh(core, { id: connected.tokenId, version: 1 })
    expect(sentRefreshTokens(rotating)).toEqual([])
  })

  test('does not end the token if it stores an outcome in time', async () => {
    const { core } = app.app
    const connected = await expiredAgent(app, rotating)
    await died(connected.tokenId, null)
    const seen = await readSnapshot(core, connected.tokenId)
    for (const now of [
      { refreshId: null, refreshUntil: null },
      { refreshId: randomUUID(), refreshUntil: new Date(Date.now() + 30_000) },
    ]) {
      await core.db.oAuthToken.update({ where: { id: connected.tokenId }, data: now })
      expect(await endAbandonedToken(core, seen!)).toBe(false)
    }
    expect((await tokenRow(app, connected)).endedAt).toBeNull()
  })

  test('and was only slow stores the new token', async () => {
    const connected = await expiredAgent(app, rotating)
    const { reached, release } = rotating.next('hang')
    const first = requestAccessToken(app, connected)
    await reached
    await app.app.core.db.$executeRaw`
      UPDATE oauth_tokens SET refresh_until = now() - interval '1 second' WHERE id = ${connected.tokenId}::uuid`
    const beside = await testApp({ beside: app, settings: SETTINGS })
    expect((await requestAccessToken(beside, connected)).body.code).toBe('TOKEN_EXPIRED')
    release()
    await first
    expect(await tokenRow(app, connected)).toMatchObject({
      version: 2,
      endedAt: null,
      endedBecause: null,
      refreshId: null,
    })
    expect((await requestAccessToken(beside, connected)).status).toBe(200)
    await beside.close()
  })

  test('and was only slow stores the failure and keeps the token', async () => {
    const connected = await expiredAgent(app, rotating)
    const { core } = app.app
    const lease = await takeRefreshLease(core, { id: connected.tokenId, version: 1 }, randomUUID())
    await core.db.$executeRaw`
      UPDATE oauth_tokens SET refresh_until = now() - interval '1 second' WHERE id = ${connected.tokenId}::uuid`
    expect((await requestAccessToken(app, connected)).body.code).toBe('TOKEN_EXPIRED')
    await storeResult(core, lease!, { kind: 'failed', why: 'answered 500' })
    expect(await tokenRow(app, connected)).toMatchObject({ endedAt: null, endedBecause: null, refreshId: null })
    await makeDueForRefresh(app, connected)
    expect((await requestAccessToken(app, connected)).status).toBe(200)
  })
})

test('a refresh token is sent only to the origin that issued it', async () => {
  const connected = await expiredAgent(app, rotating)
  await app.app.core.db.oAuthProvider.update({
    where: { id: connected.provider.id },
    data: { tokenUrl: plain.tokenUrl },
  })
  const answer = await requestAccessToken(app, connected)
  expect([answer.body.code, answer.body.detail]).toEqual(['TOKEN_EXPIRED', expect.stringContaining('address')])
  expect([...rotating.tokenRequests, ...plain.tokenRequests].filter((one) => one.refreshToken)).toEqual([])
})

test('scopes that the provider withdraws are removed, and calls that need them say so', async () => {
  const connected = await expiredAgent(app, rotating, { scopes: ['openid', 'read', 'write'] })
  rotating.next({
    status: 200,
    body: '{"access_token":"narrow","token_type":"Bearer","expires_in":600,"scope":"read"}',
  })
  const answer = await requestAccessToken(app, connected, { scopes: ['read', 'write'] })
  expect([answer.body.code, answer.body.detail]).toEqual([
    'CONNECTION_REQUIRED',
    expect.stringContaining('lack scopes: write.'),
  ])
  expect(await tokenRow(app, connected)).toMatchObject({ scopes: ['read', 'openid'] })
  expect(await requestAccessToken(app, connected)).toMatchObject({ status: 200, body: { access_token: 'narrow' } })
})

describe('the refresh job', () => {
  // left from earlier tests
  beforeEach(async () => void (await app.app.core.db.oAuthToken.deleteMany()))
  const round = () => refreshExpiring(app.app.core, new AbortController().signal)
  const prepare = (tokenId: string, expiresIn: number, usedAgo: number | null = 60) => app.app.core.db.$executeRaw`
    UPDATE oauth_tokens SET updated_at = now() - interval '1 hour', expires_at = now() + make_interval(secs => ${expiresIn}::float8),
      used_at = now() - make_interval(secs => ${usedAgo}::float8) WHERE id = ${tokenId}::uuid`

  test('refreshes tokens that agents use and no others', async () => {
    const [used, unused, idle, good, unlinked, ended] = await Promise.all(
      Array.from({ length: 6 }, () => connectedAgent(app, rotating)),
    )
    await prepare(used!.tokenId, 200)
    await prepare(unused!.tokenId, 200, null)
    await prepare(idle!.tokenId, 200, 2 * 86_400)
    await prepare(good!.tokenId, 400)
    await prepare(unlinked!.tokenId, 200)
    await app.app.core.db.agentConnection.delete({ where: { id: unlinked!.connectionId } })
    await prepare(ended!.tokenId, 200)
    await app.app.core.db.oAuthToken.update({ where: { id: ended!.tokenId }, data: { endedAt: new Date() } })
    rotating.tokenRequests.length = 0
    await Promise.all([round(), round()])
    expect(sentRefreshTokens(rotating)).toEqual([used!.content.refreshToken])
    await round()
    expect(sentRefreshTokens(rotating)).toHaveLength(1)
  })

  test('continues after a failure and respects the backoff', async () => {
    const connected = await Promise.all(Array.from({ length: 6 }, () => connectedAgent(app, rotating)))
    for (const { tokenId } of connected) await prepare(tokenId, 100)
    rotating.tokenRequests.length = 0
    rotating.next('500')
    await round()
    expect(sentRefreshTokens(rotating)).toHaveLength(6)
    const versions = await Promise.all(connected.map(async (one) => (await tokenRow(app, one)).version))
    expect(versions.sort()).toEqual([1, 2, 2, 2, 2, 2])
  })
})
