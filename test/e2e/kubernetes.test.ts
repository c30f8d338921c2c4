/**
 * From a REST call to pods: a real server, the real listener with the rights of its manifest, and a cluster: the
 * stand-in, or that of TEST_KUBECONFIG, where image tags `bad…` must never pull and `crash…` must crash.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { collectorHere } from '../support/collector.ts'
import { type ClusterPlace, type Deployed, openClusterPlace } from './cluster-place.ts'

const image = (tag: string) => `registry.example.com/acme/agent:${tag}`

// real pods of a real cluster take longer
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let place: ClusterPlace
let collector: Awaited<ReturnType<typeof collectorHere>>
beforeAll(async () => {
  collector = await collectorHere()
  place = await openClusterPlace(collector.settings)
  await Promise.all([place.startListener(collector.settings), place.startListener(collector.settings)])
})
afterAll(() => Promise.all([place?.close(), collector?.close()]))

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
  const { trace_id } = await deployed.revision(first)
  const phases = ['check the namespace', 'apply', 'wait for the first ready answer', 'switch requests to it']
  await expect
    .poll(() => collector.below(trace_id, 'deploy'), { timeout: 60_000 })
    .toEqual(expect.arrayContaining(phases))
  const answered = () =>
    collector.calls(trace_id).flatMap(({ name, attributes }) => (attributes['http.response.status_code'] ? name : []))
  await expect
    .poll(answered, { timeout: 60_000 })
    .toEqual(expect.arrayContaining(['PATCH statefulsets', 'PATCH deployments']))
  const known = ['http.request.method', 'http.response.status_code', 'server.address', 'server.port']
  for (const call of collector.calls(trace_id)) {
    expect(known).toEqual(expect.arrayContaining(Object.keys(call.attributes)))
    expect(JSON.stringify(call)).not.toMatch(`${deployed.id}|${place.namespace}|canary-of-the-cluster`)
  }
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

test.concurrent('a namespace without rights fails the deployment and names the missing right', async () => {
  const deployed = await place.create(image('1'), { namespace: place.forbidden })
  const failure = await deployed.until(await deployed.latest(), 'CREATE_FAILED', 'DEPLOYED')
  expect(failure).toMatchObject({ to: 'CREATE_FAILED', message: expect.stringContaining(place.forbidden) })
  expect(failure.message).toMatch(/forbidden|rights/i)
})

test.concurrent('the agent’s lines are in the deploy log', async () => {
  const [deployed, first] = await running('1')
  expect(await eventually(async () => (await deployed.log(first)).length > 0)).toBe(true)
})
