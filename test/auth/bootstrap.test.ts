/** The first start on an empty database (docs/api-rules.md#who-is-calling). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type App, buildApp } from '../../src/app/app.ts'
import { createLogger } from '../../src/app/logger.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/process.ts'

let database: TestDatabase
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let apps: App[]
let logged: string
beforeEach(async () => {
  database = await testDatabase()
  folder = await temporaryFolder()
  apps = []
  logged = ''
})
afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()))
  await database.drop()
  await folder.remove()
})

async function build(settings: Record<string, string> = {}): Promise<App> {
  const stream = {
    write: (line: string) => {
      logged += line
    },
  }
  const config = readConfig({
    PORT: '0',
    WORKER: 'off',
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    ...settings,
  })
  const app = await buildApp(config, { log: createLogger('debug', stream) })
  apps.push(app)
  return app
}

/** The status of a call with this key and without a tenant. */
const statusOf = async (app: App, key: string) =>
  (await app.fastify.inject({ method: 'GET', url: '/v2/deployments', headers: { 'x-api-key': key } })).statusCode

test('the first start creates an organization, a workspace, an integration and an admin key that needs no tenant', async () => {
  const app = await build()
  const { db, keyring } = app.core
  expect(await db.organization.findMany()).toMatchObject([{ plan: 'self_hosted_enterprise' }])
  const [workspace] = await db.workspace.findMany({ include: { eventCounter: true, integrations: true } })
  expect(workspace!.eventCounter).not.toBeNull()
  expect(workspace!.integrations).toMatchObject([{ kind: 'directory' }])
  expect(await db.apiKey.findMany()).toMatchObject([{ role: 'admin', workspaceId: workspace!.id, expiresAt: null }])
  expect(await db.installation.findMany()).toMatchObject([{ keyId: keyring.currentId }])
  expect(await statusOf(app, app.generatedKey!)).toBe(200)
})

test('the first start happens once, even if several servers start concurrently', async () => {
  const all = await Promise.all([build(), build(), build(), build()])
  expect(all.filter((app) => app.generatedKey !== null)).toHaveLength(1)
  const { db } = all[0]!.core
  expect(await db.organization.count()).toBe(1)
  expect(await db.workspace.count()).toBe(1)
  expect(await db.apiKey.count()).toBe(1)
  const key = all.find((app) => app.generatedKey)!.generatedKey!
  for (const app of all) expect(await statusOf(app, key)).toBe(200)
})

test('the first start uses the operator’s key, if given, and then shows none', async () => {
  const CONTROL_PLANE_API_KEY = 'an-operator-chose-this-one'
  const app = await build({ CONTROL_PLANE_API_KEY })
  expect(app.generatedKey).toBeNull()
  expect(await statusOf(app, CONTROL_PLANE_API_KEY)).toBe(200)
  // the operator's key may be short, so only a little of it is shown
  expect((await app.core.db.apiKey.findFirstOrThrow()).prefix).toBe('an-o')
  expect(logged).not.toContain('ignored')
})

test('a later start ignores another operator’s key and logs that', async () => {
  const first = await build({ CONTROL_PLANE_API_KEY: 'an-operator-chose-this-one' })
  await build({ CONTROL_PLANE_API_KEY: 'an-operator-chose-this-one' })
  expect(logged).not.toContain('ignored')
  const later = await build({ CONTROL_PLANE_API_KEY: 'another-one-was-chosen-later' })
  expect(logged).toContain('CONTROL_PLANE_API_KEY is ignored')
  expect(logged).not.toContain('another-one')
  expect(await statusOf(later, 'another-one-was-chosen-later')).toBe(401)
  expect(await statusOf(later, 'an-operator-chose-this-one')).toBe(200)
  expect(await first.core.db.apiKey.count()).toBe(1)
})
