/**
 * From a REST call to pods: a real server, the real listener with the rights of its manifest, and a cluster: the
 * stand-in, or that of TEST_KUBECONFIG, where image tags `bad…` must never pull and `crash…` must crash.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { type ClusterPlace, type Deployed, openClusterPlace } from './cluster-place.ts'

const image = (tag: string) => `registry.example.com/acme/agent:${tag}`
/** More memory than any machine has, so the pod is never scheduled. */
const HUGE = { memory_mb: 900_000_000 }

// real pods of a real cluster take longer
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let place: ClusterPlace
beforeAll(async () => {
  place = await openClusterPlace()
  await Promise.all([place.startListener(), place.startListener()])
})
afterAll(() => place?.close())

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes as the API server presents them
type Any = any

/** The deployment's objects from the API server, without pods that are terminating. */
async function pods({ id }: Deployed): Promise<Any[]> {
  const all = await place.objects.list('v1', 'Pod', place.namespace, `pilothouse.dev/deployment-id=${id}`)
  return all.filter((pod: Any) => !pod.metadata.deletionTimestamp)
}
const ofComponent = (list: Any[], component: string) =>
  list.filter((object) => object.metadata.labels['app.kubernetes.io/component'] === component)
const uids = (list: Any[]) => list.map((object) => object.metadata.uid).sort()
const images = (list: Any[]) => [
  ...new Set(
    list.flatMap((pod) => pod.spec.containers.filter((c: Any) => c.name === 'agent').map((c: Any) => c.image)),
  ),
]
async function agents(deployed: Deployed): Promise<Any[]> {
  const all = await pods(deployed)
  return [...ofComponent(all, 'server'), ...ofComponent(all, 'queue')]
}

async function running(tag: string, more?: Parameters<ClusterPlace['create']>[1]): Promise<[Deployed, string]> {
  const deployed = await place.create(image(tag), more)
  const first = await deployed.latest()
  await deployed.deployed(first)
  return [deployed, first]
}

test.concurrent('an image becomes pods with a database and a cache, and the deployment says how many serve', async () => {
  const [deployed, first] = await running('1', { secrets: [{ name: 'TOKEN', value: 'canary-of-the-cluster' }] })
  expect(deployed.events.map((event) => event.to)).toEqual([
    'CREATING',
    'QUEUED',
    'AWAITING_DEPLOY',
    'DEPLOYING',
    'DEPLOYED',
  ])
  const all = await pods(deployed)
  for (const component of ['server', 'queue', 'cache', 'database'])
    expect(ofComponent(all, component), component).toHaveLength(1)
  expect(images(await agents(deployed))).toEqual([image('1')])
  const label = `pilothouse.dev/deployment-id=${deployed.id}`
  const policies = await place.objects.list('networking.k8s.io/v1', 'NetworkPolicy', place.namespace, label)
  expect(policies.map(({ spec }) => spec.policyTypes.join()).sort()).toEqual(['Egress', 'Ingress'])
  expect(await deployed.read()).toMatchObject({ status: 'READY', active_revision_id: first, image_version: '1' })
  // during the rollout it says what it waits for
  const well = async () => {
    const health = await deployed.health()
    return health?.ready === 1 && health.message === null
  }
  expect(await eventually(well)).toBe(true)
  expect(await deployed.health()).toMatchObject({ ready: 1, desired: 1, message: null })
  for (const { output } of place.listeners) expect(output.stdout + output.stderr).not.toContain('canary-of-the-cluster')
})

test.concurrent('after an update is DEPLOYED only its pods serve', async () => {
  const [deployed] = await running('1')
  const second = await deployed.update(image('2'))
  await deployed.deployed(second)
  expect(images(await agents(deployed))).toEqual([image('2')])
})

test.concurrent('a quota with room for one more pod lets an update through', async () => {
  const { tight } = place
  await place.objects.create({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'small', namespace: tight },
    spec: { hard: { pods: '5' } },
  })
  const [deployed] = await running('1', { namespace: tight })
  const second = await deployed.update(image('2'))
  await deployed.deployed(second)
  const all = await place.objects.list('v1', 'Pod', tight, `pilothouse.dev/deployment-id=${deployed.id}`)
  const left = all.filter((pod: Any) => !pod.metadata.deletionTimestamp)
  expect(left).toHaveLength(4)
  expect(images(left)).toEqual([image('2')])
})

