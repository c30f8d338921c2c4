// Migrations at a server's start while other servers use the database.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../src/platform/postgres/migrate.ts'
import { readMigrations } from '../../src/platform/postgres/migration-history.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'

let database: TestDatabase
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-migrations-'))
  database = await testDatabase({ migrated: false })
  await migration('1_table', 'CREATE TABLE things (id serial PRIMARY KEY, name text)')
  await migrate(database.url, { directory })
})
afterEach(async () => {
  await rm(directory, { recursive: true })
  await database.drop()
})

async function migration(name: string, script: string): Promise<void> {
  await mkdir(path.join(directory, name), { recursive: true })
  await writeFile(path.join(directory, name, 'migration.sql'), script)
}
const anIndex = () =>
  migration(
    '2_index',
    '-- outside a transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "things_by_name" ON "things"("name");\n',
  )

const admin = <T>(work: (client: pg.Client) => Promise<T>) => asAdmin(database.url, work)
const value = async (sql: string) =>
  admin(async (client) => Object.values((await client.query({ text: sql, rowMode: 'array' })).rows[0] ?? [])[0])
/** Resolves when the running migration waits for a lock. */
const isWaiting = () =>
  expect
    .poll(() =>
      value(
        `SELECT count(*)::int FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pilothouse migrate' AND wait_event_type = 'Lock'`,
      ),
    )
    .toBe(1)
const isValid = () => value(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('things_by_name')`)
const write = () => admin((client) => client.query(`SET lock_timeout = '1s'; INSERT INTO things (name) VALUES (NULL)`))

/** Runs `work` while an open transaction has written to the table; `end` commits it. */
const besideWriter = <T>(work: (end: () => Promise<unknown>) => Promise<T>) =>
  admin(async (writer) => {
    await writer.query('BEGIN; INSERT INTO things (name) VALUES (NULL)')
    return work(() => writer.query('COMMIT'))
  })

/** A log that stores its warnings. */
function warnings() {
  const told: object[] = []
  return { told, log: { info() {}, error() {}, warn: (fields: object) => told.push(fields) } }
}

test('writers continue while an index is built', async () => {
  await anIndex()
  await besideWriter(async (end) => {
    const migrating = migrate(database.url, { directory })
    await isWaiting()
    await write()
    await end()
    expect(await migrating).toEqual(['2_index'])
  })
  expect(await isValid()).toBe(true)
})

test('the next start rebuilds an index whose build was interrupted', async () => {
  await anIndex()
  await besideWriter(async () => {
    const migrating = migrate(database.url, { directory })
    migrating.catch(() => {})
    await isWaiting()
    await value(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name = 'pilothouse migrate'`)
    await expect(migrating).rejects.toThrow(/^Migration 2_index failed: /)
  })
  expect(await isValid()).toBe(false)
  expect(await migrate(database.url, { directory })).toEqual(['2_index'])
  expect(await isValid()).toBe(true)
})

test('concurrently starting servers do not block each other, even when one waits for the lock in a statement', async () => {
  await anIndex()
  await besideWriter(async (end) => {
    const first = migrate(database.url, { directory })
    await isWaiting()
    const second = migrate(database.url, { directory })
    // earlier servers and Prisma's command do so; Postgres may report the deadlock to either side
    const older = admin((client) => client.query('SELECT pg_advisory_lock(72707369)')).catch(({ code }) =>
      expect(code).toBe('40P01'),
    )
    await expect
      .poll(() => value(`SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`))
      .toBe(1)
    await end()
    expect((await Promise.all([first, second])).flat()).toEqual(['2_index'])
    await older
  })
  expect(await isValid()).toBe(true)
})

test('a migration whose table is in use lets other statements pass, retries, and logs the retry', async () => {
  await migration('2_column', 'ALTER TABLE things ADD COLUMN colour text')
  const { told, log } = warnings()
  await besideWriter(async (end) => {
    const migrating = migrate(database.url, { directory, log, pauses: [500] })
    await expect.poll(() => told).toMatchObject([{ migration: '2_column' }])
    await write()
    await end()
    expect(await migrating).toEqual(['2_column'])
  })
  await besideWriter(async (end) => {
    await migration('3_column', 'CREATE TABLE others (id int); ALTER TABLE things ADD COLUMN size int')
    await expect(migrate(database.url, { directory, pauses: [] })).rejects.toThrow(
      'Migration 3_column failed and was rolled back: canceling statement due to lock timeout',
    )
    expect(await value(`SELECT to_regclass('others')`)).toBe(null)
    await end()
  })
  expect(await migrate(database.url, { directory })).toEqual(['3_column'])
})

test('a migration rewritten with the same result is recognised by its former checksum', async () => {
  const [{ checksum } = { checksum: '' }] = await readMigrations(directory)
  await migration('1_table', `-- formerly ${checksum}\nCREATE TABLE things (id serial PRIMARY KEY, name text)`)
  const { told, log } = warnings()
  expect(await migrate(database.url, { directory, log })).toEqual([])
  expect(told).toEqual([])
})

test('a migration outside a transaction is one statement, so Prisma’s command can run it, too', async () => {
  const own = new URL('../../prisma/migrations/', import.meta.url).pathname
  const outside = (await readMigrations(own)).filter(({ isOutside }) => isOutside)
  expect(outside.length).toBeGreaterThan(0)
  for (const { name, script } of outside)
    expect([
      name,
      script
        .replace(/^--.*$/gm, '')
        .replace(/\$\$.*?\$\$/gs, '')
        .match(/;/g)?.length,
    ]).toEqual([name, 1])
  // scripts that must run outside a transaction declare it
  for (const name of await readdir(own)) {
    if (name.endsWith('.toml') || outside.some((one) => one.name === name)) continue
    const script = await readFile(path.join(own, name, 'migration.sql'), 'utf8')
    expect([name, /CONCURRENTLY|^\s*COMMIT;/m.test(script)]).toEqual([name, false])
  }
})

test('indexes of existing tables are built concurrently with writers', async () => {
  const own = new URL('../../prisma/migrations/', import.meta.url).pathname
  // the first migration under this rule
  const since = (await readMigrations(own)).filter(({ name }) => name > '20261122190000')
  for (const { name, script } of since) {
    const tables = [...script.matchAll(/^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)"\w+" ON "(\w+)"/gm)].map(
      ([, on]) => on,
    )
    expect([name, tables.filter((table) => !script.includes(`CREATE TABLE "${table}"`))]).toEqual([name, []])
  }
})
