/** Fifty agents on two servers share one refresh of an expired token. */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { refresh, refreshExpiring } from '../../src/domain/oauth/tokens/refresh.ts'
import { type Answer, type TestApp, useApp } from '../support/app.ts'
import {
  type ConnectedAgent,
  connectedAgent,
  expiredAgent,
  kinds,
  makeDueForRefresh,
  requestAccessToken,
  SETTINGS,
  sentRefreshTokens,
  storedContent,
  tokenRow,
} from './agent-support.ts'
import { useOAuthServer } from './support.ts'

const rotating = useOAuthServer()
const plain = useOAuthServer({ rotate: false })
const app = useApp(() => ({ settings: SETTINGS }))
const beside = useApp(() => ({ settings: SETTINGS, beside: app }))
const apps = [app, beside]
beforeEach(() => {
  rotating.tokenRequests.length = 0
  plain.tokenRequests.length = 0
})

/** 25 on each server. */
const fifty = (connected: ConnectedAgent): Promise<Answer[]> =>
  Promise.all(Array.from({ length: 50 }, (_, i) => requestAccessToken(apps[i % 2]!, connected)))
const given = (answers: Answer[]) => [...new Set(answers.map(({ body }) => body.access_token))]

test('without rotation, fifty callers get one new token from one refresh', async () => {
  const connected = await expiredAgent(app, plain)
  const answers = await fifty(connected)
  expect([kinds(answers), given(answers).length, sentRefreshTokens(plain).length]).toEqual([['200 ok'], 1, 1])
})

test('with rotation, fifty callers get one new token from one refresh, and no refresh token is sent twice', async () => {
  const connected = await expiredAgent(app, rotating)
  for (let time = 1; time <= 4; time++) {
    const answers = await fifty(connected)
    expect(kinds(answers)).toEqual(['200 ok'])
    expect(given(answers)).toEqual([(await storedContent(app, connected)).accessToken])
    expect(await rotating.isActive(answers[0]!.body.access_token)).toBe(true)
    expect(sentRefreshTokens(rotating)).toHaveLength(time)
    await makeDueForRefresh(app, connected)
  }
  expect(new Set(sentRefreshTokens(rotating)).size).toBe(4)
})

test('fifty callers share the failure of one request', async () => {
  const connected = await expiredAgent(app, rotating, { row: { refreshFailures: 5 } })
  rotating.next('500', 50)
  expect(kinds(await fifty(connected))).toEqual(['502 OAUTH_PROVIDER_UNAVAILABLE'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
  rotating.tokenRequests.length = 0
  // no call of the fifty is left
  await makeDueForRefresh(app, connected)
  await Promise.all(Array.from({ length: 49 }, () => fetch(rotating.tokenUrl, { method: 'POST' })))
  expect(kinds(await fifty(connected))).toEqual(['200 ok'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('fifty callers learn that the token has ended after the provider rejects it', async () => {
  const connected = await expiredAgent(app, rotating)
  rotating.next({ status: 400, body: '{"error":"invalid_grant"}' })
  expect(kinds(await fifty(connected))).toEqual(['409 TOKEN_EXPIRED'])
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('callers on the other server wait for the refresh and get its result immediately', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const first = requestAccessToken(app, connected)
  await reached
  const others = Array.from({ length: 10 }, () => requestAccessToken(beside, connected))
  release()
  expect(given(await Promise.all([first, ...others]))).toHaveLength(1)
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('one of fifty callers takes over the lease of a dead server if the provider does not rotate', async () => {
  const connected = await expiredAgent(app, plain, {
    row: { rotates: false, refreshId: randomUUID(), refreshUntil: new Date(Date.now() - 1000) },
  })
  const answers = await fifty(connected)
  expect([kinds(answers), given(answers).length, sentRefreshTokens(plain).length]).toEqual([['200 ok'], 1, 1])
})

test('a server with an outdated copy of the token does not refresh it again', async () => {
  const connected = await expiredAgent(app, rotating)
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  const { core } = beside.app
  await refresh(core, { id: connected.tokenId, version: 1 })
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('a server with an outdated copy respects the other server’s backoff', async () => {
  const connected = await expiredAgent(app, rotating, { row: { refreshFailures: 5 } })
  rotating.next('500')
  expect((await requestAccessToken(app, connected)).status).toBe(502)
  const { core } = beside.app
  await refresh(core, { id: connected.tokenId, version: 1 })
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('two concurrent jobs refresh each expiring token once', async () => {
  const { db } = app.app.core
  // left from earlier tests
  await db.oAuthToken.deleteMany()
  const connected = await Promise.all(Array.from({ length: 8 }, () => connectedAgent(app, rotating)))
  await db.$executeRaw`
    UPDATE oauth_tokens SET used_at = now(), updated_at = now() - interval '1 hour', expires_at = now() + interval '2 minutes'
    WHERE id = ANY(${connected.map(({ tokenId }) => tokenId)}::uuid[])`
  rotating.tokenRequests.length = 0
  const round = (app: TestApp) => refreshExpiring(app.app.core, new AbortController().signal)
  await Promise.all([...apps, ...apps].map(round))
  expect(sentRefreshTokens(rotating).sort()).toEqual(connected.map(({ content }) => content.refreshToken).sort())
  for (const one of connected) expect(await tokenRow(app, one)).toMatchObject({ version: 2, rotates: true })
})
