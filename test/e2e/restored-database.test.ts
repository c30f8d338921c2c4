/**
 * The database is restored from a backup while agents keep running, so their supervisors have seen newer tokens than
 * it contains. A server that starts on it still takes them over, without a restart.
 */
import fs from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest'
import { newDataDir } from '../support/data-dir.ts'
import { asAdmin, dropDatabase, type TestDatabase, testDatabase } from '../support/database.ts'
import { cli, type RunningServer, startServer } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { deployAgent, restOf } from '../support/rest-of.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

/** For processes that start on a busy machine, in ms. */
const PATIENT = { timeout: 60_000 }
const KEY = 'cpk_restored_database_admin_key'
const dataDir = newDataDir()
let database: TestDatabase
let repository: AgentRepository
let server: RunningServer | null = null
const env = () => ({
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
  SECRETS_KEYS: `k:${Buffer.alloc(32, 5).toString('base64')}`,
  CONTROL_PLANE_API_KEY: KEY,
  RUNTIME: 'process',
  WORKER: 'on',
  LEASE_SECONDS: '3',
  APP_PORTS: '21140-21149',
  AGENTS_END_WITH_SERVER: 'off',
  LOG_LEVEL: 'warn',
})

async function start(): Promise<void> {
  server = await startServer(env())
}

async function stop(): Promise<void> {
  server?.child.kill('SIGTERM')
  await server?.ended
  server = null
}

beforeAll(async () => {
  database = await testDatabase()
  repository = await agentRepository(path.join(dataDir, 'git'), 'agent')
  await start()
})
afterAll(async () => {
  await cli(['server', 'stop', '--agents'], env())
  await server?.ended
  await repository?.remove()
  await asAdmin(inject('postgres').url, (admin) => dropDatabase(admin, `${name()}_backup`))
  await database?.drop()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
})

const rest = restOf(() => server!.url, KEY)

const name = () => new URL(database.url).pathname.slice(1)

/** Copies one database over another, like an operator's own backup. */
const copyDatabase = (from: string, to: string) =>
  asAdmin(inject('postgres').url, async (admin) => {
    await dropDatabase(admin, to)
    await admin.query(`CREATE DATABASE ${to} TEMPLATE ${from}`)
  })

/** The newest token that the agent's supervisor has seen. */
function fence(): number {
  const [folder] = fs
    .readdirSync(path.join(dataDir, 'run'), { withFileTypes: true })
    .filter((file) => file.isDirectory())
  return Number(fs.readFileSync(path.join(dataDir, 'run', folder!.name, 'fence'), 'utf8'))
}

const tokenOf = (id: string) =>
  asAdmin(database.url, async (client) => {
    const { rows } = await client.query('SELECT lease_token::int AS token FROM deployments WHERE id = $1', [id])
    return rows[0].token as number
  })

test('a server on an older database takes over agents that have obeyed newer tokens', async () => {
  const { id, revisionId, url } = await deployAgent(() => server!.url, KEY, repository.url)
  const ask = async () => (await fetch(`${url}/env`)).text()
  const begun = await ask()

  await stop()
  await copyDatabase(name(), `${name()}_backup`)
  const older = await tokenOf(id)
  // as after many restarts
  await asAdmin(database.url, (client) => client.query('UPDATE deployments SET lease_token = lease_token + 100'))
  await start()
  await expect.poll(fence, PATIENT).toBeGreaterThan(older + 100)
  await stop()
  const newest = await tokenOf(id)
  expect(newest).toBeGreaterThan(older + 100)

  await copyDatabase(`${name()}_backup`, name())
  expect(await tokenOf(id)).toBe(older)
  await start()
  await expect.poll(fence, PATIENT).toBeGreaterThan(newest)
  expect(await tokenOf(id)).toBe(fence())
  expect(await ask()).toBe(begun)

  // its commands are accepted: the next deploy works
  await rest('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`)
  const revision = () => rest('GET', `/v2/deployments/${id}/revisions/${revisionId}`)
  await expect.poll(revision, PATIENT).toMatchObject({ status: 'DEPLOYED', attempt: 2 })
  expect(await ask()).not.toBe(begun)
})
