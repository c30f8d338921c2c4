// Limits of a deployment's database: connections, temporary files, size.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createDatabase,
  createDatabaseAdmin,
  type DatabaseAdmin,
  databaseUri,
  dropDatabase,
} from '../../src/dataplane/process/isolation/database.ts'
import { type DatabaseLimitSettings, DatabaseLimits } from '../../src/dataplane/process/isolation/database-limits.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { never } from './support.ts'

/** checks run only when the test calls them */
const NEVER_MS = 1e9

let database: TestDatabase
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-database-bounds-'))
const made: string[] = []
const open: { close(): unknown }[] = []
const admin = () => createDatabaseAdmin(database.url)

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(async () => {
  for (const each of open) await each.close()
  for (const id of made) await dropDatabase(admin(), id, never)
  await database.drop()
  fs.rmSync(folder, { recursive: true })
})

/** Creates a deployment with a database; returns its id and its agent's connection. */
async function deployment() {
  const id = randomUUID()
  made.push(id)
  const file = path.join(folder, id)
  await createDatabase(admin(), id, file, never)
  return { id, connect: () => connected(databaseUri(admin(), id, file)!) }
}

async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined)
  await client.connect()
  open.push({ close: () => client.end().catch(() => undefined) })
  return client
}

function bounds(settings: Partial<DatabaseLimitSettings>): DatabaseLimits {
  const made = new DatabaseLimits(admin(), { maxConnections: 10, maxMb: null, ...settings }, NEVER_MS)
  open.push(made)
  return made
}

/** Inserts MB of data that Postgres can't compress. */
const fill = (client: pg.Client, mb: number) =>
  client.query(
    `INSERT INTO data SELECT gen_random_uuid()::text || repeat(md5(random()::text), 28) FROM generate_series(1, ${mb * 1000})`,
  )

const refused = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: { code?: string }) => error.code,
  )

test('an agent has as many connections as its spec says, and no more than the setting', async () => {
  const [small, large] = [await deployment(), await deployment()]
  const its = bounds({ maxConnections: 3 })
  its.watch(small.id, { db_max_connections: 2 })
  its.watch(large.id, { db_max_connections: 100 })
  await its.check()
  for (const [{ connect }, most] of [
    [small, 2],
    [large, 3],
  ] as const) {
    for (let i = 0; i < most; i++) await connect()
    // too_many_connections
    expect(await refused(connect())).toBe('53300')
  }
  // a changed spec counts from the next check
  its.watch(small.id, { db_max_connections: 3 })
  await its.check()
  await small.connect()
})

test('a database over its limit is read-only, its health says why, and it is writable again when it is smaller', async () => {
  const { id, connect } = await deployment()
  const its = bounds({ maxMb: 20 })
  its.watch(id, { db_max_connections: 100 })
  const before = await connect()
  const ended = new Promise((resolve) => before.once('end', resolve))
  await before.query('CREATE TABLE data (text text)')
  await fill(before, 16)
  await its.check()
  expect(its.problem(id)).toMatchObject({ reason: 'DATABASE_LIMIT', message: expect.stringContaining('20 MB') })
  await ended
  const client = await connect()
  expect(await refused(client.query('DELETE FROM data'))).toBe('25006') // read_only_sql_transaction
  expect((await client.query('SELECT count(*)::int AS n FROM data')).rows).toEqual([{ n: 16_000 }])
  await client.query('SET default_transaction_read_only = off')
  await client.query('TRUNCATE data')
  await its.check()
  expect(its.problem(id)).toBeNull()
  await fill(await connect(), 1)
})

test('an agent that keeps writing to a read-only database can no longer connect to it', async () => {
  const { id, connect } = await deployment()
  const its = bounds({ maxMb: 20 })
  its.watch(id, { db_max_connections: 100 })
  const first = await connect()
  await first.query('CREATE TABLE data (text text)')
  await fill(first, 16)
  await its.check()
  const client = await connect()
  const own = (await client.query('SELECT current_user AS name')).rows[0].name
  await client.query('SET default_transaction_read_only = off')
  // the agent can also make this setting permanent; the next check resets it
  await client.query(`ALTER ROLE ${own} IN DATABASE ${own} SET default_transaction_read_only = off`)
  await fill(client, 1)
  await its.check()
  const again = await connect()
  expect(await refused(fill(again, 1))).toBe('25006')
  await again.query('SET default_transaction_read_only = off')
  await fill(again, 16)
  await its.check()
  expect(its.problem(id)?.message).toContain('connections are refused')
  expect(await refused(connect())).toBe('28000') // invalid_authorization_specification
  // the operator raises the limit
  const raised = bounds({ maxMb: 1000 })
  raised.watch(id, { db_max_connections: 100 })
  await raised.check()
  expect(raised.problem(id)).toBeNull()
  await fill(await connect(), 1)
})

test('a session’s temporary files are limited', async () => {
  const { id, connect } = await deployment()
  const its = bounds({ maxMb: 30 })
  its.watch(id, { db_max_connections: 100 })
  await its.check()
  const client = await connect()
  const sort = client.query(
    `SET work_mem = '64kB'; SELECT count(*) FROM (SELECT md5(n::text) AS m FROM generate_series(1, 1500000) n ORDER BY m) s`,
  )
  expect(await refused(sort)).toBe('53400') // configuration_limit_exceeded
  expect(await refused(client.query('SET temp_file_limit = -1'))).toBe('42501') // insufficient_privilege
})

test('a check writes nothing when all limits are set', async () => {
  const { id } = await deployment()
  const said: string[] = []
  const own = admin()
  const heard: DatabaseAdmin = {
    ...own,
    run: (signal, work) =>
      own.run(signal, (query) =>
        work((sql, values) => {
          said.push(sql)
          return query(sql, values)
        }),
      ),
  }
  const its = new DatabaseLimits(heard, { maxConnections: 5, maxMb: 100 }, NEVER_MS)
  open.push(its)
  its.watch(id, { db_max_connections: 100 })
  await its.check()
  expect(said.filter((sql) => sql.startsWith('ALTER'))).toHaveLength(2)
  said.length = 0
  await its.check()
  expect(said).toHaveLength(1)
})
