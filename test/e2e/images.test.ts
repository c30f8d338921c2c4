/**
 * From a push to pods: a server on a cluster builds images with a podman stand-in, pushes them to a registry that
 * verifies its tokens, and rolls out exactly the built image. Another server continues when it is killed.
 */
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { type ImagePlace, openImagePlace } from '../support/engine/image-place.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { adminView } from '../support/kubernetes/objects.ts'
import { type RunningServer, startServer } from '../support/process.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let place: ImagePlace
/** A server without a worker. */
let app: TestApp
const servers: RunningServer[] = []

beforeAll(async () => {
  place = await openImagePlace()
  app = await testApp({ settings: { ...place.settings, WORKER: 'off' } })
})
afterAll(async () => {
  for (const server of servers) server.child.kill('SIGTERM')
  await Promise.all(servers.map(({ ended }) => ended))
  await app?.close()
  await place?.close()
})

/** Another process on the same database, with a worker. */
async function worker(name: string): Promise<RunningServer> {
  const server = await startServer({
    ...place.settings,
    DATABASE_URL: app.databaseUrl,
    DATA_DIR: path.join(place.root, name),
    SECRETS_KEYS: app.secretsKeys,
    WORKER: 'on',
    PORT: '0',
    LOG_LEVEL: 'warn',
  })
  servers.push(server)
  return server
}

const repository = (id: string) => `${app.tenant.workspaceId}/${id}`
const digests = (id: string) => new Set(Object.values(place.registry.tags(repository(id))))
const pushed = () => place.registry.requests.filter((request) => request.startsWith('PUT')).length

/** Whether the pods of a deployment get a pull credential for their own images only. */
async function pulls(id: string): Promise<boolean> {
  const view = adminView(place.cluster.kubeconfig)
  const server = await view.get('apps/v1', 'Deployment', place.namespace, `ph-${id}-server`)
  const [{ name }] = server.spec.template.spec.imagePullSecrets
  const secret = await view.get('v1', 'Secret', place.namespace, name)
  const { auths } = JSON.parse(Buffer.from(secret.data['.dockerconfigjson'], 'base64').toString())
  const { auth } = auths[place.registry.host]
  const scope = [repository(id), 'library/other'].map((each) => `scope=repository:${each}:pull,push`).join('&')
  const answer = await fetch(`${app.url}/v1/registry/token?${scope}`, { headers: { authorization: `Basic ${auth}` } })
  const { token } = (await answer.json()) as { token: string }
  expect((await place.tokens.verify(token))?.access).toEqual([{ repository: repository(id), actions: ['pull'] }])
  const forged = Buffer.from(`${Buffer.from(auth, 'base64').toString().slice(0, -4)}AAAA`).toString('base64')
  const refused = await fetch(`${app.url}/v1/registry/token?${scope}`, {
    headers: { authorization: `Basic ${forged}` },
  })
  return refused.status === 401
}

test('a push becomes pods with exactly the built image, also if its server is killed during the build; a rollback builds nothing', async () => {
  const [begun, free] = [path.join(place.root, 'begun'), path.join(place.root, 'free')]
  const url = place.push(`test -e ${free} || { touch ${begun}; exec sleep 4714; }`)
  const first = await worker('first')
  const body = gitBody(app.tenant, {
    source_config: {
      repo_url: url,
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
  const image = `${place.registry.host}/${repository(id)}@${digest}`
  expect(await place.imageInPods(id)).toBe(image)
  expect(await pulls(id)).toBe(true)

  place.push('echo two')
  const before = follower.events.length
  const { status } = await app.rest('POST', `/v2/deployments/${id}/revisions`, {
    body: { source_revision_config: { repo_ref: 'main' } },
  })
  expect(status).toBe(201)
  expect((await follower.until(ended, before)).to).toBe('DEPLOYED')
  expect(await place.imageInPods(id)).not.toBe(image)
  expect(digests(id).size).toBe(2)

  const builds = pushed()
  const at = follower.events.length
  await app.rest('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`)
  expect((await follower.until(ended, at)).to).toBe('DEPLOYED')
  expect(await place.imageInPods(id)).toBe(image)
  expect(pushed()).toBe(builds)

  await app.rest('DELETE', `/v2/deployments/${id}`)
  await expect.poll(async () => (await app.rest('GET', `/v2/deployments/${id}`)).status, { timeout: 60_000 }).toBe(404)
  expect(digests(id).size).toBe(0)
  await follower.close()
})
