/**
 * A server that works on a cluster itself (RUNTIME=kubernetes), without a listener, in a namespace with a compute
 * quota and the Pod Security Standard restricted.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { adminView } from '../support/kubernetes/objects.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let cluster: TestCluster
let app: TestApp
let namespace: string
beforeAll(async () => {
  cluster = await openTestCluster()
  namespace = await cluster.createNamespace({ 'pod-security.kubernetes.io/enforce': 'restricted' })
  await adminView(cluster.kubeconfig).create({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'compute', namespace },
    spec: { hard: { 'requests.cpu': '4', 'requests.memory': '8Gi', 'limits.cpu': '16', 'limits.memory': '32Gi' } },
  })
  app = await testApp({
    settings: {
      WORKER: 'on',
      RUNTIME: 'kubernetes',
      K8S_NAMESPACE: namespace,
      KUBECONFIG: await cluster.limitedKubeconfig({ namespaces: [namespace] }),
      INGRESS_DOMAIN: 'agents.example.com',
      APPS_URL: 'https://{name}.apps.example.com',
      DOOR_NAMESPACE: 'pilothouse',
      DOOR_SERVICE: 'pilothouse-door.pilothouse.svc.cluster.local:80',
      POD_SECURITY: 'restricted',
      POD_USER: '10001',
      POD_PATCHES: JSON.stringify({ server: { spec: { securityContext: { runAsUser: 10_002 } } } }),
    },
  })
})
afterAll(async () => {
  await app?.close()
  await cluster?.close()
})

/** Creates it and waits for the end of its first revision. */
async function ended(body: object): Promise<{ id: string; to: string; message: string | null }> {
  const answer = await app.rest('POST', '/v2/deployments', { body })
  expect(answer.status).toBe(201)
  const follower = new Follower(() => [app.url], app.keys.admin, answer.body.id)
  try {
    const { to, message } = await follower.until(({ to }) => /FAILED|DEPLOYED/.test(to))
    return { id: answer.body.id, to, message }
  } finally {
    await follower.close()
  }
}

const image = (name: string) => ({
  name,
  source: 'internal_container',
  source_config: { resource_spec: { queue_min_scale: 0, queue_max_scale: 0 } },
  source_revision_config: { image_uri: 'registry.example.com/agent:7' },
  secrets: [],
})

test('an image of the workspace is deployed with an address below INGRESS_DOMAIN, and is deleted without a trace', async () => {
  const { id, to, message } = await ended(image('Greeter No. 1'))
  expect([to, message]).toEqual(['DEPLOYED', null])
  const { body } = await app.rest('GET', `/v2/deployments/${id}`)
  expect(body.source_config.custom_url).toMatch(/^http:\/\/greeter-no-1-[0-9a-f]+\.agents\.example\.com$/)
  const ingress = await adminView(cluster.kubeconfig).get('networking.k8s.io/v1', 'Ingress', namespace, `ph-${id}`)
  expect(`http://${ingress.spec.rules[0].host}`).toBe(body.source_config.custom_url)
  expect(body.url).toBe(body.source_config.custom_url)
  const label = `pilothouse.dev/deployment-id=${id}`
  const pods = await adminView(cluster.kubeconfig).list('v1', 'Pod', namespace, label)
  const users = pods.map(({ metadata, spec }) => [
    metadata.labels['app.kubernetes.io/component'],
    spec.securityContext.runAsUser,
  ])
  expect(Object.fromEntries(users)).toEqual({ server: 10_002, database: 10_001, cache: 10_001 })
  await app.rest('DELETE', `/v2/deployments/${id}`)
  expect(await eventually(async () => (await app.rest('GET', `/v2/deployments/${id}`)).status === 404, 60_000)).toBe(
    true,
  )
})

test('behind a door a deployment has an address there, and the Ingress of a custom_url leads to the door', async () => {
  const { settings } = app.app.core
  settings.clusterDoor = { listeners: [], customUrls: true }
  try {
    const { id, to, message } = await ended(image('Greeter No. 2'))
    expect([to, message]).toEqual(['DEPLOYED', null])
    const { body } = await app.rest('GET', `/v2/deployments/${id}`)
    expect(body).toMatchObject({ url: 'https://greeter-no-2.apps.example.com', access: 'workspace' })
    const { source_config } = body
    // clients send what they got
    const again = await app.rest('PATCH', `/v2/deployments/${id}`, {
      body: { source_config: { custom_url: source_config.custom_url } },
    })
    expect(again.status, again.text).toBe(200)
    const view = adminView(cluster.kubeconfig)
    expect(await view.get('networking.k8s.io/v1', 'Ingress', namespace, `ph-${id}`)).toBeNull()
    expect(await view.get('networking.k8s.io/v1', 'NetworkPolicy', namespace, `ph-${id}-server`)).not.toBeNull()

    const custom_url = 'https://greeter.example.com'
    const custom = await ended({
      ...image('Greeter No. 3'),
      source: 'external_container',
      source_config: { custom_url },
    })
    expect([custom.to, custom.message]).toEqual(['DEPLOYED', null])
    const at = (kind: string, name: string) =>
      view.get(kind === 'Ingress' ? 'networking.k8s.io/v1' : 'v1', kind, namespace, name)
    const { spec } = await at('Ingress', `ph-${custom.id}`)
    expect(spec.rules[0]).toMatchObject({
      host: 'greeter.example.com',
      http: { paths: [{ backend: { service: { name: `ph-${custom.id}-door` } } }] },
    })
    expect((await at('Service', `ph-${custom.id}-door`)).spec.type).toBe('ExternalName')
  } finally {
    settings.clusterDoor = null
  }
})

test('a git source fails its build immediately without an engine or a registry, and names the setting', async () => {
  const { to, message } = await ended(gitBody(app.tenant))
  expect(to).toBe('BUILD_FAILED')
  expect(message).toMatch(/^(No container engine can build the image|REGISTRY_URL is not set)/)
})
