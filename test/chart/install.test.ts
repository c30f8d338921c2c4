// The chart installed: in a cluster with the standard `restricted` (TEST_KUBECONFIG, or the stand-in), and as real servers.
import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node'
import { expect, test, vi } from 'vitest'
import { COMBINATIONS, chartObjects } from '../support/chart.ts'
import { testDatabase } from '../support/database.ts'
import { openTestCluster } from '../support/kubernetes/cluster.ts'
import { adminView } from '../support/kubernetes/objects.ts'
import { startServer, temporaryFolder } from '../support/process.ts'
import { useStarted } from '../support/started.ts'

vi.setConfig({ testTimeout: 60_000 })

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
type Any = any
/** kinds of operators, which a cluster may not have */
const CUSTOM = /^(monitoring\.coreos\.com|gateway\.networking\.k8s\.io)\//

const cluster = useStarted(() => openTestCluster())

test('a cluster accepts every object twice, and starts the pods of server, listener, door and builder', async () => {
  const standard = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  const namespace = await cluster.createNamespace(standard)
  const agents = await cluster.createNamespace()
  const everything = COMBINATIONS.everything as Any
  const values = {
    ...everything,
    image: { repository: 'registry.example.com/pilothouse', tag: '1' },
    server: {
      ...everything.server,
      kubernetes: { enabled: true, namespace: agents },
      // these name objects that a person creates
      ...{
        data: {},
        autoscaling: {},
        nodeSelector: {},
        priorityClassName: '',
        extraVolumes: [],
        extraVolumeMounts: [],
      },
    },
    listener: { ...everything.listener, namespaces: [agents], nodeSelector: {} },
  }
  const view = adminView(cluster.kubeconfig)
  for (const name of ['pilothouse', 'builder-key', 'door-token', 'registry-token', 'pilothouse-listener-2f5d3a1c9e11'])
    await view.create({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name } })
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfig)
  const api = KubernetesObjectApi.makeApiClient(config)
  const apply = (object: Any) =>
    api.patch(object, undefined, undefined, 'helm', true, PatchStrategy.ServerSideApply) as Promise<Any>
  const objects = chartObjects({ release: 'pilothouse', namespace, values }).filter(
    ({ apiVersion, metadata }) => !CUSTOM.test(apiVersion) && !metadata.annotations?.['helm.sh/hook'],
  )
  expect(objects.length).toBeGreaterThan(15)
  for (const object of objects) await apply(object)
  const deployments = () => view.list('apps/v1', 'Deployment', namespace)
  // the namespace admits the pods
  await expect
    .poll(async () => (await deployments()).map(({ metadata, status }) => [metadata.name, status?.replicas]).sort(), {
      timeout: 30_000,
    })
    .toEqual([
      ['pilothouse', 2],
      ['pilothouse-builder', 3],
      ['pilothouse-door', 2],
      ['pilothouse-listener-2f5d3a1c9e11', 2],
    ])
  for (const object of objects) await apply(object)
  expect((await deployments()).map(({ metadata }) => metadata.generation)).toEqual([1, 1, 1, 1])
})

test('two servers with the environment of their pods share a database, and answer the probes', async () => {
  const database = await testDatabase({ migrated: false })
  const secrets: Record<string, string> = {
    DATABASE_URL: database.url,
    SECRETS_KEYS: `k1:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: 'the-first-admin-key-of-the-secret',
  }
  const deployment = chartObjects({
    release: 'pilothouse',
    namespace: 'control',
    values: COMBINATIONS.minimal!,
  }).find(({ kind }) => kind === 'Deployment')
  const [container] = deployment.spec.template.spec.containers
  const environment: Record<string, string> = {
    ...secrets,
    ...Object.fromEntries(
      container.env.map(({ name, value, valueFrom }: Any) => [name, value ?? secrets[valueFrom.secretKeyRef.key]]),
    ),
  }
  const folders = [await temporaryFolder(), await temporaryFolder()]
  const servers = await Promise.all(
    folders.map(({ path }) => startServer({ ...environment, WORKER: 'on', DATA_DIR: path, PORT: '0', PUBLIC_URL: '' })),
  )
  try {
    for (const { url } of servers) {
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect((await fetch(`${url}${container[probe].httpGet.path}`)).status).toBe(200)
      const headers = { 'x-api-key': secrets.CONTROL_PLANE_API_KEY! }
      expect((await fetch(`${url}/v2/deployments`, { headers })).status).toBe(200)
    }
  } finally {
    for (const { child } of servers) child.kill('SIGTERM')
    const ends = await Promise.all(servers.map(({ ended }) => ended))
    await Promise.all(folders.map((folder) => folder.remove()))
    expect(ends.map(({ code }) => code)).toEqual([0, 0])
  }
})
