/** Messages and reasons while a rollout waits, and while ready pods get no traffic. */
import type { V1ContainerStatus, V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectCluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import type { LiveObject } from '../../src/dataplane/kubernetes/objects/types.ts'
import { servicesWithoutEndpoints } from '../../src/dataplane/kubernetes/rollout/endpoints.ts'
import { GracePeriods } from '../../src/dataplane/kubernetes/rollout/problem.ts'
import { stuckOf } from '../../src/dataplane/kubernetes/rollout/warning-events.ts'
import type { Progress } from '../../src/domain/protocol/protocol.ts'
import { LISTENER_RULES } from '../support/chart.ts'
import { type KubernetesProxy, proxyKubeconfig } from '../support/kubernetes/proxy.ts'
import { image, never, openSite, type Site, serving, stepOf, Tenant } from './runtime-support.ts'

let site: Site
let proxy: KubernetesProxy
beforeAll(async () => {
  const kubeconfig = async (file: string) => {
    const made = await proxyKubeconfig(file)
    proxy = made.proxy
    return made.kubeconfig
  }
  site = await openSite({ kubeconfig, failAfterMs: 1500 }, { call: 1000, firstRetry: 20, longestRetry: 200 })
})
afterAll(async () => {
  await site.close()
  await proxy.close()
})

// only a stand-in can delay a pod or a controller
const heldBack = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

/** Starts a deploy that appends its progress to `told`. */
function rollout(tenant: Tenant, tag: string, told: (Progress | null)[], signal = never) {
  const step = stepOf('DEPLOY', tenant.revision(image(tag)))
  return tenant.runtime.deploy(tenant.claim, step, tenant.log, signal, (progress) => told.push(progress))
}

async function provisioned(): Promise<Tenant> {
  const tenant = new Tenant(site)
  await tenant.provision()
  return tenant
}

test('a rollout reports that it waits for the database’s creation', async () => {
  const tenant = new Tenant(site)
  const told: (Progress | null)[] = []
  await site.runtime.provision(tenant.claim, stepOf('PROVISION', null), never, (progress) => told.push(progress))
  expect(told[0]).toMatchObject({ reason: 'ROLLING_OUT' })
  expect(told).toContainEqual({ reason: 'DATABASE_UNAVAILABLE', message: expect.stringMatching(/(database|cache): /) })
})

heldBack(
  'a rollout immediately reports what it waits for, health reports the same, and an API server outage is reported too',
  async () => {
    const tenant = await provisioned()
    const told: (Progress | null)[] = []
    const abort = new AbortController()
    const failing = rollout(tenant, 'slow', told, abort.signal).catch(() => undefined)
    const last = () => told.at(-1)
    await expect.poll(() => last()?.reason).toBe('WAITING_FOR_HEALTH')
    expect(last()?.message).toMatch(/server: 0 of 1 replicas are ready; pod .* container agent runs, but is not ready/)
    expect(site.runtime.health(tenant.id)).toMatchObject({ ready: 0, desired: 1, ...last() })
    proxy.cut()
    await expect.poll(() => last()?.reason).toBe('CLUSTER_UNREACHABLE')
    expect(site.runtime.health(tenant.id)).toMatchObject({ reason: 'CLUSTER_UNREACHABLE' })
    proxy.heal()
    await expect.poll(() => last()?.reason).toBe('WAITING_FOR_HEALTH')
    abort.abort(new Error('enough'))
    await failing
  },
)

test('a problem is reported before it fails the rollout, and the failure has the same reason', async () => {
  const tenant = await provisioned()
  const told: (Progress | null)[] = []
  await expect(rollout(tenant, 'bad', told)).rejects.toMatchObject({ reason: 'IMAGE_PULL_FAILED' })
  expect(told.map((progress) => progress?.reason)).toContain('IMAGE_PULL_FAILED')
})

heldBack('a rollout that waits for its agent until the deadline fails with that reason', async () => {
  const tenant = await provisioned()
  const deploying = tenant.prepare(tenant.revision(image('slow')), { deadlineMs: 1500 })
  await expect(deploying).rejects.toMatchObject({ reason: 'HEALTH_CHECK_TIMED_OUT' })
})

const noEndpoints = 'health reports a Service without endpoints although its pods are ready, with 0 ready replicas'
heldBack(noEndpoints, async ({ skip }) => {
  skip(site.test.minor < 21, 'EndpointSlices are there from 1.21 on')
  const tenant = await provisioned()
  await tenant.deploy(tenant.revision(image('1')))
  const health = () => site.runtime.health(tenant.id)
  await expect.poll(() => health()?.ready).toBe(1)
  // the cluster's controllers lag: the new pod is ready, but no Service includes it
  site.test.standIn!.holdEndpoints(true)
  const [pod] = await tenant.pods()
  await site.core.deleteNamespacedPod({ namespace: site.namespace, name: pod!.metadata!.name! })
  await expect.poll(health).toEqual({
    ready: 0,
    desired: 1,
    reason: 'NO_ENDPOINTS',
    message: `The Service ${tenant.names.base} has no endpoints, although 1 server pod is ready: no request reaches them`,
  })
  site.test.standIn!.holdEndpoints(false)
  await expect.poll(health).toEqual({ ready: 1, desired: 1, reason: null, message: null })
})

test('a listener with a Role of an earlier version works, and logs once what it can’t see', async () => {
  const namespace = await site.test.createNamespace()
  const rules = LISTENER_RULES.filter(({ resources }) => !resources.includes('endpointslices'))
  const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [namespace], rules })
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
  const cluster = await connectCluster({ kubeconfig, log, times: { relist: 50 } })
  const { runtime } = await site.another({ namespace, cluster })
  const tenant = await serving({ ...site, namespace, runtime })
  await expect.poll(() => runtime.health(tenant.id)?.ready).toBe(1)
  expect(cluster.endpoints(namespace, tenant.id)).toBeNull()
  expect(cluster.problem()).toBeNull()
  expect(runtime.health(tenant.id)).toMatchObject({ ready: 1, message: null })
  const told = lines.map((line) => JSON.parse(line).msg)
  // clusters before 1.21 also lack PodDisruptionBudgets, with a log line about it
  expect(told.filter((line) => site.test.minor >= 21 || !line.startsWith('poddisruptionbudgets'))).toEqual([
    'endpointslices are not watched: health can’t detect a Service without endpoints',
  ])
  await cluster.close()
})

