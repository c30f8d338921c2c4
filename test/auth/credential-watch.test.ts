/** The credential watch: streams and waits end with their credential, and one statement checks all credentials. */
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import {
  type ControlledCredentialWatch,
  createCredentialWatch,
  type WatchOptions,
} from '../../src/api/auth/credential-watch.ts'
import type { UnauthenticatedError } from '../../src/domain/errors/errors.ts'
import { revokeKey } from '../../src/domain/keys/manage.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

const app = useApp()
const watches: ControlledCredentialWatch[] = []
afterEach(() => {
  for (const watch of watches.splice(0)) watch.stop()
})

const silent = { info: () => {}, warn: () => {}, error: () => {} }

function watch(options: Partial<WatchOptions> = {}): ControlledCredentialWatch {
  const { database, core } = app.app
  const made = createCredentialWatch({
    queries: database.pools.health,
    clock: core.clock,
    log: silent,
    intervalMs: 20,
    ...options,
  })
  watches.push(made)
  return made
}

async function caller(more: object = {}): Promise<RequestContext> {
  return app.context(await newKey(app.app.core, { ...app.tenant, ...more }))
}

const endOf = (watching: Pick<ControlledCredentialWatch, 'watch'>, ctx: RequestContext) =>
  new Promise<UnauthenticatedError>((resolve) => watching.watch(ctx, resolve))
const change = (ctx: RequestContext, data: object) =>
  app.app.core.db.apiKey.update({ where: { id: ctx.actor.subject }, data })

test.each([
  ['revoked, and the NOTIFY is lost', { revokedAt: new Date() }],
  ['expired', { expiresAt: new Date(0) }],
  ['given another role', { role: 'deployer' as const }],
  ['given the values of secrets', { secretsRead: true }],
])('a key that is %s ends what it has open, and nothing else', async (_how, data) => {
  const [one, other] = [await caller(), await caller()]
  const watching = watch()
  const told: string[] = []
  watching.watch(other, () => told.push('other'))
  const ended = endOf(watching, one)
  await change(one, data)
  expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(told).toEqual([])
})

test('a key that moved to another workspace ends its streams in this one', async () => {
  const one = await caller()
  const ended = endOf(watch(), one)
  await change(one, { workspaceId: app.sibling.workspaceId })
  expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' })
})

test('an organization’s key is checked for each workspace', async () => {
  const key = await newKey(app.app.core, { ...app.tenant, role: 'admin', organizationWide: true })
  const here = await app.context(key, app.tenant.workspaceId)
  const there = await app.context(key, app.sibling.workspaceId)
  const watching = watch()
  const told = Promise.all([endOf(watching, here), endOf(watching, there)])
  await change(here, { revokedAt: new Date() })
  expect(await told).toHaveLength(2)
})

test('each key is checked once for all its streams, all keys in one statement, and none when nothing is watched', async () => {
  const asked: unknown[][][] = []
  const looked = new EventTarget()
  const { health } = app.app.database.pools
  const watching = watch({
    intervalMs: 3_600_000,
    queries: {
      async query<Row extends object>(sql: string, values: unknown[]) {
        asked.push(values as unknown[][])
        const answer = await health.query<Row>(sql, values)
        looked.dispatchEvent(new Event('look'))
        return answer
      },
    },
  })
  const [one, other] = [await caller(), await caller()]
  const stops = [one, one, one, other].map((ctx) => watching.watch(ctx, () => {}))
  const look = once(looked, 'look')
  watching.checkNow()
  await look
  expect(asked).toEqual([
    [
      [one.actor.subject, other.actor.subject],
      [app.tenant.workspaceId, app.tenant.workspaceId],
    ],
  ])
  for (const stop of stops) stop()
  watching.checkNow()
  expect(asked).toHaveLength(1)
})

test('a revocation on another server takes effect immediately, without a query', async () => {
  const beside = await testApp({ beside: app })
  try {
    const one = await caller()
    const asked: string[] = []
    const stop = beside.app.database.onQuery((sql) => sql.includes('unnest($1::uuid[], $2::uuid[])') && asked.push(sql))
    const ended = endOf(beside.app.core.credentials!, one)
    await revokeKey(await app.context(app.keys.admin), { path: { api_key_id: one.actor.subject } })
    expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' })
    stop()
    expect(asked).toEqual([])
  } finally {
    await beside.close()
  }
})

test('no stream ends while the database is unavailable, and a revocation from that time is found afterwards', async () => {
  const proxy = await tcpProxy(app.databaseUrl)
  const database = connectDatabase({ url: proxy.url, poolSize: 1 })
  try {
    const one = await caller()
    let failed: () => void
    const unanswered = new Promise<void>((resolve) => {
      failed = resolve
    })
    const watching = watch({
      queries: {
        query: <Row extends object>(sql: string, values: unknown[]) =>
          database.pools.health.query<Row>(sql, values).catch((error) => {
            failed()
            throw error
          }),
      },
    })
    let over = false
    const ended = endOf(watching, one).finally(() => {
      over = true
    })
    proxy.away(true)
    await unanswered
    await change(one, { revokedAt: new Date() })
    expect(over).toBe(false)
    proxy.away(false)
    expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' })
  } finally {
    await database.close()
    proxy.close()
  }
})

test('a stream of a JWT ends at its exp without a query', async () => {
  const endsAt = new Date('2030-01-01T00:00:00Z')
  let now = new Date('2029-12-31T23:59:59Z')
  const watching = watch({
    clock: () => now,
    queries: {
      query: () => {
        throw new Error('nothing is to be asked')
      },
    },
  })
  const one: RequestContext = { ...(await caller()), credential: { kind: 'jwt', endsAt } }
  const ended = endOf(watching, one)
  watching.checkNow()
  now = endsAt
  expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED', message: 'The token has expired.' })
})
