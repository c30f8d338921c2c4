// A server behind a connection pooler: real PgBouncer in transaction mode, where it is installed.
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/platform/config/config.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { listen } from '../../src/platform/postgres/listen.ts'
import { isPooled } from '../../src/platform/postgres/pooler.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'
import { imageDeployment } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { PGBOUNCER, type Pooler, startPooler } from '../support/pgbouncer.ts'

test('a direct connection is not mistaken for a pooler', async () => {
  const database = await testDatabase()
  expect(await isPooled(database.url)).toBe(false)
  await database.drop()
})

test('DATABASE_DIRECT_URL without DATABASE_URL stops the start', () => {
  expect(() => readConfig({ DATABASE_DIRECT_URL: 'postgresql://127.0.0.1/x' })).toThrow(
    'DATABASE_DIRECT_URL needs DATABASE_URL',
  )
})

describe.skipIf(!PGBOUNCER)('behind PgBouncer', () => {
  let database: TestDatabase
  let direct: string
  let pooler: Pooler
  /** the first started server, which created the tenants */
  let first: TestApp | undefined
  const running: TestApp[] = []

  beforeAll(async () => {
    database = await testDatabase({ migrated: false })
    direct = database.url
    // few: work that needs a session would use them up
    pooler = await startPooler(direct, 3)
    return async () => {
      await pooler.stop()
      await database.drop()
    }
  })
  afterEach(async () => {
    for (const server of running.splice(0)) await server.close()
  })

  async function start(settings: Record<string, string>): Promise<TestApp> {
    const app = await testApp({ beside: first, settings: { DATABASE_URL: pooler.url, ...settings } })
    running.push(app)
    return app
  }
  /** The message for the operator. */
  const refusal = (settings: Record<string, string>) =>
    start(settings).then(
      () => 'it has started',
      (error: Error) => error.message,
    )

  test('the pooler is recognised, and no migration runs through it', async () => {
    expect(await isPooled(pooler.url)).toBe(true)
    expect(await refusal({})).toBe(
      'The database needs migrations, which can’t be done through a connection pooler: set DATABASE_DIRECT_URL.',
    )
  })

  test('missing role settings are reported as SQL statements that set them', async () => {
    const said = await refusal({ DATABASE_DIRECT_URL: direct })
    const statements = said.match(/ALTER ROLE "\w+" IN DATABASE "\w+" SET \w+ = '\w+';/g)
    expect(said.split('\n')).toHaveLength(1)
    expect(statements).toHaveLength(3) // the tests' Postgres already uses UTC
    await asAdmin(direct, async (client) => {
      for (const statement of statements!) await client.query(statement)
    })
    await pooler.reconnect()
    first = await start({ DATABASE_DIRECT_URL: direct })
  })

  test('a DATABASE_DIRECT_URL through a pooler or to another database is refused', async () => {
    expect(await refusal({ DATABASE_DIRECT_URL: pooler.url })).toContain('has to go past every connection pooler')
    const other = await testDatabase({ migrated: false })
    expect(await refusal({ DATABASE_DIRECT_URL: other.url })).toContain('are not the same database')
    await other.drop()
  })

  test('with a direct URL many concurrent writes succeed, and a stream gets each by LISTEN', async () => {
    const app = await start({ DATABASE_DIRECT_URL: direct })
    const { id, latest_revision_id: made } = await imageDeployment(app)
    const follower = new Follower(() => [app.url], app.keys.viewer, id)
    await follower.until(({ revision }) => revision.id === made)
    const bodies = Array.from({ length: 20 }, (_, n) => ({ source_revision_config: { image_uri: `agent:${n}` } }))
    const answers = await Promise.all(bodies.map((body) => app.rest('PATCH', `/v2/deployments/${id}`, { body })))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200))
    for (const { body } of answers) await follower.until(({ revision }) => revision.id === body.latest_revision_id)
    await follower.close()
    expect(await listens(database.url)).toBeGreaterThan(0)
  })

  test('NOTIFY through any session of the pooler wakes listeners', async () => {
    const heard: string[] = []
    const told: unknown[] = []
    const log = { info() {}, error() {}, warn: (about: unknown) => told.push(about) }
    const listening = await new Promise<ReturnType<typeof listen>>((resolve) => {
      const it = listen({
        url: direct,
        channels: ['woken'],
        onNotify: (_, payload) => heard.push(payload),
        onConnect: () => resolve(it),
        log,
      })
    })
    const db = connectDatabase({ url: pooler.url, pooled: { direct }, poolSize: 1, log })
    for (const word of ['one', 'two', 'three']) {
      db.wake([`woken ${word}`])
      await expect.poll(() => heard).toContain(word)
      await pooler.reconnect()
    }
    expect(told).toEqual([])
    await db.close()
    await listening.close()
  })

  test('without a direct URL a stream still gets every event, by polling', async () => {
    const app = await start({})
    expect(await listens(database.url)).toBe(0)
    const { id } = await imageDeployment(app)
    const follower = new Follower(() => [app.url], app.keys.viewer, id)
    await follower.until(() => true)
    const { body } = await app.rest('POST', `/v2/deployments/${id}/revisions`, { body: {} })
    await follower.until(({ revision }) => revision.id === body.id)
    await follower.close()
  })

  test('without a direct URL a server that must create databases does not start', async () => {
    expect(await refusal({ WORKER: 'on', RUNTIME: 'process' })).toContain('RUNTIME=process creates databases')
  })
})

/** Connections to this database that LISTEN. */
function listens(url: string): Promise<number> {
  return asAdmin(url, async (admin) => {
    const { rows } = await admin.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = 'pilothouse listen' AND datname = current_database()`,
    )
    return rows.length
  })
}
