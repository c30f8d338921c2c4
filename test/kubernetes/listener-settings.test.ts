/** An operator's settings in a cluster: default resources under a quota, patches of pods, and classes. */
import { beforeAll, expect, test } from 'vitest'
import { renderOptions } from '../../src/listener/cluster-runtime.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { options } from './render-support.ts'
import { eventually, runOf, serving, useSite, V1 } from './runtime-support.ts'

const { defaults } = renderOptions(readConfig({}))
const site = useSite({ render: { ...options, defaults } })
beforeAll(async () => {
  const hard = { 'requests.cpu': '6', 'requests.memory': '8Gi', 'limits.cpu': '40', 'limits.memory': '40Gi' }
  await site.core.createNamespacedResourceQuota({
    namespace: site.namespace,
    body: { metadata: { name: 'compute' }, spec: { hard } },
  })
})

const SPEC = { queue_min_scale: 1, queue_max_scale: 1, sidecars: [{ name: 'beside', image: V1 }] }

test('a deployment without resources gets defaults in a namespace with a compute quota, and the log lists them', async () => {
  const tenant = await serving(site, { spec: SPEC })
  for (const component of ['server', 'queue', 'database', 'cache']) {
    const [pod] = await tenant.pods(component)
    for (const { resources } of pod!.spec!.containers)
      expect(Object.keys(resources!.requests!).sort()).toEqual(['cpu', 'memory'])
  }
  // the pause before SIGTERM uses the mechanism that the cluster supports
  const [server] = await tenant.pods()
  const preStop = site.test.minor >= 30 ? { sleep: { seconds: 10 } } : { exec: { command: ['sleep', '10'] } }
  expect(server!.spec!.containers[0]!.lifecycle).toEqual({ preStop })
  await tenant.log.seen(/The listener’s defaults apply, .*server: cpu 0\.2/)
})

test('a patch replaces the pods of its component once, and a manual change of the patched field is undone', async () => {
  const tenant = await serving(site, { spec: SPEC })
  const before = {
    server: await tenant.uids(),
    queue: await tenant.uids('queue'),
    database: await tenant.uids('database'),
  }
  const patches = {
    server: { spec: { containers: [{ name: 'agent', env: [{ name: 'HTTPS_PROXY', value: 'http://p' }] }] } },
  }
  const { runtime } = await site.another({ render: { ...options, defaults, patches } })
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  const proxy = async () => {
    const { containers } = (await other.server()).spec.template.spec
    return containers[0].env.find(({ name }: { name: string }) => name === 'HTTPS_PROXY')?.value
  }
  const rolledOut = async () => {
    const uids = await other.uids()
    return uids.length === 1 && uids[0] !== before.server[0] && runtime.health(other.id)?.ready === 1
  }
  await eventually(rolledOut)
  expect(await proxy()).toBe('http://p')
  expect(await other.uids('queue')).toEqual(before.queue)
  expect(await other.uids('database')).toEqual(before.database)
  const server = await other.server()
  const spec = {
    template: { spec: { containers: [{ name: 'agent', env: [{ name: 'HTTPS_PROXY', value: 'http://q' }] }] } },
  }
  await site.objects.patch('apps/v1', 'Deployment', site.namespace, server.metadata.name, { spec })
  await expect.poll(proxy).toBe('http://p')
})

test('a class replaces pods, and when the settings lose the class, the pods keep running and health reports why', async () => {
  const tenant = await serving(site, { spec: SPEC })
  const before = await tenant.uids()
  const spec = { class: 'gpu' }
  const run = runOf(tenant.run!.revision, { spec })
  tenant.run = run
  tenant.ensure()
  await eventually(async () => {
    const uids = await tenant.uids()
    return uids.length === 1 && uids[0] !== before[0] && tenant.runtime.health(tenant.id)?.ready === 1
  })
  const [server] = await tenant.pods()
  expect(server!.spec!.tolerations).toContainEqual({ key: 'gpu', operator: 'Exists' })

  const { runtime } = await site.another({ render: { ...options, defaults, classes: { cpu: {} } } })
  const other = tenant.takenOver(runtime, '2')
  other.run = run
  other.ensure()
  await expect.poll(() => runtime.health(other.id)?.reason).toBe('CONFIG_INVALID')
  expect(runtime.health(other.id)?.message).toMatch(/^Class gpu is not among POD_CLASSES of the listener: cpu\./)
  await expect(other.prepare(other.revision(V1), { spec })).rejects.toMatchObject({ reason: 'CONFIG_INVALID' })
  expect((await other.pods()).map(({ metadata }) => metadata!.uid)).toContain(server!.metadata!.uid)
})
