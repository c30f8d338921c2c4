// A deployment from before names gets a name: a real server with its worker, and the command line.
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { cli } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'

let app: TestApp
let worker: TestApp
let repository: AgentRepository
let id: string
let before: string

const show = async () => (await app.rest('GET', `/v2/deployments/${id}`)).body
const name = (...args: string[]) =>
  cli(['server', 'addresses', 'name', ...args, '--json'], {
    DATABASE_URL: app.databaseUrl,
    DATA_DIR: app.dataDir,
    SECRETS_KEYS: app.secretsKeys,
  })

beforeAll(async () => {
  app = await testApp()
  repository = await agentRepository(path.join(app.dataDir, 'git'), 'agent')
  await repository.push('still here')
  ;({ id } = await gitDeployment(app, { name: 'old', access: 'public', source_config: { repo_url: repository.url } }))
  await app.app.core.db.deployment.update({ where: { id }, data: { addressName: null } })
  worker = await testApp({ beside: app, settings: { WORKER: 'on', APP_PORTS: '21980-21989' } })
  while ((await show()).url === null) await app.rest('GET', `/v2/deployments/${id}?wait=5`)
  before = (await show()).url
})
afterAll(async () => {
  await worker?.close()
  await app?.close()
  await repository?.remove()
})

test('a wrong ID, and no ID, are refused', async () => {
  expect(await name('nonsense')).toMatchObject({ code: 2 })
  expect(await name()).toMatchObject({ code: 2 })
  expect(await name('0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1')).toMatchObject({ code: 2 })
})

test('a running agent moves from its port to a name, without a rollout', async () => {
  expect(before).toMatch(/^http:\/\/127\.0\.0\.1:2198\d$/)
  expect(await (await fetch(before)).text()).toContain('still here')
  const moved = await name('--all')
  expect(moved.code, moved.stderr).toBe(0)
  expect(JSON.parse(moved.stdout).deployments).toEqual([{ id, name: 'old', address_name: 'old' }])
  await expect.poll(async () => (await show()).url).toMatch(/^http:\/\/old\.localhost:\d+$/)
  const { url, latest_revision_id } = await show()
  expect(await (await fetch(url)).text()).toContain('still here')
  await expect(fetch(before)).rejects.toThrow()
  expect((await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources).toHaveLength(1)
  expect((await show()).latest_revision_id).toBe(latest_revision_id)
  expect(JSON.parse((await name('--all')).stdout).deployments).toEqual([])
})
