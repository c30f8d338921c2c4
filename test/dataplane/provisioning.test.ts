// Provisioning when a connection to Postgres goes silent: its server loses the lock, and the others continue.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  createDatabase,
  createDatabaseAdmin,
  type DatabaseAdminTimeouts,
  dropDatabase,
  PROVISIONING_LOCK_ID,
} from '../../src/dataplane/process/isolation/database.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { startProxy, type TcpProxy } from '../support/kubernetes/proxy.ts'
import { eventually, never } from './support.ts'

let database: TestDatabase
let proxy: TcpProxy
let through: string
let watcher: pg.Client
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-provisioning-'))
const file = () => path.join(folder, randomUUID())
const made: string[] = []
const newId = () => {
  const id = randomUUID()
  made.push(id)
  return id
}

beforeAll(async () => {
  database = await testDatabase()
  const { hostname, port } = new URL(database.url)
  proxy = await startProxy({ host: hostname, port: Number(port) })
  const url = new URL(database.url)
  url.host = proxy.address
  through = url.href
  watcher = new pg.Client({ connectionString: database.url })
  await watcher.connect()
})
beforeEach(() => proxy.heal())
afterAll(async () => {
  const admin = createDatabaseAdmin(database.url)
  for (const id of made) await dropDatabase(admin, id, never)
  await watcher.end()
  await proxy.close()
  await database.drop()
  fs.rmSync(folder, { recursive: true })
})

const limits: DatabaseAdminTimeouts = { connectMs: 5000, lockMs: 10_000, statementMs: 10_000, idleMs: 300 }

/** Holds the lock until `work` is done. */
async function withTurn(work: () => Promise<void>): Promise<void> {
  await watcher.query('SELECT pg_advisory_lock($1)', [PROVISIONING_LOCK_ID])
  try {
    await work()
  } finally {
    await watcher.query('SELECT pg_advisory_unlock($1)', [PROVISIONING_LOCK_ID])
  }
}

async function somebodyWaits(): Promise<boolean> {
  const { rowCount } = await watcher.query(
    `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`,
  )
  return rowCount === 1
}

test('a server whose connection goes silent while it holds the lock does not block other servers', async () => {
  const abort = new AbortController()
  let silent: Promise<unknown> = Promise.resolve()
  await withTurn(async () => {
    silent = createDatabase(createDatabaseAdmin(through, limits), newId(), file(), abort.signal).catch((error) => error)
    expect(await eventually(somebodyWaits)).toBe(true)
    proxy.freeze()
  })
  // Postgres has given the lock to a connection that does not receive the answer
  await createDatabase(createDatabaseAdmin(database.url, limits), newId(), file(), never)
  abort.abort(new Error('enough'))
  expect(await silent).toEqual(new Error('enough'))
})

test('a server that waits too long for the lock gets an error', async () => {
  await withTurn(async () => {
    const created = createDatabase(
      createDatabaseAdmin(database.url, { ...limits, lockMs: 200 }),
      newId(),
      file(),
      never,
    )
    await expect(created).rejects.toMatchObject({ code: '55P03' })
  })
})

test('a step that is cancelled while it connects does not wait for Postgres', async () => {
  const mute = net.createServer((socket) => socket.on('error', () => undefined))
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.host = `127.0.0.1:${(mute.address() as AddressInfo).port}`
  const abort = new AbortController()
  const accepted = once(mute, 'connection')
  const created = createDatabase(createDatabaseAdmin(url.href), newId(), file(), abort.signal)
  await accepted
  abort.abort(new Error('enough'))
  await expect(created).rejects.toThrow('enough')
  mute.close()
})

test('a step that is cancelled while it waits for the lock does not wait for Postgres', async () => {
  const abort = new AbortController()
  await withTurn(async () => {
    const created = createDatabase(createDatabaseAdmin(through), newId(), file(), abort.signal)
    expect(await eventually(somebodyWaits)).toBe(true)
    proxy.freeze()
    abort.abort(new Error('enough'))
    await expect(created).rejects.toThrow('enough')
  })
})
