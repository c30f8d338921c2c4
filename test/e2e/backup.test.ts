/**
 * A backup of a running server, restored where nothing is left: on the embedded Postgres, and on an operator's
 * Postgres.
 */
import fs from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type App, buildApp } from '../../src/app/app.ts'
import { backUp } from '../../src/app/backup/backup.ts'
import { restore } from '../../src/app/backup/restore.ts'
import { type Config, postgresEnvironment, readConfig } from '../../src/platform/config/config.ts'
import { newDataDir } from '../support/data-dir.ts'
import { asAdmin } from '../support/database.ts'
import { Follower } from '../support/follower.ts'
import { type OwnPostgres, ownPrograms, startOwnPostgres } from '../support/own-postgres.ts'
import { cli, run } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { restOf } from '../support/rest-of.ts'

vi.setConfig({ testTimeout: 120_000 })

/** For processes that start on a busy machine, in ms. */
const PATIENT = { timeout: 60_000 }
const KEY = 'cpk_backup_admin_key_of_a_test'

/** A server with an agent that stores data in its database. */
class Installation {
  readonly dataDir = newDataDir()
  readonly env: Record<string, string>
  readonly #config: Config
  #app: App | null = null
  #repository: AgentRepository | null = null
  deploymentId = ''

  constructor(env: Record<string, string> = {}) {
    this.env = {
      PORT: '0',
      DATA_DIR: this.dataDir,
      CONTROL_PLANE_API_KEY: KEY,
      RUNTIME: 'process',
      AGENTS_END_WITH_SERVER: 'on',
      APPS_PORT: '0',
      LEASE_SECONDS: '3',
      LOG_LEVEL: 'silent',
      ...env,
    }
    this.#config = readConfig(this.env)
  }

  async start(): Promise<void> {
    this.#app = await buildApp(this.#config)
    await this.#app.start()
  }

  /** Ends the server and its agents. */
  async stop(): Promise<void> {
    const app = this.#app
    this.#app = null
    await app?.close()
  }

