/** A deployment's lifecycle in a cluster: create, update, redeploy, and what is kept. */
import { expect, test } from 'vitest'
import { runOf, serving, Tenant, useSite, V1, V2 } from './runtime-support.ts'

const site = useSite()

test('a new deployment gets a database and a cache, and then pods of its image', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  expect(await tenant.uids('database')).toHaveLength(1)
  expect(await tenant.uids('cache')).toHaveLength(1)
  expect(site.runtime.health(tenant.id)).toBeUndefined()

  const candidate = await tenant.deploy(tenant.revision(V1))
  expect(candidate.url).toBe(`http://${tenant.names.base}.${site.namespace}.svc`)
  expect(candidate.imageVersion).toBe('1')
  expect(await tenant.image()).toBe(V1)
  expect(await tenant.uids()).toHaveLength(1)
  await expect.poll(() => site.runtime.health(tenant.id)).toEqual({ ready: 1, desired: 1, message: null, reason: null })
})

test('an update replaces the pods, and the previous revision leaves no objects', async () => {
  const tenant = await serving(site, {}, { secrets: [{ name: 'API_KEY', value: 'first-secret' }] })
  const before = await tenant.uids()
  await tenant.deploy(tenant.revision(V2))
  expect(await tenant.image()).toBe(V2)
  expect((await tenant.uids()).some((uid) => before.includes(uid))).toBe(false)
  await expect.poll(() => tenant.object('v1', 'Secret', tenant.names.secrets(1))).toBeNull()
  expect(await tenant.object('v1', 'Secret', tenant.names.secrets(2))).not.toBeNull()
})

test('a database’s password is created once and kept by every later holder', async () => {
  const tenant = new Tenant(site)
  const read = async () => (await tenant.object('v1', 'Secret', tenant.names.database))!.data
  await tenant.provision()
  const first = await read()
  await tenant.provision()
  const { runtime } = await site.another()
  await tenant.takenOver(runtime, '2').provision()
  expect(await read()).toEqual(first)
})

test('a redeploy of the served revision makes new pods only when its step runs', async () => {
  const tenant = await serving(site)
  const { revision } = tenant.run!
  const before = await tenant.uids()
  const next = { ...revision, attempt: 2 }
  tenant.run = runOf(next)
  tenant.ensure()
  // another holder reads the served attempt from the cluster alone
  const { runtime, cluster } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  await expect.poll(() => tokenOf(cluster.objects(tenant.id))).toBe('2')
  expect(await other.uids()).toEqual(before)

  await other.deploy(next)
  const after = await other.uids()
  expect(after).toHaveLength(1)
  expect(after).not.toEqual(before)
})

test('a failed redeploy of the served revision leaves its pods serving', async () => {
  const tenant = await serving(site)
  const { revision } = tenant.run!
  const before = await tenant.uids()
  const next = { ...revision, attempt: 2 }
  tenant.run = runOf(next)
  const candidate = await tenant.prepare(next)
  await candidate.commit(async () => false)
  await expect
    .poll(async () => (await tenant.server()).spec.template.metadata.annotations['pilothouse.dev/attempt'])
    .toBe('1')
  expect(before).toHaveLength(1)
})

test('a change of resources is applied to the running revision', async () => {
  const tenant = await serving(site)
  const { revision } = tenant.run!
  tenant.run = runOf(revision, {
    spec: { min_scale: 2, max_scale: 2, memory_mb: 256 },
    customUrl: 'https://bot.example.com',
  })
  tenant.ensure()
  await expect.poll(async () => (await tenant.server()).status?.readyReplicas).toBe(2)
  const { spec } = await tenant.server()
  expect(spec.replicas).toBe(2)
  expect(spec.template.spec.containers[0].resources.requests.memory).toMatch(/^25[0-9]M/)
  expect(await tenant.object('networking.k8s.io/v1', 'Ingress', tenant.names.base)).not.toBeNull()
  tenant.run = runOf(revision, { spec: { min_scale: 2, max_scale: 2, memory_mb: 256 } })
  tenant.ensure()
  await expect.poll(() => tenant.object('networking.k8s.io/v1', 'Ingress', tenant.names.base)).toBeNull()
})

test('a queue has its own pods, which are removed when the spec drops the queue', async () => {
  const tenant = await serving(site, { spec: { queue_min_scale: 1, queue_max_scale: 1 } })
  const { revision } = tenant.run!
  expect(await tenant.uids('queue')).toHaveLength(1)
  tenant.run = runOf(revision)
  tenant.ensure()
  await expect.poll(() => tenant.object('apps/v1', 'Deployment', tenant.names.queue)).toBeNull()
})

test('repeated health checks make no API call', async () => {
  const tenant = await serving(site)
  await expect.poll(() => site.runtime.health(tenant.id)?.ready).toBe(1)
  if (!site.test.standIn) return
  await quiet()
  site.test.standIn.requests.reset()
  for (let i = 0; i < 5; i++) tenant.ensure()
  await quiet()
  expect(site.test.standIn.requests.total).toBe(0)
})

test('a deployment without a namespace, or without an image, reports what is missing', async () => {
  const { runtime } = await site.another({ namespace: null })
  const nowhere = new Tenant(site, {}, runtime)
  await expect(nowhere.provision()).rejects.toThrow(/names no Kubernetes namespace/)
  await nowhere.teardown()
  const tenant = new Tenant(site)
  await tenant.provision()
  await expect(tenant.prepare(tenant.revision(V1, { source: 'gitprovider', imageUri: null }))).rejects.toThrow(
    /needs a build, and no builder is available here/,
  )
  await expect(tenant.prepare(tenant.revision(V1, { imageUri: null }))).rejects.toThrow(/no image_uri/)
})

test('a namespace without permissions fails immediately and lists them, and a teardown of a deployment without objects succeeds', async () => {
  const foreign = await site.test.createNamespace()
  const deployment = { ...new Tenant(site).claim.deployment, k8sNamespace: foreign, provisioned: false }
  const tenant = new Tenant(site, { deployment })
  await expect(tenant.provision()).rejects.toThrow(new RegExp(`forbidden.*${foreign}`, 'i'))
  await tenant.teardown()
})

const tokenOf = (objects: { kind: string; metadata: { annotations?: Record<string, string> } }[]) =>
  objects.find(({ kind }) => kind === 'Deployment')?.metadata.annotations?.['pilothouse.dev/token']

/** Resolves when the API server got no call for a while. */
async function quiet(): Promise<void> {
  const { requests } = site.test.standIn!
  for (let before = -1; before !== requests.total; ) {
    before = requests.total
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}
