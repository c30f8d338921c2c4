/** Fifty agents on two servers share one refresh of an expired token. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { refresh, refreshExpiring } from '../../src/domain/oauth/tokens/refresh.ts'
import { type Answer, type TestApp, testApp } from '../support/app.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import {
  type ConnectedAgent,
  connectedAgent,
  expiredAgent,
  makeDueForRefresh,
  requestAccessToken,
  SETTINGS,
  sentRefreshTokens,
  storedContent,
  tokenRow,
} from './agent-support.ts'

let rotating: OAuthServer
let plain: OAuthServer
let apps: [TestApp, TestApp]
beforeAll(async () => {
  const first = await testApp({ settings: SETTINGS })
  apps = [first, await testApp({ settings: SETTINGS, beside: first })]
  ;[rotating, plain] = await Promise.all([startOAuthServer(), startOAuthServer({ rotate: false })])
})
afterAll(async () => {
  await apps[1].close()
  await apps[0].close()
  await Promise.all([rotating.close(), plain.close()])
})
beforeEach(() => {
  rotating.tokenRequests.length = 0
  plain.tokenRequests.length = 0
})

/** 25 on each server. */
const fifty = (connected: ConnectedAgent): Promise<Answer[]> =>
  Promise.all(Array.from({ length: 50 }, (_, i) => requestAccessToken(apps[i % 2]!, connected)))
const kinds = (answers: Answer[]) => [...new Set(answers.map(({ status, body }) => `${status} ${body.code ?? 'ok'}`))]
const given = (answers: Answer[]) => [...new Set(answers.map(({ body }) => body.access_token))]

test('with rotation, fifty callers get one new token from one refresh', async () => {
  const connected = await expiredAgent(apps[0], rotating)
  const answers = await fifty(connected)
  expect(kinds(answers)).toEqual(['200 ok'])
  expect(given(answers)).toEqual([(await storedContent(apps[0], connected)).accessToken])
  expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
  expect(await rotating.isActive(answers[0]!.body.access_token)).toBe(true)
})

test('without rotation, fifty callers get one new token from one refresh', async () => {
  const connected = await expiredAgent(apps[0], plain)
  const answers = await fifty(connected)
  expect([kinds(answers), given(answers).length, sentRefreshTokens(plain).length]).toEqual([['200 ok'], 1, 1])
})

test('no refresh token is sent twice over many rounds', async () => {
  const connected = await expiredAgent(apps[0], rotating)
  for (let time = 1; time <= 4; time++) {
    const answers = await fifty(connected)
    expect([kinds(answers), given(answers).length, sentRefreshTokens(rotating).length]).toEqual([['200 ok'], 1, time])
    await makeDueForRefresh(apps[0], connected)
  }
  expect(new Set(sentRefreshTokens(rotating)).size).toBe(4)
})

test('fifty callers share the failure of one request', async () => {
  const connected = await expiredAgent(apps[0], rotating, { row: { refreshFailures: 5 } })
  rotating.next('500', 50)
  expect(kinds(await fifty(connected))).toEqual(['502 OAUTH_PROVIDER_UNAVAILABLE'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
  rotating.tokenRequests.length = 0
  // no call of the fifty is left
  await makeDueForRefresh(apps[0], connected)
  await Promise.all(Array.from({ length: 49 }, () => fetch(rotating.tokenUrl, { method: 'POST' })))
  expect(kinds(await fifty(connected))).toEqual(['200 ok'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('fifty callers learn that the token has ended after the provider rejects it', async () => {
  const connected = await expiredAgent(apps[0], rotating)
  rotating.next({ status: 400, body: '{"error":"invalid_grant"}' })
  expect(kinds(await fifty(connected))).toEqual(['409 TOKEN_EXPIRED'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('callers on the other server wait for the refresh and get its result immediately', async () => {
  const connected = await expiredAgent(apps[0], rotating)
  const { reached, release } = rotating.next('hang')
  const first = requestAccessToken(apps[0], connected)
  await reached
  const others = Array.from({ length: 10 }, () => requestAccessToken(apps[1], connected))
  release()
  expect(given(await Promise.all([first, ...others]))).toHaveLength(1)
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('one of fifty callers takes over the lease of a dead server if the provider does not rotate', async () => {
  const connected = await expiredAgent(apps[0], plain, {
    row: { rotates: false, refreshId: randomUUID(), refreshUntil: new Date(Date.now() - 1000) },
  })
  const answers = await fifty(connected)
  expect([kinds(answers), given(answers).length, sentRefreshTokens(plain).length]).toEqual([['200 ok'], 1, 1])
})

test('a server with an outdated copy of the token does not refresh it again', async () => {
  const connected = await expiredAgent(apps[0], rotating)
  expect((await requestAccessToken(apps[0], connected)).status).toBe(200)
  const { core } = apps[1].app
  await refresh(core, { id: connected.tokenId, version: 1 })
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('a server with an outdated copy respects the other server’s backoff', async () => {
  const connected = await expiredAgent(apps[0], rotating, { row: { refreshFailures: 5 } })
  rotating.next('500')
  expect((await requestAccessToken(apps[0], connected)).status).toBe(502)
  const { core } = apps[1].app
  await refresh(core, { id: connected.tokenId, version: 1 })
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('two concurrent jobs refresh each expiring token once', async () => {
  const { db } = apps[0].app.core
  // left from earlier tests
  await db.oAuthToken.deleteMany()
  const connected = await Promise.all(Array.from({ length: 8 }, () => connectedAgent(apps[0], rotating)))
  await db.$executeRaw`
    UPDATE oauth_tokens SET used_at = now(), updated_at = now() - interval '1 hour', expires_at = now() + interval '2 minutes'
    WHERE id = ANY(${connected.map(({ tokenId }) => tokenId)}::uuid[])`
  rotating.tokenRequests.length = 0
  const round = (app: TestApp) => refreshExpiring(app.app.core, new AbortController().signal)
  await Promise.all([...apps, ...apps].map(round))
  expect(sentRefreshTokens(rotating).sort()).toEqual(connected.map(({ content }) => content.refreshToken).sort())
  for (const one of connected) expect(await tokenRow(apps[0], one)).toMatchObject({ version: 2, rotates: true })
})
