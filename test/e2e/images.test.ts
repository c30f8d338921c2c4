/**
 * From a push to pods: a server that works on a cluster builds images, with a stand-in for podman, pushes them to a registry
 * that checks its tokens, and rolls out exactly what it has built. Its neighbour goes on when it is killed in the middle.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createRegistry } from '../../src/adapters/registry/create-registry.ts'
import { coversRepository, type Registry } from '../../src/domain/ports/registry.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { registrySettings } from '../registry/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { BASE, testEngine } from '../support/engine/engine.ts'
import { type TestRegistry, testRegistry } from '../support/engine/registry.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { adminView } from '../support/kubernetes/objects.ts'
import { type RunningServer, startServer } from '../support/process.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let root: string
let cluster: TestCluster
let namespace: string
let registry: TestRegistry
/** checks what the servers have signed */
let tokens: Registry
let settings: Record<string, string>
/** answers, and does no work */
let app: TestApp
const servers: RunningServer[] = []

beforeAll(async () => {
  root = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-push-'))
  mkdirSync(path.join(root, 'engine'))
  const engine = testEngine(path.join(root, 'engine'))
  registry = await testRegistry(async (token, repository, action) => {
    const access = (token && (await tokens.verify(token))?.access) || []
    return access.some((one) => coversRepository(one.repository, repository) && one.actions.includes(action))
  })
  const { folder, expired, ...signing } = registrySettings(`http://${registry.host}`)
  tokens = (await createRegistry(readConfig(signing)))!
  cluster = await openTestCluster()
  namespace = await cluster.createNamespace()
  settings = {
    ...signing,
    ...engine.env,
    GIT_DIRECTORY: path.join(root, 'git'),
    RUNTIME: 'kubernetes',
    K8S_NAMESPACE: namespace,
    KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
    BUILDER: engine.name,
    BUILD_FREE_DISK_MB: '0',
    LEASE_SECONDS: '3',
    SWEEP_SECONDS: '1',
  }
  app = await testApp({ settings: { ...settings, WORKER: 'off' } })
})
afterAll(async () => {
  for (const server of servers) server.child.kill('SIGTERM')
  await Promise.all(servers.map(({ ended }) => ended))
  await app?.close()
  await cluster?.close()
  registry?.close()
  rmSync(root, { recursive: true, force: true })
})

/** Another process on the same database, that works. */
async function worker(name: string): Promise<RunningServer> {
  const server = await startServer({
    ...settings,
    DATABASE_URL: app.databaseUrl,
    DATA_DIR: path.join(root, name),
    SECRETS_KEYS: app.secretsKeys,
    WORKER: 'on',
    PORT: '0',
    LOG_LEVEL: 'warn',
  })
  servers.push(server)
  return server
}

/** Commits a Dockerfile with this command and pushes it. */
function push(command: string): void {
  const [bare, work] = [path.join(root, 'git/acme/agent.git'), path.join(root, 'work')]
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], { cwd: work })
  if (!existsSync(work)) {
    mkdirSync(work)
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare])
    git('init', '--quiet', '--initial-branch=main')
    writeFileSync(path.join(work, 'graph.json'), '{"graphs": {"agent": "./agent.js:graph"}}')
  }
  writeFileSync(path.join(work, 'Dockerfile'), `FROM ${BASE}\nRUN ${command}\nCMD ["sh"]\n`)
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Another')
  git('push', '--quiet', bare, 'main')
}

const repository = (id: string) => `${app.tenant.workspaceId}/${id}`
const digests = (id: string) => new Set(Object.values(registry.tags(repository(id))))
const pushed = () => registry.requests.filter((request) => request.startsWith('PUT')).length

async function imageInPod(id: string): Promise<string> {
  const server = await adminView(cluster.kubeconfig).get('apps/v1', 'Deployment', namespace, `ph-${id}-server`)
  return server.spec.template.spec.containers[0].image
}

/** Whether the pods of a deployment are given what the registry's realm takes, for their own images alone. */
async function pulls(id: string): Promise<boolean> {
  const view = adminView(cluster.kubeconfig)
  const server = await view.get('apps/v1', 'Deployment', namespace, `ph-${id}-server`)
  const [{ name }] = server.spec.template.spec.imagePullSecrets
  const secret = await view.get('v1', 'Secret', namespace, name)
  const { auths } = JSON.parse(Buffer.from(secret.data['.dockerconfigjson'], 'base64').toString())
  const { auth } = auths[registry.host]
  const scope = [repository(id), 'library/other'].map((each) => `scope=repository:${each}:pull,push`).join('&')
  const answer = await fetch(`${app.url}/v1/registry/token?${scope}`, { headers: { authorization: `Basic ${auth}` } })
  const { token } = (await answer.json()) as { token: string }
  expect((await tokens.verify(token))?.access).toEqual([{ repository: repository(id), actions: ['pull'] }])
  const forged = Buffer.from(`${Buffer.from(auth, 'base64').toString().slice(0, -4)}AAAA`).toString('base64')
  const refused = await fetch(`${app.url}/v1/registry/token?${scope}`, {
    headers: { authorization: `Basic ${forged}` },
  })
  return refused.status === 401
}

test('a push becomes pods with exactly the image that was built, also if its server is killed in the middle; a rollback builds nothing', async () => {
  const [begun, free] = [path.join(root, 'begun'), path.join(root, 'free')]
  push(`test -e ${free} || { touch ${begun}; exec sleep 4714; }`)
  const first = await worker('first')
  const body = gitBody(app.tenant, {
    source_config: {
      repo_url: `file://${root}/git/acme/agent.git`,
      resource_spec: { queue_min_scale: 0, queue_max_scale: 0 },
    },
  })
  const { body: created } = await app.rest('POST', '/v2/deployments', { body })
  const { id, latest_revision_id: revisionId } = created
  const follower = new Follower(() => [app.url], app.keys.admin, id)
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true)
  first.child.kill('SIGKILL')
  writeFileSync(free, '')
  await worker('second')
  const ended = ({ to }: { to: string }) => /FAILED|DEPLOYED/.test(to)
  const { to, message } = await follower.until(ended)
  expect([to, message]).toEqual(['DEPLOYED', null])
  expect((await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources ?? []).toHaveLength(1)
  expect(digests(id).size).toBe(1)
  const [digest] = digests(id)
  const image = `${registry.host}/${repository(id)}@${digest}`
  expect(await imageInPod(id)).toBe(image)
  expect(await pulls(id)).toBe(true)

  push('echo two')
  const before = follower.events.length
  const { status } = await app.rest('POST', `/v2/deployments/${id}/revisions`, {
    body: { source_revision_config: { repo_ref: 'main' } },
  })
  expect(status).toBe(201)
  expect((await follower.until(ended, before)).to).toBe('DEPLOYED')
  expect(await imageInPod(id)).not.toBe(image)
  expect(digests(id).size).toBe(2)

  const builds = pushed()
  const at = follower.events.length
  await app.rest('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`)
  expect((await follower.until(ended, at)).to).toBe('DEPLOYED')
  expect(await imageInPod(id)).toBe(image)
  expect(pushed()).toBe(builds)

  await app.rest('DELETE', `/v2/deployments/${id}`)
  await expect.poll(async () => (await app.rest('GET', `/v2/deployments/${id}`)).status, { timeout: 60_000 }).toBe(404)
  expect(digests(id).size).toBe(0)
  await follower.close()
})