test('a running pod that is not ready has its probe’s events looked up, and those don’t fail the rollout', () => {
  const running = { ...pod(false), spec: { nodeName: 'node-1', containers: [] } }
  const containerStatuses = [{ name: 'agent', state: { running: {} } }] as unknown as V1ContainerStatus[]
  const unready = [{ ...running, status: { ...running.status, containerStatuses } }]
  const [stuck] = stuckOf('server', { ...service('server'), kind: 'Deployment' }, unready, unready, 1000)
  expect(stuck).toMatchObject({ uid: 'p', reason: 'WAITING_FOR_HEALTH', graceMs: Number.POSITIVE_INFINITY })
  const problem = { ...stuck!, key: 'k', message: '' }
  expect(new GracePeriods().check([problem], 0).failed).toBeNull()
})

test('a token edited by hand stops the holder’s writes, and health reports it', async () => {
  const tenant = await provisioned()
  await tenant.deploy(tenant.revision(image('1')))
  const { base: name } = tenant.names
  const change = { metadata: { annotations: { 'pilothouse.dev/token': '99' } }, spec: { selector: { evil: 'yes' } } }
  await site.objects.patch('v1', 'Service', site.namespace, name, change)
  await expect.poll(() => site.runtime.health(tenant.id)?.reason).toBe('WORKER_LOST')
  expect(site.runtime.health(tenant.id)?.message).toMatch(/Service ph-.* was last written by a newer holder/)
})

test('health reports a volume that is deleted while in use', async () => {
  const tenant = await provisioned()
  await tenant.deploy(tenant.revision(image('1')))
  const { database: name } = tenant.names
  await site.core.deleteNamespacedPersistentVolumeClaim({ namespace: site.namespace, name })
  await expect.poll(() => site.runtime.health(tenant.id)?.reason).toBe('CHANGED_BY_OTHERS')
  expect(site.runtime.health(tenant.id)?.message).toMatch(
    /Another program or user deleted PersistentVolumeClaim\/ph-.*still terminating/,
  )
})

const service = (component: string): LiveObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: component,
    namespace: 'n',
    uid: component,
    resourceVersion: '1',
    labels: { 'app.kubernetes.io/component': component },
  },
})
const pod = (ready: boolean): V1Pod => ({
  metadata: { uid: 'p', labels: { 'app.kubernetes.io/component': 'cache' } },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})
const slice = (endpoints: V1EndpointSlice['endpoints']): V1EndpointSlice => ({
  metadata: { labels: { 'kubernetes.io/service-name': 'cache' } },
  addressType: 'IPv4',
  endpoints,
})

test.each<[string, boolean, V1EndpointSlice[] | null, boolean]>([
  ['its slices have no endpoint', true, [slice([]), slice(undefined as never)], true],
  ['its endpoints are not ready', true, [slice([{ addresses: ['a'], conditions: { ready: false } }])], true],
  ['its endpoints belong to deleted pods', true, [slice([{ addresses: ['a'], targetRef: { uid: 'x' } }])], true],
  [
    'one of its slices leads to a pod',
    true,
    [slice([]), slice([{ addresses: ['a'], targetRef: { uid: 'p' } }])],
    false,
  ],
  ['its endpoint has no ready condition', true, [slice([{ addresses: ['a'] }])], false],
  ['its pod is not ready', false, [slice([])], false],
  ['it has no slices yet', true, [], false],
  ['endpoints are not watched', true, null, false],
])('the missing endpoints of a Service are reported or not when %s', (_, ready, slices, nowhere) => {
  const found = servicesWithoutEndpoints([service('cache')], [pod(ready)], slices)
  expect(found.map(({ component, reason }) => [component, reason])).toEqual(nowhere ? [['cache', 'NO_ENDPOINTS']] : [])
})