test.concurrent('a bad image fails early with the reason, the pods before it stay untouched, and the next one recovers', async () => {
  const [deployed, first] = await running('1')
  const before = uids(await agents(deployed))
  const bad = await deployed.update(image('bad-2'))
  const failure = await deployed.until(bad, 'DEPLOY_FAILED', 'DEPLOYED')
  expect(failure).toMatchObject({ to: 'DEPLOY_FAILED', message: expect.stringMatching(/pull.*bad-2|bad-2.*pull/is) })
  expect(await deployed.read()).toMatchObject({ active_revision_id: first, status: 'READY' })
  expect(await eventually(async () => uids(await agents(deployed)).join() === before.join())).toBe(true)
  const good = await deployed.update(image('3'))
  await deployed.deployed(good)
  expect(images(await agents(deployed))).toEqual([image('3')])
})

test.concurrent('a first image that crashes fails with its output, and leaves nothing running', async () => {
  const deployed = await place.create(image('crash-1'))
  const first = await deployed.latest()
  const failure = await deployed.until(first, 'DEPLOY_FAILED', 'DEPLOYED')
  expect(failure).toMatchObject({ to: 'DEPLOY_FAILED', message: expect.stringMatching(/exit(ed)?( with)? code 1/i) })
  expect(await eventually(async () => (await agents(deployed)).length === 0)).toBe(true)
})

test.concurrent('redeploying an earlier revision is the rollback', async () => {
  const [deployed, first] = await running('1')
  await deployed.deployed(await deployed.update(image('2')))
  const seen = deployed.events.length
  await place.app.rest('POST', `/v2/deployments/${deployed.id}/revisions/${first}/redeploy`)
  await deployed.follower.until((event) => event.revision.id === first && event.to === 'DEPLOYED', seen)
  expect(images(await agents(deployed))).toEqual([image('1')])
  expect((await deployed.read()).active_revision_id).toBe(first)
})

test.concurrent('a changed scale applies to the running revision, without a new one', async () => {
  const [deployed, first] = await running('1')
  await deployed.patch({ source_config: { resource_spec: { min_scale: 3, max_scale: 3 } } })
  const scaled = async () => ofComponent(await pods(deployed), 'server').length === 3
  expect(await eventually(scaled)).toBe(true)
  expect(await deployed.latest()).toBe(first)
  expect(await eventually(async () => (await deployed.health())?.ready === 3)).toBe(true)
})

test.concurrent('secrets by reference come from the namespace; a missing one is named', async () => {
  const reference = { name: 'MODEL_KEY', secret_name: 'model', secret_key: 'key' }
  const early = await place.create(image('1'), { secret_references: [reference] })
  const failure = await early.until(await early.latest(), 'DEPLOY_FAILED', 'DEPLOYED')
  expect(failure).toMatchObject({ to: 'DEPLOY_FAILED', message: expect.stringContaining('model') })
  await place.objects.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'model', namespace: place.namespace },
    data: { key: Buffer.from('from the cluster').toString('base64') },
  })
  const [deployed] = await running('1', { secret_references: [reference] })
  const [server] = ofComponent(await pods(deployed), 'server')
  const env = server.spec.containers.find((c: Any) => c.name === 'agent').env
  expect(env).toContainEqual({ name: 'MODEL_KEY', valueFrom: { secretKeyRef: { name: 'model', key: 'key' } } })
})

test.concurrent('an interrupted rollout is undone, and the next one continues', async () => {
  const [deployed, first] = await running('1')
  const before = uids(await agents(deployed))
  await deployed.patch({ source_config: { resource_spec: HUGE } }) // applies to the running revision: its new pod waits
  const second = await deployed.update(image('2'))
  await deployed.until(second, 'DEPLOYING')
  await place.app.rest('POST', `/v2/deployments/${deployed.id}/revisions/${second}/interrupt`)
  await deployed.patch({ source_config: { resource_spec: {} } })
  expect(await eventually(async () => uids(await agents(deployed)).join() === before.join(), 20_000)).toBe(true)
  expect((await deployed.read()).active_revision_id).toBe(first)
  await deployed.deployed(await deployed.update(image('3')))
  expect(images(await agents(deployed))).toEqual([image('3')])
})

