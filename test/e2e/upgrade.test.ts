/**
 * Upgrades to another version of Pilothouse on the same DATA_DIR and database, and back: to a copy of this tree with
 * another supervisor and one more migration. Agents keep serving as they were started.
 */
import fs from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newDataDir, removeFolder } from '../support/data-dir.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'
import { cli, ROOT, type RunningServer, startServer } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { deployAgent, restOf } from '../support/rest-of.ts'
import { type Checkout, checkout } from '../support/steady/upgrade.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

/**
 * Only `npm run chaos -- next-version` runs it. `npm test` has its parts: supervisors of another version
 * (dataplane/supervised), newer doors (door/door), newer migrations (database/migrate).
 */
const isLongForm = process.env.LONG_FORM === 'on'

const KEY = 'cpk_upgrade_admin_key_of_a_test'
const dataDir = newDataDir()
let newer: Checkout
let database: TestDatabase
let repository: AgentRepository
let server: RunningServer | null = null
const env = () => ({
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
  SECRETS_KEYS: `k:${Buffer.alloc(32, 6).toString('base64')}`,
  CONTROL_PLANE_API_KEY: KEY,
  RUNTIME: 'process',
  WORKER: 'on',
  LEASE_SECONDS: '3',
  APP_PORTS: '21150-21159',
  AGENTS_END_WITH_SERVER: 'off',
  LOG_LEVEL: 'warn',
})

beforeAll(async () => {
  database = await testDatabase()
  repository = await agentRepository(path.join(dataDir, 'git'), 'agent')
  newer = await checkout({ another: true })
  await newer.shareInstall()
  const migration = path.join(newer.folder, 'prisma/migrations/29990101000000_of_a_newer_version')
  await mkdir(migration)
  fs.writeFileSync(path.join(migration, 'migration.sql'), 'ALTER TABLE deployments ADD COLUMN of_a_newer_version int;')
})
afterAll(async () => {
  await cli(['server', 'stop', '--agents'], env())
  await server?.ended
  await repository?.remove()
  await database?.drop()
  await newer?.remove()
  await removeFolder(dataDir)
})

const rest = restOf(() => server!.url, KEY)

/** Stops the server like a service, and starts that of this tree. */
async function restartAs(folder: string): Promise<void> {
  server?.child.kill('SIGTERM')
  await server?.ended
  server = await startServer(env(), folder)
}

/** Calls the agent 50 times a second until `stop`, which returns the number of answers and all other results. */
function callOn(url: string) {
  let [over, answers] = [false, 0]
  const failures: string[] = []
  const calling = (async () => {
    while (!over) {
      const outcome = await fetch(url).then(
        (response) => response.text(),
        (error) => String(error.cause ?? error),
      )
      if (outcome === 'Hello\n') answers++
      else failures.push(outcome)
      await setTimeout(20)
    }
  })()
  return {
    async stop() {
      over = true
      await calling
      return { answers, failures }
    },
  }
}

test.skipIf(!isLongForm)(
  'the next version takes agents over, the previous version does so again, and no request fails',
  async () => {
    await restartAs(ROOT)
    const { id, revisionId, url } = await deployAgent(() => server!.url, KEY, repository.url)
    const environment = async () => (await fetch(`${url}/env`)).text()
    const begun = await environment()
    const ready = () =>
      expect.poll(async () => (await rest('GET', `/v2/deployments/${id}`)).health?.ready, { timeout: 60_000 }).toBe(1)

    const calls = callOn(url)
    await restartAs(newer.folder)
    await ready()
    await restartAs(ROOT)
    expect(server!.output.stdout).toContain('a newer version has migrated the database; this version can work on it')
    await ready()
    const { answers, failures } = await calls.stop()
    expect(failures).toEqual([])
    expect(answers).toBeGreaterThan(10)
    expect(await environment()).toBe(begun)

    // each version can also change the agent
    await rest('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`)
    const status = async () => (await rest('GET', `/v2/deployments/${id}/revisions/${revisionId}`)).status
    await expect.poll(status, { timeout: 60_000 }).toBe('DEPLOYED')
    expect(await environment()).not.toBe(begun)
    const { rows } = await asAdmin(database.url, (client) => client.query('SELECT of_a_newer_version FROM deployments'))
    expect(rows).toHaveLength(1)
  },
)