  backUp(target: string, asDumps = false) {
    return backUp({ config: this.#config, target, filesOnly: false, asDumps, env: this.#programs() })
  }

  restore(backup: string) {
    return restore({ config: this.#config, backup, filesOnly: false, env: this.#programs() })
  }

  #programs() {
    return postgresEnvironment({ ...process.env, ...this.env })
  }

  readonly rest = restOf(() => this.#app!.publicUrl(), KEY)

  async deploy(): Promise<void> {
    this.#repository = await agentRepository(path.join(this.dataDir, 'git'), 'agent')
    const [integration] = await this.rest('GET', '/v1/integrations/gitprovider/install')
    const deployment = await this.rest('POST', '/v2/deployments', {
      name: 'kept',
      source: 'gitprovider',
      source_config: { integration_id: integration.id, repo_url: this.#repository.url },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      access: 'public',
      secrets: [{ name: 'GREETING_TOKEN', value: 'kept as it was' }],
    })
    this.deploymentId = deployment.id
    expect((await this.rest('POST', '/v2/sessions', { api_key: KEY })).session.role).toBe('admin')
    const follower = new Follower(() => [this.#app!.publicUrl()], KEY, deployment.id)
    await follower.until((event) => event.to === 'DEPLOYED')
    await follower.close()
  }

  /** The agent's answer at its address; rejects while it doesn't answer. */
  async ask(target: string): Promise<string> {
    const { url } = await this.rest('GET', `/v2/deployments/${this.deploymentId}`)
    const response = await fetch(url + target)
    if (!response.ok) throw new Error(`the agent answered ${response.status}`)
    return response.text()
  }

  async databaseUri(): Promise<string> {
    return JSON.parse(await this.ask('/env')).DATABASE_URI
  }

  /** Removes everything, as on a new machine. */
  async lose(): Promise<void> {
    await this.stop()
    await rm(this.dataDir, { recursive: true, force: true })
  }

  async remove(): Promise<void> {
    await this.lose()
    await this.#repository?.remove()
  }
}

/** Writes 1, 2, 3, … into the agent's database until stopped; returns the last number. */
async function writeOn(uri: string): Promise<{ written(): number; stop(): Promise<void> }> {
  await asAdmin(uri, (client) => client.query('CREATE TABLE kept (n int PRIMARY KEY)'))
  let [written, over] = [0, false]
  const writing = asAdmin(uri, async (client) => {
    while (!over) await client.query('INSERT INTO kept VALUES ($1)', [++written])
  })
  return {
    written: () => written,
    async stop() {
      over = true
      await writing
    },
  }
}

/** The numbers in the agent's database. */
const numbers = (uri: string) =>
  asAdmin(uri, async (client) => (await client.query('SELECT n FROM kept ORDER BY n')).rows.map(({ n }) => n as number))

/** Checks a restore of `old`, of which `before` numbers were written when the backup began. */
async function expectAllBack(restored: Installation, before: number): Promise<void> {
  const deployment = () => restored.rest('GET', `/v2/deployments/${restored.deploymentId}`)
  await expect
    .poll(async () => ({ said: await restored.ask('/').catch(String), health: (await deployment()).health }), PATIENT)
    .toMatchObject({ said: 'Hello\n' })
  expect(await deployment()).toMatchObject({ name: 'kept', status: 'READY' })
  const revisions = await restored.rest('GET', `/v2/deployments/${restored.deploymentId}/revisions`)
  expect(revisions.resources).toHaveLength(1)
  expect(JSON.parse(await restored.ask('/env'))).toMatchObject({ GREETING_TOKEN: 'kept as it was' })
  // sessions that were ended since the backup must not return
  expect((await restored.rest('GET', '/v2/sessions')).resources).toEqual([])
  // all numbers from before, and of the later ones none without its predecessor
  const found = await numbers(await restored.databaseUri())
  expect(found).toEqual(found.map((_, index) => index + 1))
  expect(found.length).toBeGreaterThanOrEqual(before)
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-backup-'))
  await chmod(folder, 0o755)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('on the embedded Postgres', () => {
  const installation = new Installation()
  const backup = () => path.join(folder, 'embedded')
  let before = 0
  beforeAll(async () => {
    await installation.start()
    await installation.deploy()
  })
  afterAll(() => installation.remove())

  test('a backup is made while the agent writes, and only its owner can read it', async () => {
    const writer = await writeOn(await installation.databaseUri())
    await expect.poll(writer.written).toBeGreaterThan(100)
    before = writer.written() - 1
    const made = await cli(['server', 'backup', backup()], installation.env)
    await writer.stop()
    expect(made, made.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('is complete') })
    expect(writer.written()).toBeGreaterThan(before + 1)
    expect(fs.statSync(backup()).mode & 0o777).toBe(0o700)
    expect(await installation.ask('/')).toBe('Hello\n')
    // nothing else remains
    expect(fs.readdirSync(folder)).toEqual(['embedded'])
  })

  test('a second backup needs another name', async () => {
    await expect(installation.backUp(backup())).rejects.toThrow(`${backup()} is there already: name a new folder.`)
  })

  test('a restore refuses a DATA_DIR that is in use', async () => {
    await expect(installation.restore(backup())).rejects.toThrow(
      'is not empty: stop the server with its agents and move the folder away.',
    )
    expect(await installation.ask('/')).toBe('Hello\n')
  })

  test('a killed restore lets no server start, and the next restore brings everything back', async () => {
    await installation.lose()
    const killed = run('cli', ['server', 'restore', backup()], installation.env)
    await expect.poll(() => fs.existsSync(path.join(installation.dataDir, 'restore-unfinished')), PATIENT).toBe(true)
    killed.child.kill('SIGKILL')
    await killed.ended
    await expect(installation.start()).rejects.toThrow(
      `A restore into ${installation.dataDir} was not finished: run \`restore\` again.`,
    )
    await installation.restore(backup())
    await installation.start()
    await expectAllBack(installation, before)
  })

  test('a restored deployment can be changed, and rolls back to the revision from before the backup without a build', async () => {
    const at = `/v2/deployments/${installation.deploymentId}`
    const [first] = (await installation.rest('GET', `${at}/revisions`)).resources
    const token = async () => JSON.parse(await installation.ask('/env')).GREETING_TOKEN
    const ended = (id: string) => installation.rest('GET', `${at}/revisions/${id}?wait=60`)

    const changed = await installation.rest('PATCH', at, {
      source_revision_config: { repo_ref: 'main' },
      secrets: [{ name: 'GREETING_TOKEN', value: 'changed after the restore' }],
    })
    expect(changed.latest_revision_id).not.toBe(first.id)
    expect(await ended(changed.latest_revision_id)).toMatchObject({ status: 'DEPLOYED' })
    expect(await token()).toBe('changed after the restore')

    await installation.rest('POST', `${at}/revisions/${first.id}/redeploy`)
    const back = await ended(first.id)
    expect(back).toMatchObject({ status: 'DEPLOYED', attempt: 2 })
    expect(await token()).toBe('kept as it was')
    const { logs } = await installation.rest('GET', `${at}/revisions/${first.id}/logs?type=build`)
    expect(logs.filter((line: { timestamp: string }) => line.timestamp > changed.updated_at)).toEqual([])
  })
})

const programs = ownPrograms()

describe.skipIf(programs === null)('on an operator’s Postgres with pg_dump', () => {
  const SECRETS_KEYS = `k:${Buffer.alloc(32, 3).toString('base64')}`
  let postgres: OwnPostgres
  let installation: Installation
  beforeAll(async () => {
    postgres = await startOwnPostgres(programs!)
    installation = new Installation({
      DATABASE_URL: postgres.url,
      SECRETS_KEYS,
      PATH: `${programs}:${process.env.PATH}`,
    })
    await installation.start()
    await installation.deploy()
  })
  afterAll(async () => {
    await installation?.remove()
    await postgres?.stop()
  })

  test('databases, roles and files are restored on an empty Postgres and in an empty DATA_DIR', async () => {
    const backup = path.join(folder, 'own')
    const writer = await writeOn(await installation.databaseUri())
    await expect.poll(writer.written).toBeGreaterThan(100)
    const before = writer.written() - 1
    expect(await installation.backUp(backup)).toMatchObject({ databases: 'dumps', keys: false })
    await writer.stop()

    await installation.lose()
    await expect(installation.restore(backup)).rejects.toThrow('drop it and create it again')
    expect(fs.existsSync(installation.dataDir)).toBe(false)

    await postgres.empty()
    await installation.restore(backup)
    await installation.start()
    await expectAllBack(installation, before)
    await installation.stop()

    // another Postgres can read the dumps too
    const embedded = new Installation({ SECRETS_KEYS, PATH: installation.env.PATH! })
    onTestFinished(() => embedded.remove())
    embedded.deploymentId = installation.deploymentId
    await embedded.restore(backup)
    await embedded.start()
    await expectAllBack(embedded, before)
  })
})
