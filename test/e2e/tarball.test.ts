/**
 * A CI job without a git provider, on a real server with its worker: create, request an address, PUT the tarball,
 * PATCH, poll, use the agent. And the messages for tarballs that are refused.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { command } from '../client/support.ts'
import { eventually } from '../dataplane/support.ts'
import { newDataDir } from '../support/data-dir.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { restOf } from '../support/rest-of.ts'
import { tarballOf } from '../support/tarball.ts'

const KEY = 'cpk_tarball_admin_key'
const AGENT = fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url))
const dataDir = newDataDir()
let database: TestDatabase
let server: RunningServer

beforeAll(async () => {
  database = await testDatabase()
  // an unprivileged account must be able to pass through it
  await mkdir(dataDir, { mode: 0o711 })
  server = await startServer({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: KEY,
    RUNTIME: 'process',
    WORKER: 'on',
    APPS_PORT: '0',
    LOG_LEVEL: 'warn',
  })
})
afterAll(async () => {
  server?.child.kill('SIGTERM')
  await server?.ended
  await database?.drop()
  await rm(dataDir, { recursive: true, force: true })
})

const rest = restOf(() => server.url, KEY)

const create = (name: string) =>
  rest('POST', '/v2/deployments', {
    name,
    source: 'internal_source',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
    access: 'public',
  })

/** Uploads it, creates a revision of it, and waits for its end. */
async function release(deploymentId: string, bytes: Buffer) {
  const { upload_url, object_path } = await rest('POST', `/v2/deployments/${deploymentId}/upload-url`)
  const put = await fetch(upload_url, { method: 'PUT', body: new Uint8Array(bytes) })
  expect(put.ok).toBe(true)
  const { latest_revision_id } = await rest('PATCH', `/v2/deployments/${deploymentId}`, {
    source_revision_config: { source_tarball_path: object_path },
  })
  const target = `/v2/deployments/${deploymentId}/revisions/${latest_revision_id}`
  return eventually(async () => {
    const revision = await rest('GET', target)
    return /^DEPLOYED$|_FAILED$/.test(revision.status) && revision
  }, 60_000)
}

async function answer(deploymentId: string): Promise<string> {
  const { source_config } = await rest('GET', `/v2/deployments/${deploymentId}`)
  return (await fetch(source_config.custom_url)).text()
}

test('a client uploads a tarball, and its agent answers; the next tarball replaces it', async () => {
  const { id } = await create('from-ci')
  const first = await release(id, tarballOf(AGENT, { 'greeting.txt': 'Hello from CI\n' }))
  expect(first).toMatchObject({ status: 'DEPLOYED', source: 'internal_source' })
  expect(first.source_revision_config.repo_commit_sha ?? null).toBeNull()
  expect(await answer(id)).toContain('Hello from CI')
  const second = await release(id, tarballOf(AGENT, { 'greeting.txt': 'Hello again\n' }))
  expect(second.status).toBe('DEPLOYED')
  expect(await answer(id)).toContain('Hello again')
}, 60_000)

test('the command line deploys a folder without graphs, with its own health path', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-folder-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ scripts: { start: 'node server.js' } }))
  await writeFile(
    path.join(folder, 'server.js'),
    `require('node:http').createServer((request, response) => {
  response.statusCode = request.url === '/ok' ? 404 : 200
  response.end(request.url)
}).listen(process.env.PORT)`,
  )
  const given = ['--access', 'public', '--dir', folder, '--secret', 'PILOTHOUSE_HEALTH_PATH', '--json']
  const ran = await command(['deploy', 'no-graphs', ...given], {
    PILOTHOUSE_URL: server.url,
    CONTROL_PLANE_API_KEY: KEY,
    PILOTHOUSE_HEALTH_PATH: '/healthz',
  })
  expect(ran, ran.err).toMatchObject({ code: 0 })
  const { outcome, url } = JSON.parse(ran.out)
  expect(outcome).toBe('deployed')
  expect(await (await fetch(`${url}/healthz`)).text()).toBe('/healthz')
}, 60_000)
