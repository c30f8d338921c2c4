/** Manual changes to a deployment's objects: managed fields are repaired, and other fields stay. */
import { expect, test } from 'vitest'
import { eventually, image, runOf, serving, type Tenant, useSite, V1, V2 } from './runtime-support.ts'

const site = useSite()

/** Changes an object as a user with kubectl. Returns the changed object. */
function change(kind: string, name: string, body: object): Promise<object> {
  const apiVersion = kind === 'Deployment' || kind === 'StatefulSet' ? 'apps/v1' : 'v1'
  return site.objects.patch(apiVersion, kind, site.namespace, name, body)
}

// biome-ignore lint/suspicious/noExplicitAny: fields of any kind
async function strategyOf(tenant: Tenant): Promise<any> {
  const found = await tenant.object('apps/v1', 'StatefulSet', tenant.names.database)
  return (found!.spec as { updateStrategy: unknown }).updateStrategy
}

test('a deleted Service is created again', async () => {
  const tenant = await serving(site)
  const before = (await tenant.object('v1', 'Service', tenant.names.base))!.metadata.uid
  await site.core.deleteNamespacedService({ namespace: site.namespace, name: tenant.names.base })
  await eventually(async () => {
    const uid = (await tenant.object('v1', 'Service', tenant.names.base))?.metadata.uid
    return uid !== undefined && uid !== before
  })
  expect((await tenant.object('v1', 'Service', tenant.names.base))!.metadata.uid).not.toBe(before)
})

test('the database’s Secret is created again with the same password', async () => {
  const tenant = await serving(site)
  const before = (await tenant.object('v1', 'Secret', tenant.names.database))!
  await site.core.deleteNamespacedSecret({ namespace: site.namespace, name: tenant.names.database })
  await expect.poll(() => tenant.object('v1', 'Secret', tenant.names.database)).not.toBe(null)
  expect((await tenant.object('v1', 'Secret', tenant.names.database))!.data).toEqual(before.data)
})

test('a password that was lost while no holder existed is reported and not replaced', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  await site.runtime.drop(tenant.id)
  await site.core.deleteNamespacedSecret({ namespace: site.namespace, name: tenant.names.database })
  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  await expect.poll(() => runtime.health(other.id)?.message).toMatch(/has lost the password .* Restore the Secret/)
  await expect(other.prepare(other.revision(V1, { number: 2 }))).rejects.toThrow(/has lost the password/)
  expect(await other.object('v1', 'Secret', other.names.database)).toBeNull()
  expect(await other.uids()).toEqual(before)
})

test('a manual change of image or replicas is undone, and added fields stay', async () => {
  const tenant = await serving(site)
  const { server } = tenant.names
  await change('Deployment', server, { metadata: { labels: { team: 'blue' }, annotations: { note: 'by hand' } } })
  await change('Deployment', server, { spec: { replicas: 3 } })
  await expect.poll(async () => (await tenant.server()).spec.replicas).toBe(1)
  const [container] = (await tenant.server()).spec.template.spec.containers
  await change('Deployment', server, {
    spec: { template: { spec: { containers: [{ ...container, image: 'other:1' }] } } },
  })
  await expect.poll(() => tenant.image()).toBe(V1)
  const { metadata, spec } = await tenant.server()
  expect(spec.replicas).toBe(1)
  expect(spec.template.spec.containers[0].image).toBe(V1)
  expect(metadata.labels.team).toBe('blue')
  expect(metadata.annotations.note).toBe('by hand')
})

test('an extra key in a Service’s selector is removed, for server, cache and database', async ({ skip }) => {
  skip(site.test.minor < 21, 'a selector is a value as a whole from 1.21 on')
  const tenant = await serving(site)
  const { base, cache, database } = tenant.names
  const selector = async (name: string) =>
    ((await tenant.object('v1', 'Service', name))!.spec as { selector: Record<string, string> }).selector
  for (const name of [base, cache, database]) {
    const before = await selector(name)
    const changed = await change('Service', name, { spec: { selector: { evil: 'yes' } } })
    expect(changed).toMatchObject({ spec: { selector: { ...before, evil: 'yes' } } })
    await expect.poll(() => selector(name)).toEqual(before)
  }
})

test('a rollout that was paused by hand, before or during it, resumes', async () => {
  const tenant = await serving(site)
  const { server } = tenant.names
  await change('Deployment', server, { spec: { paused: true } })
  await tenant.deploy(tenant.revision(V2))
  expect((await tenant.server()).spec.paused).toBeUndefined()
  const rollout = tenant.prepare(tenant.revision(image('3')))
  await change('Deployment', server, { spec: { paused: true } })
  await (await rollout).commit(async () => true)
  expect(await tenant.image()).toBe(image('3'))
})