test.concurrent('the newest of many updates wins, and superseded ones are skipped', async () => {
  const [deployed] = await running('1')
  const ids: string[] = []
  for (let n = 2; n <= 6; n++) ids.push(await deployed.update(image(String(n))))
  await deployed.deployed(ids.at(-1)!)
  const states = await Promise.all(ids.map(async (id) => (await deployed.revision(id)).status))
  expect(states.at(-1)).toBe('DEPLOYED')
  expect(states).toContain('SKIPPED')
  expect(images(await agents(deployed))).toEqual([image('6')])
})

test.concurrent('a deleted deployment leaves nothing, and its neighbour keeps everything', async () => {
  const [[gone], [stays]] = await Promise.all([running('1'), running('1')])
  const neighbours = uids(await pods(stays))
  expect((await gone.remove()).status).toBe(204)
  const isGone = async () => (await place.app.rest('GET', `/v2/deployments/${gone.id}`)).status === 404
  expect(await eventually(isGone, 60_000)).toBe(true)
  const kinds = [
    ['v1', 'Pod'],
    ['v1', 'Service'],
    ['v1', 'Secret'],
    ['v1', 'PersistentVolumeClaim'],
    ['apps/v1', 'Deployment'],
    ['apps/v1', 'StatefulSet'],
    ['autoscaling/v1', 'HorizontalPodAutoscaler'],
    ['networking.k8s.io/v1', 'Ingress'],
  ] as const
  for (const [apiVersion, kind] of kinds) {
    const left = await place.objects.list(apiVersion, kind, place.namespace, `pilothouse.dev/deployment-id=${gone.id}`)
    expect(left, kind).toEqual([])
  }
  expect(uids(await pods(stays))).toEqual(neighbours)
})

test.concurrent('a namespace without rights fails the deployment and names the missing right', async () => {
  const deployed = await place.create(image('1'), { namespace: place.forbidden })
  const failure = await deployed.until(await deployed.latest(), 'CREATE_FAILED', 'DEPLOYED')
  expect(failure).toMatchObject({ to: 'CREATE_FAILED', message: expect.stringContaining(place.forbidden) })
  expect(failure.message).toMatch(/forbidden|rights/i)
})

test.concurrent('objects that a person deletes or changes are repaired', async () => {
  const [deployed] = await running('1')
  const name = `ph-${deployed.id}`
  await place.objects.remove('v1', 'Service', place.namespace, name)
  await place.objects.patch('apps/v1', 'Deployment', place.namespace, `${name}-server`, {
    metadata: { annotations: { 'acme.example/owner': 'somebody' } },
    spec: { template: { spec: { containers: [{ name: 'agent', image: image('by-hand') }] } } },
  })
  const repaired = async () => {
    const service = await place.objects.get('v1', 'Service', place.namespace, name)
    const server = await place.objects.get('apps/v1', 'Deployment', place.namespace, `${name}-server`)
    return service && server.spec.template.spec.containers[0].image === image('1') && server
  }
  const server = await eventually(repaired)
  expect(server?.metadata.annotations['acme.example/owner']).toBe('somebody')
})

test.concurrent('the agent’s lines are in the deploy log', async () => {
  const [deployed, first] = await running('1')
  expect(await eventually(async () => (await deployed.log(first)).length > 0)).toBe(true)
})

// not concurrent with the others, because it takes their API server away
test('an API server that is unavailable for ten seconds only delays all work', async () => {
  const [[serving], [updated], [deleted]] = await Promise.all([running('1'), running('1'), running('1')])
  const provisioned = await place.create(image('1'))
  const second = await updated.update(image('2'))
  await updated.until(second, 'DEPLOYING')
  await deleted.remove()
  place.proxy.cut()
  try {
    await place.objects.remove('v1', 'Service', place.namespace, `ph-${serving.id}`)
    await new Promise((resolve) => setTimeout(resolve, 10_000)) // the duration of the outage
  } finally {
    place.proxy.heal()
  }
  await Promise.all([
    provisioned.deployed(await provisioned.latest()),
    updated.deployed(second),
    eventually(async () => (await place.app.rest('GET', `/v2/deployments/${deleted.id}`)).status === 404, 20_000),
    eventually(() => place.objects.get('v1', 'Service', place.namespace, `ph-${serving.id}`), 20_000),
  ])
  expect((await place.app.rest('GET', `/v2/deployments/${deleted.id}`)).status).toBe(404)
  expect(await place.objects.get('v1', 'Service', place.namespace, `ph-${serving.id}`)).not.toBeNull()
})
