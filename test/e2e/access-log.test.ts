// The access log through a real server, its door (under a separate account if the test is root), and an agent.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentUrl } from '../../src/client/find.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-access-log-'))
const file = path.join(folder, 'access.log')
const settings = { WORKER: 'on', APPS_PORT: '0', APPS_ACCESS_LOG: file }

let app: TestApp
let repository: AgentRepository
beforeAll(async () => {
  // only the server may create files here
  fs.chmodSync(folder, 0o755)
  const missing = { ...settings, APPS_ACCESS_LOG: path.join(folder, 'missing', 'access.log') }
  await expect(testApp({ settings: missing })).rejects.toThrow("APPS_ACCESS_LOG: the file can't be opened (ENOENT)")
  app = await testApp({ settings })
  repository = await agentRepository(path.join(app.dataDir, 'git'), 'agent')
})
afterAll(async () => {
  await app?.close()
  await repository?.remove()
  fs.rmSync(folder, { recursive: true })
})

interface Line {
  status: number
  path: string
  caller_workspace: string | null
  deployment_id: string
  deployment_name: string
  revision_id: string | null
}
const linesOf = (name: string): Line[] =>
  fs
    .readFileSync(name, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

test('requests to an agent are logged with its revision, also in a new file after a rotation', async () => {
  await repository.push('hello')
  const { id } = await gitDeployment(app, { source_config: { repo_url: repository.url } })
  const newest = async () => (await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources[0]
  await expect.poll(newest, { timeout: 60_000, interval: 100 }).toMatchObject({ status: 'DEPLOYED' })
  const { url, name } = (await app.rest('GET', `/v2/deployments/${id}`)).body
  const call = async (to: string, key: string) =>
    (await fetch(`${agentUrl(url)}${to}`, { headers: { 'x-api-key': key } })).status
  expect([await call('/ok?x=1', app.keys.viewer), await call('/two', 'cpk_wrong')]).toEqual([200, 401])
  await expect.poll(() => linesOf(file).length).toBe(2)
  const about = { deployment_id: id, deployment_name: name }
  expect(linesOf(file)).toMatchObject([
    {
      ...about,
      status: 200,
      path: `/~${name}/ok`,
      revision_id: (await newest()).id,
      caller_workspace: app.tenant.workspaceId,
    },
    { ...about, status: 401, revision_id: null, caller_workspace: null },
  ])

  fs.renameSync(file, `${file}.1`)
  const followed = async () => {
    await call('/three', app.keys.viewer)
    return fs.existsSync(file) && linesOf(file).length > 0
  }
  await expect.poll(followed, { timeout: 20_000, interval: 200 }).toBe(true)
  expect(fs.statSync(file).mode & 0o777).toBe(0o640)
  const metrics = async () => (await fetch(`${app.url}/metrics`)).text()
  expect(await metrics()).toContain('pilothouse_access_log_dropped_total 0')
})
