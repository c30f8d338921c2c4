// Migrations at a server's start, on databases in every possible state.
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MigrationError, migrate } from '../../src/platform/postgres/migrate.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'

let database: TestDatabase
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-migrations-'))
  database = await testDatabase({ migrated: false })
})
afterEach(async () => {
  await rm(directory, { recursive: true })
  await database.drop()
})

async function migration(name: string, script: string): Promise<void> {
  await mkdir(path.join(directory, name), { recursive: true })
  await writeFile(path.join(directory, name, 'migration.sql'), script)
}

const rows = (sql: string) => asAdmin(database.url, async (client) => (await client.query(sql)).rows)
const history = () =>
  rows(
    `SELECT migration_name AS name, finished_at IS NOT NULL AS finished, rolled_back_at IS NOT NULL AS rolled_back, logs
       FROM _prisma_migrations ORDER BY started_at`,
  )

test('three servers that start together apply each migration once', async () => {
  const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url)))
  const own = await readdir(new URL('../../prisma/migrations', import.meta.url), { withFileTypes: true })
  const names = own.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  expect(names[0]).toBe('20261121000000_init')
  expect(applied.filter((done) => done.length > 0)).toEqual([names])
  expect(await history()).toEqual(names.map((name) => ({ name, finished: true, rolled_back: false, logs: null })))
})

test('a start gives up on a program that accepts connections but is not Postgres', async () => {
  const mute = net.createServer().listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as net.AddressInfo
  await expect(migrate(`postgresql://u:p@127.0.0.1:${port}/d`, { connectMs: 100 })).rejects.toThrow('timeout')
  mute.close()
})

test('a failed migration leaves nothing behind, is recorded, and is retried at the next start', async () => {
  await migration('1_good', 'CREATE TABLE good (id int)')
  await migration('2_bad', 'CREATE TABLE half (id int); CREATE TABLE good (id int)')
  await expect(migrate(database.url, { directory })).rejects.toThrow(
    new MigrationError('Migration 2_bad failed and was rolled back: relation "good" already exists'),
  )
  expect(await history()).toEqual([
    { name: '1_good', finished: true, rolled_back: false, logs: null },
    { name: '2_bad', finished: false, rolled_back: true, logs: 'error: relation "good" already exists' },
  ])
  expect(await rows(`SELECT to_regclass('half') AS half`)).toEqual([{ half: null }])

  await migration('2_bad', 'CREATE TABLE half (id int)')
  expect(await migrate(database.url, { directory })).toEqual(['2_bad'])
})

test('an unfinished migration of another program stops the start', async () => {
  await migration('1_good', 'CREATE TABLE good (id int)')
  await migrate(database.url, { directory })
  await rows('UPDATE _prisma_migrations SET finished_at = NULL')
  await expect(migrate(database.url, { directory })).rejects.toThrow(/1_good was begun earlier and did not finish/)
})

test('a database migrated by a newer version is left unchanged', async () => {
  await migration('1_good', 'CREATE TABLE good (id int)')
  await migration('2_newer', 'CREATE TABLE newer (id int)')
  await migrate(database.url, { directory })
  await rm(path.join(directory, '2_newer'), { recursive: true })
  expect(await migrate(database.url, { directory })).toEqual([])
})

test('a migration changed after it was applied is not applied again, and the log warns', async () => {
  await migration('1_good', 'CREATE TABLE good (id int)')
  await migrate(database.url, { directory })
  await migration('1_good', 'CREATE TABLE good (id bigint)')
  const warnings: object[] = []
  const log = { info() {}, error() {}, warn: (fields: object) => warnings.push(fields) }
  expect(await migrate(database.url, { directory, log })).toEqual([])
  expect(warnings).toEqual([{ migration: '1_good' }])
})

/** A log that stores its warnings. */
function warnings() {
  const told: [object, string][] = []
  const log = {
    info: () => {},
    warn: (fields: object, message: string) => told.push([fields, message]),
    error: () => {},
  }
  return { told, log }
}

test('an older version starts on a newer version’s database and warns once', async () => {
  await migration('1_first', 'CREATE TABLE first (id int)')
  await migration('2_newer', 'CREATE TABLE newer (id int)')
  await migration('3_newest', 'CREATE TABLE newest (id int)')
  await migrate(database.url, { directory })
  for (const name of ['2_newer', '3_newest']) await rm(path.join(directory, name), { recursive: true })
  const { told, log } = warnings()
  expect(await migrate(database.url, { directory, log })).toEqual([])
  expect(told).toEqual([
    [{ migrations: ['2_newer', '3_newest'] }, 'a newer version has migrated the database; this version can work on it'],
  ])
})

test('an older version refuses to start after a breaking migration and changes nothing', async () => {
  await migration('1_first', 'CREATE TABLE first (id int)')
  await migration('2_rename_breaking', 'ALTER TABLE first RENAME TO renamed')
  const { told, log } = warnings()
  await migrate(database.url, { directory, log })
  // the newer version still works
  await migrate(database.url, { directory, log })
  expect(told).toEqual([])
  await rm(path.join(directory, '2_rename_breaking'), { recursive: true })
  await migration('2_other', 'CREATE TABLE other (id int)')
  await expect(migrate(database.url, { directory, log })).rejects.toThrow(
    /^The database belongs to a newer version.*2_rename_breaking/,
  )
  expect((await history()).map(({ name }) => name)).toEqual(['1_first', '2_rename_breaking'])
})
