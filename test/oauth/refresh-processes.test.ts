/** Real servers that are killed or stopped during a refresh, and the reaction of another server on the same database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, useApp } from '../support/app.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import {
  type ConnectedAgent,
  expiredAgent,
  SETTINGS,
  sentRefreshTokens,
  storedContent,
  tokenRow,
} from './agent-support.ts'
import { useOAuthServer } from './support.ts'

const rotating = useOAuthServer()
const app = useApp(() => ({ settings: SETTINGS }))
let killed: RunningServer
let other: RunningServer
beforeAll(async () => {
  const { databaseUrl: DATABASE_URL, secretsKeys: SECRETS_KEYS, dataDir: DATA_DIR } = app
  const start = () => startServer({ ...SETTINGS, DATABASE_URL, SECRETS_KEYS, DATA_DIR, RUNTIME: 'none' })
  ;[killed, other] = await Promise.all([start(), start()])
})
afterAll(async () => {
  for (const server of [killed, other]) server?.child.kill('SIGKILL')
  await Promise.all([killed?.ended, other?.ended])
})

async function askAt({ url }: RunningServer, connected: ConnectedAgent, signal?: AbortSignal): Promise<Answer['body']> {
  const path = `/v2/auth/agents/${connected.agentId}/providers/${connected.provider.providerId}/access-token`
  const headers = { 'x-api-key': connected.key, 'content-type': 'application/json' }
  return (await fetch(url + path, { method: 'POST', headers, body: '{"scopes":["read"]}', signal })).json()
}

const listens = ({ url }: RunningServer) =>
  fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  )

test('after a server is killed, another server reports the lost token when the lease expires', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const lost = askAt(killed, connected).catch(() => 'lost')
  await reached
  const waiting = askAt(other, connected)
  killed.child.kill('SIGKILL')
  expect(await lost).toBe('lost')
  release()
  await app.app.core.db.$executeRaw`
    WITH later AS (UPDATE oauth_tokens SET refresh_until = now() WHERE id = ${connected.tokenId}::uuid RETURNING id)
    SELECT pg_notify('pilothouse_oauth', id::text) FROM later`
  expect(await waiting).toMatchObject({
    code: 'TOKEN_EXPIRED',
    detail: expect.stringContaining('authenticate again'),
  })
  expect((await askAt(other, connected)).code).toBe('TOKEN_EXPIRED')
  expect(sentRefreshTokens(rotating)).toEqual([connected.content.refreshToken])
})

test('a server that is told to stop stores the provider’s response first', async () => {
  const connected = await expiredAgent(app, rotating)
  const { reached, release } = rotating.next('hang')
  const leaves = new AbortController()
  const left = askAt(other, connected, leaves.signal)
  await reached
  leaves.abort()
  await expect(left).rejects.toThrow('aborted')
  other.child.kill('SIGTERM')
  await expect.poll(() => listens(other)).toBe(false)
  release()
  expect(await other.ended).toMatchObject({ code: 0, signal: null })
  expect(await tokenRow(app, connected)).toMatchObject({ version: 2, endedAt: null, refreshId: null })
  expect((await storedContent(app, connected)).refreshToken).not.toBe(connected.content.refreshToken)
})