test('a database whose updates were held back by hand is updated anyway', async () => {
  const tenant = await serving(site)
  const { database } = tenant.names
  await change('StatefulSet', database, { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } } })
  await expect.poll(async () => (await strategyOf(tenant)).type).toBe('RollingUpdate')
  await change('StatefulSet', database, { spec: { updateStrategy: { rollingUpdate: { partition: 1 } } } })
  await expect.poll(() => strategyOf(tenant)).toEqual({ type: 'RollingUpdate', rollingUpdate: { partition: 0 } })
})

test('a manual change of a Secret is undone', async () => {
  const tenant = await serving(site, {}, { secrets: [{ name: 'API_KEY', value: 'right' }] })
  const name = tenant.names.secrets(1)
  const wrong = Buffer.from('wrong').toString('base64')
  const right = Buffer.from('right').toString('base64')
  await change('Secret', name, { data: { API_KEY: wrong } })
  const value = async () => ((await tenant.object('v1', 'Secret', name))?.data as Record<string, string>)?.API_KEY
  await expect.poll(value).toBe(right)
})

test('an apply keeps an autoscaler’s replicas, except zero', async () => {
  const spec = { min_scale: 1, max_scale: 4, cpu: 0.1 }
  const tenant = await serving(site, { spec })
  const { server } = tenant.names
  await change('Deployment', server, { spec: { replicas: 3 } })
  await expect.poll(async () => (await tenant.pods()).length).toBe(3)
  tenant.run = runOf(tenant.run!.revision, { spec: { ...spec, memory_mb: 128 } })
  tenant.ensure()
  await expect
    .poll(async () => (await tenant.server()).spec.template.spec.containers[0].resources.requests.memory)
    .toBeTruthy()
  expect((await tenant.server()).spec.replicas).toBe(3)
  await change('Deployment', server, { spec: { replicas: 0 } })
  await expect.poll(async () => (await tenant.server()).spec.replicas).toBe(1)
})

test('with `autoscaler: none` another autoscaler sets the replicas within minimum and maximum, and Pilothouse’s autoscaler is removed', async () => {
  const spec = { min_scale: 1, max_scale: 4, cpu: 0.1 }
  const tenant = await serving(site, { spec })
  const { server } = tenant.names
  const scaler = () => tenant.object('autoscaling/v1', 'HorizontalPodAutoscaler', server)
  expect(await scaler()).not.toBeNull()
  tenant.run = runOf(tenant.run!.revision, { spec: { ...spec, autoscaler: 'none' } })
  tenant.ensure()
  await expect.poll(() => scaler()).toBe(null)
  await change('Deployment', server, { spec: { replicas: 3 } })
  await change('Deployment', server, { spec: { paused: true } })
  await expect.poll(async () => (await tenant.server()).spec.paused).toBeFalsy()
  expect((await tenant.server()).spec.replicas).toBe(3)
  await change('Deployment', server, { spec: { replicas: 9 } })
  await expect.poll(async () => (await tenant.server()).spec.replicas).toBe(4)
})

test('a label or annotation of the spec restarts neither database nor cache', async () => {
  const tenant = await serving(site)
  const uids = async () => [...(await tenant.uids('database')), ...(await tenant.uids('cache'))]
  const before = await uids()
  const marks = { labels: { team: 'blue' }, annotations: { note: 'new' } }
  await tenant.deploy(tenant.revision(V1), { spec: marks })
  const database = await tenant.object('apps/v1', 'StatefulSet', tenant.names.database)
  expect(database!.metadata).toMatchObject(marks)
  expect(await uids()).toEqual(before)
})

test('repeated manual changes are repaired at growing intervals', async () => {
  const tenant = await serving(site)
  const { server } = tenant.names
  if (!site.test.standIn) return
  site.test.standIn.requests.reset()
  const until = performance.now() + 40_000
  const changes = () => site.test.standIn?.requests.count('patch', 'deployments') ?? 0
  const told = () => /keeps changing .*-server/.test(site.runtime.health(tenant.id)?.message ?? '')
  for (let n = 0; performance.now() < until && !(told() && changes() > 20); n++) {
    await change('Deployment', server, { spec: { replicas: 2 + (n % 2) } })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const others = changes()
  expect(site.runtime.health(tenant.id)?.message).toMatch(
    /keeps changing objects of this deployment: Deployment\/.*-server/,
  )
  await expect.poll(async () => (await tenant.server()).spec.replicas).toBe(1)
  const generation = (await tenant.server()).metadata.generation as number
  expect(generation - others).toBeLessThan(8)
})

test('a dropped deployment is no longer repaired', async () => {
  const tenant = await serving(site)
  await site.runtime.drop(tenant.id)
  await site.core.deleteNamespacedService({ namespace: site.namespace, name: tenant.names.base })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await tenant.object('v1', 'Service', tenant.names.base)).toBeNull()
  expect(await tenant.uids()).toHaveLength(1)
})
