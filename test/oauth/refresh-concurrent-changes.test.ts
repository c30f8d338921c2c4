/** Events during a refresh: clients disconnect, servers stop, the database fails, tokens are deleted or renewed. */
import type { Socket } from 'node:net'
import type pg from 'pg'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { openProviderAccess } from '../../src/domain/oauth/tokens/provider-access.ts'
import { refresh } from '../../src/domain/oauth/tokens/refresh.ts'
import { sealToken } from '../../src/domain/oauth/tokens/token.ts'
import { testApp, useApp } from '../support/app.ts'
import {
  type ConnectedAgent,
  connectedAgent,
  expiredAgent,
  requestAccessToken,
  SETTINGS,
  sentRefreshTokens,
  storedContent,
  tokenRow,
} from './agent-support.ts'
import { useOAuthServer } from './support.ts'

const lines: string[] = []
const log = createLogger('debug', { write: (line: string) => void lines.push(line) })
const rotating = useOAuthServer()
const app = useApp(() => ({ settings: SETTINGS, overrides: { log } }))
beforeEach(() => {
  rotating.tokenRequests.length = 0
})

test('a refresh continues after the client disconnects, and its result is stored', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const leaves = new AbortController()
  const { agentId, key, provider } = connected
  const left = fetch(`${app.url}/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{"scopes":[]}',
    signal: leaves.signal,
  }).catch((error: Error) => error.name)
  await reached
  leaves.abort()
  expect(await left).toBe('AbortError')
  const next = requestAccessToken(app, connected)
  release()
  expect((await next).body.access_token).toBe((await storedContent(app, connected)).accessToken)
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
  expect(await tokenRow(app, connected)).toMatchObject({ version: 2 })
})

test('a stopping server stores the result of its refresh first', async () => {
  const connected = await expiredAgent(app, rotating)
  const stopping = await testApp({ beside: app, settings: SETTINGS })
  const { reached, release } = rotating.next('hang')
  const asked = requestAccessToken(stopping, connected)
  await reached
  const closed = stopping.close()
  release()
  expect((await asked).status).toBe(200)
  await closed
  expect(await tokenRow(app, connected)).toMatchObject({ version: 2, refreshId: null, endedAt: null })
  expect((await requestAccessToken(app, connected)).body.access_token).toBe(
    (await storedContent(app, connected)).accessToken,
  )
  expect(sentRefreshTokens(rotating)).toHaveLength(1)
})

test('a stopping server starts no refresh, and another server does', async () => {
  const connected = await expiredAgent(app, rotating)
  const stopping = await testApp({ beside: app, settings: SETTINGS })
  await stopping.app.core.inFlight.close(0)
  expect(await requestAccessToken(stopping, connected)).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  expect(sentRefreshTokens(rotating)).toEqual([])
  expect((await requestAccessToken(app, connected)).status).toBe(200)
  await stopping.close()
})

test('a database failure during the refresh loses no result', async () => {
  const { db } = app.app.core
  const connected = await expiredAgent(app, rotating)
  await db.$executeRaw`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`
  await db.$executeRaw`
    CREATE TRIGGER refuse BEFORE UPDATE ON oauth_tokens FOR EACH ROW WHEN (NEW.version > OLD.version) EXECUTE FUNCTION refuse()`
  const asked = requestAccessToken(app, connected)
  await expect.poll(() => lines.filter((line) => line.includes('could not store the outcome'))).toHaveLength(1)
  await db.$executeRaw`DROP TRIGGER refuse ON oauth_tokens`
  expect((await asked).body.access_token).toBe((await storedContent(app, connected)).accessToken)
  expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
})

test.each([null, false])(
  'a slow provider does not make a server end the token of its own refresh (rotates: %s)',
  async (rotates) => {
    const connected = await expiredAgent(app, rotating, { row: { rotates } })
    const { reached, release } = rotating.next('hang')
    const first = requestAccessToken(app, connected)
    await reached
    await app.app.core.db.$executeRaw`
      UPDATE oauth_tokens SET refresh_until = now() - interval '1 second' WHERE id = ${connected.tokenId}::uuid`
    const looked = app.app.database.onQuery((sql) => {
      if (!/FROM oauth_tokens t WHERE t.id/.test(sql)) return
      looked()
      release()
    })
    const next = await requestAccessToken(app, connected)
    expect([(await first).body.access_token, next.body.access_token]).toEqual(
      Array(2).fill((await storedContent(app, connected)).accessToken),
    )
    expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
  },
)

test('a token that is deleted during its refresh stays deleted, and the new token is revoked', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const asked = requestAccessToken(app, connected)
  await reached
  await app.app.core.db.oAuthToken.delete({ where: { id: connected.tokenId } })
  const before = await app.app.core.db.tokenRevocation.count()
  const access = app.app.core.oauth
  const revoked: string[] = []
  const { revoke } = access
  access.revoke = async (...args) => {
    revoked.push(args[2].value)
    await revoke(...args)
  }
  release()
  expect((await asked).body.code).toBe('CONNECTION_REQUIRED')
  access.revoke = revoke
  expect(revoked).toHaveLength(2)
  expect(revoked).not.toContain(connected.content.refreshToken)
  expect(await rotating.isActive(revoked[1]!)).toBe(false)
  expect(await app.app.core.db.tokenRevocation.count()).toBe(before)
})

describe('before the request to the provider', () => {
  const begin = ({ tokenId }: ConnectedAgent, of = app) => refresh(of.app.core, { id: tokenId, version: 1 })
  const blocked = async () =>
    (
      await app.app.core.db.$queryRaw<unknown[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    ).length > 0

  test('a stopping server waits for the refresh that it started', async () => {
    const connected = await expiredAgent(app, rotating)
    const stopping = await testApp({ beside: app, settings: SETTINGS })
    let closing: Promise<void> | undefined
    await app.app.core.db.$transaction(async (sql) => {
      await sql.$queryRaw`SELECT 1 FROM oauth_tokens WHERE id = ${connected.tokenId}::uuid FOR UPDATE`
      void begin(connected, stopping)
      await expect.poll(blocked).toBe(true)
      closing = stopping.app.core.inFlight.close(6000)
    })
    await closing
    expect(await tokenRow(app, connected)).toMatchObject({ version: 2, refreshId: null })
    await stopping.close()
  })

  test('a database failure releases the lease', async () => {
    const { database } = app.app
    const connected = await expiredAgent(app, rotating)
    // cuts the connection after the lease is written, before the response is read
    const taken: pg.PoolClient[] = []
    const last = (client: pg.PoolClient) => void taken.push(client)
    database.pools.api.on('acquire', last)
    const unheard = database.onQuery((sql) => {
      if (!/SET refresh_id = \$/.test(sql)) return
      unheard()
      const { stream } = (taken.at(-1) as unknown as { connection: { stream: Socket } }).connection
      stream.pause()
      void expect
        .poll(async () => (await tokenRow(app, connected)).refreshId)
        .not.toBeNull()
        .then(() => stream.destroy())
    })
    await expect(begin(connected)).rejects.toThrow()
    database.pools.api.off('acquire', last)
    await expect.poll(async () => (await tokenRow(app, connected)).refreshId).toBeNull()
    expect(sentRefreshTokens(rotating)).toEqual([])
    expect((await requestAccessToken(app, connected)).status).toBe(200)
  })

  test('a server that prepared too long sends nothing, because its lease could expire', async () => {
    const connected = await expiredAgent(app, rotating)
    const { core } = app.app
    const now = performance.now.bind(performance)
    let refreshing: Promise<void> | undefined
    await core.db.$transaction(async (sql) => {
      await sql.$executeRaw`LOCK TABLE oauth_providers IN ACCESS EXCLUSIVE MODE`
      refreshing = begin(connected)
      await expect.poll(blocked).toBe(true)
      vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000)
    })
    await refreshing
    vi.restoreAllMocks()
    expect(sentRefreshTokens(rotating)).toEqual([])
    expect(await tokenRow(app, connected)).toMatchObject({ endedAt: null, refreshId: null, refreshFailures: 1 })
  })
})

test.each([
  ['succeeds', false],
  ['is refused', true],
])(
  'a person who authenticates during a refresh keeps the new grant, even if the old refresh %s',
  async (_what, refused) => {
    const connected = await expiredAgent(app, rotating)
    const { reached, release } = rotating.next('hang')
    const asked = requestAccessToken(app, connected)
    await reached
    const renewed = await connectedAgent(app, rotating, { provider: connected.provider, subject: 'bob' })
    const { core } = app.app
    await core.db.oAuthToken.update({
      where: { id: connected.tokenId },
      data: {
        sealed: sealToken(core.keyring, connected.tokenId, renewed.content),
        version: { increment: 1 },
        expiresAt: new Date(Date.now() + 3_600_000),
        refreshId: null,
        refreshUntil: null,
      },
    })
    const { refreshToken } = connected.content
    if (refused) {
      const provider = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: connected.provider.id } })
      const token = { value: refreshToken!, hint: 'refresh_token' as const }
      await core.oauth.revoke(openProviderAccess(core.keyring, provider), rotating.revocationUrl, token)
    }
    release()
    expect((await asked).body.access_token).toBe(renewed.content.accessToken)
    expect(await storedContent(app, connected)).toEqual(renewed.content)
    expect(await tokenRow(app, connected)).toMatchObject({ version: 2, endedAt: null })
    expect(rotating.tokenRequests.find((one) => one.refreshToken === refreshToken)?.status).toBe(refused ? 400 : 200)
  },
)

test('a waiting agent gets nothing after its connection or its key is deleted', async () => {
  const { core } = app.app
  const connected = await expiredAgent(app, rotating)
  const first = rotating.next('hang')
  const unlinked = requestAccessToken(app, connected)
  await first.reached
  await core.db.agentConnection.delete({ where: { id: connected.connectionId } })
  first.release()
  expect((await unlinked).body.code).toBe('CONNECTION_REQUIRED')

  const other = await expiredAgent(app, rotating)
  const second = rotating.next('hang')
  const revoked = requestAccessToken(app, other)
  await second.reached
  await core.db.apiKey.updateMany({ where: { agentId: other.agentId }, data: { revokedAt: new Date() } })
  second.release()
  expect((await revoked).status).toBe(401)
})

test('an agent that waits for one person’s token never gets another person’s', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const asked = requestAccessToken(app, connected)
  await reached
  await connectedAgent(app, rotating, { provider: connected.provider, agent: connected, subject: 'bob' })
  await app.app.core.db.agentConnection.delete({ where: { id: connected.connectionId } })
  release()
  expect((await asked).body.code).toBe('CONNECTION_REQUIRED')
})

test('no token of the tests above is in the log', async () => {
  const connected = await expiredAgent(app, rotating)
  rotating.next('500')
  await requestAccessToken(app, connected)
  const text = lines.join('')
  expect(text).toContain('a token could not be refreshed')
  expect(text).not.toContain(connected.content.accessToken)
  expect(text).not.toContain(connected.content.refreshToken!)
  for (const { refreshToken } of rotating.tokenRequests) expect(text).not.toContain(refreshToken!)
  expect(text).not.toContain(connected.provider.clientSecret!)
})
