/** Failing rollouts: each reports its cause early, and the served revision keeps serving. */
import { expect, test } from 'vitest'
import { Withdrawn } from '../../src/dataplane/worker/perform-step.ts'
import { type How, image, openSite, runOf, serving, Tenant, useSite } from './runtime-support.ts'

const site = useSite({ failAfterMs: 1500 })

// only a stand-in can delay a pod on demand
const heldBack = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

/** The served revision is unchanged: the same pods with the same image. */
async function untouched(tenant: Tenant, before: string[]): Promise<void> {
  await expect.poll(() => tenant.uids()).toEqual(before)
  expect(await tenant.image()).toBe(image('1'))
}

test('an image that can’t be pulled fails early with the cause, and the next deploy succeeds', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  await expect(tenant.prepare(tenant.revision(image('bad')))).rejects.toThrow(/image .*agent:bad.* can't be pulled: /)
  await untouched(tenant, before)
  await tenant.deploy(tenant.revision(image('2')))
  expect(await tenant.image()).toBe(image('2'))
})

test('a crashing agent fails the deploy with its exit code and last output, without secrets', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const secrets = [{ name: 'API_KEY', value: 'starting registry' }]
  const failure = tenant.prepare(tenant.revision(image('crash'), { secrets }))
  await expect(failure).rejects.toThrow(
    /Container agent of pod .* keeps crashing: it exited with code 1[\s\S]*••••\S*agent:crash/,
  )
  await untouched(tenant, before)
})

test('a queue that the next revision lacks stays until that revision serves', async () => {
  const tenant = await serving(site, { spec: { queue_min_scale: 1, queue_max_scale: 1 } })
  const [servers, before] = [await tenant.uids(), await tenant.uids('queue')]
  await expect(tenant.prepare(tenant.revision(image('bad')))).rejects.toThrow(/can't be pulled/)
  await untouched(tenant, servers)
  expect(await tenant.uids('queue')).toEqual(before)
})

heldBack('a deploy waits for no terminating pod: the health counts it, and its revision’s secrets stay', async () => {
  const draining = await openSite({ standIn: { delays: { terminate: 700 } } })
  const tenant = await serving(draining, {}, { secrets: [{ name: 'KEY', value: 'old' }] })
  const { cluster, id, names } = { cluster: draining.cluster, id: tenant.id, names: tenant.names }
  const has = (name: string) => cluster.objects(id).some(({ metadata }) => metadata.name === name)
  let [without, drained] = [0, 0]
  cluster.onChange(() => {
    const using = cluster.pods(id).filter((pod) => JSON.stringify(pod.spec).includes(names.secrets(1)))
    if (using.some(({ metadata }) => metadata?.deletionTimestamp)) drained++
    if (using.length > 0 && !has(names.secrets(1))) without++
  })
  const secrets = [{ name: 'KEY', value: 'value' }]
  await tenant.deploy(tenant.revision(image('2'), { secrets }))
  expect(draining.runtime.health(id)).toMatchObject({ ready: 1, desired: 1, draining: 1, message: null })
  await expect.poll(() => draining.runtime.health(id)).not.toHaveProperty('draining')
  await expect.poll(() => has(names.secrets(1))).toBe(false)
  expect(drained).toBeGreaterThan(0)
  expect(without).toBe(0)
  await draining.close()
})

test('a failed first revision leaves no workload, but keeps the database', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  await expect(tenant.prepare(tenant.revision(image('bad')))).rejects.toThrow(/can't be pulled/)
  await expect.poll(() => tenant.server()).toBeNull()
  expect(await tenant.uids('database')).toHaveLength(1)
  expect(site.runtime.health(tenant.id)).toBeUndefined()
})

test('a missing referenced Secret is named before the rollout starts', async () => {
  const tenant = await serving(site)
  await site.core.createNamespacedSecret({
    namespace: site.namespace,
    body: { metadata: { name: 'there' }, stringData: { key: 'value' } },
  })
  const secretReferences = [
    { name: 'ONE', secret_name: 'absent', secret_key: 'key' },
    { name: 'TWO', secret_name: 'there', secret_key: 'other' },
  ]
  const failure = tenant.prepare(tenant.revision(image('2')), { secretReferences })
  await expect(failure).rejects.toThrow(/Secret absent, which does not exist[\s\S]*key other of Secret there/)
  expect(await tenant.image()).toBe(image('1'))
  await tenant.deploy(tenant.revision(image('2')), {
    secretReferences: [{ name: 'TWO', secret_name: 'there', secret_key: 'key' }],
  })
})

test('a pod that fits no node fails with the scheduler’s message', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const failure = tenant.prepare(tenant.revision(image('2')), { spec: { cpu: 8, memory_mb: 900_000_000 } })
  await expect(failure).rejects.toThrow(/No node can take pod .*: .*Insufficient memory/)
  await untouched(tenant, before)
})

test('health messages with the cluster’s words show no secret', async () => {
  const tenant = await serving(site)
  const secrets = [{ name: 'KEY', value: 'Insufficient memory' }]
  const spec = { cpu: 8, memory_mb: 900_000_000 }
  const failing = tenant.prepare(tenant.revision(image('2'), { secrets }), { spec }).catch(() => undefined)
  const said = () => site.runtime.health(tenant.id)?.message ?? ''
  await expect.poll(said).toMatch(/No node can take pod .*••••/)
  expect(said()).not.toContain('Insufficient memory')
  await failing
})

test('a missing service account fails with the cluster’s message', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const failure = tenant.prepare(tenant.revision(image('2')), { spec: { service_account_name: 'nobody' } })
  await expect(failure).rejects.toThrow(/refuses pods of server: .*serviceaccount "nobody" not found/)
  await untouched(tenant, before)
})

test('a manifest that the API server refuses fails with its message', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const spec = { volumes: [{ name: 'Not A Name', emptyDir: {} }] } as How['spec']
  await expect(tenant.prepare(tenant.revision(image('2')), { spec })).rejects.toThrow(/invalid/i)
  await untouched(tenant, before)
})

test('an exceeded quota fails with the cluster’s message', async () => {
  const namespace = await site.test.createNamespace()
  const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [namespace] })
  const { runtime } = await site.another({ namespace }, kubeconfig)
  const tenant = new Tenant({ ...site, namespace, runtime })
  await tenant.provision()
  const body = { metadata: { name: 'pods' }, spec: { hard: { pods: '2' } } }
  await site.core.createNamespacedResourceQuota({ namespace, body })
  await expect(tenant.prepare(tenant.revision(image('1')))).rejects.toThrow(/exceeded quota: pods/)
  const second = new Tenant({ ...site, namespace, runtime })
  await expect(second.provision()).rejects.toThrow(/exceeded quota: pods/)
})

heldBack('a rollout without progress fails at its deadline with the reason of its wait', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const failure = tenant.prepare(tenant.revision(image('slow')), { deadlineMs: 1500 })
  await expect(failure).rejects.toThrow(/not ready in time.*server: 0 of 1 replicas are ready; pod .* container agent/s)
  await untouched(tenant, before)
})

heldBack('an interrupted rollout restores the served revision, whose pods kept running', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const abort = new AbortController()
  const deploying = tenant.prepare(tenant.revision(image('slow')), {}, abort.signal)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  expect(await tenant.image()).toBe(image('slow'))
  abort.abort(new Withdrawn())
  await expect(deploying).rejects.toThrow('withdrawn')
  expect(await tenant.image()).toBe(image('1'))
  await untouched(tenant, before)
})

heldBack('the newest deploy wins, even directly after an interrupted one', async () => {
  const tenant = await serving(site)
  const abort = new AbortController()
  const first = tenant.prepare(tenant.revision(image('slow')), {}, abort.signal)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  abort.abort(new Withdrawn())
  await expect(first).rejects.toThrow('withdrawn')
  await tenant.deploy(tenant.revision(image('3')))
  expect(await tenant.image()).toBe(image('3'))
  expect(await tenant.uids()).toHaveLength(1)
})

heldBack('a new holder continues a running rollout without a rollback', async () => {
  const tenant = await serving(site)
  const revision = tenant.revision(image('slow'))
  const abort = new AbortController()
  const first = tenant.prepare(revision, {}, abort.signal).catch((error: Error) => error.message)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  // like a holder that loses its claim
  abort.abort(new Error('not ours any more'))
  await site.runtime.drop(tenant.id)
  await first
  const { generation } = (await tenant.server()).metadata
  const pods = await tenant.uids()

  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  const second = other.prepare(revision)
  await other.log.seen(/Waiting for server: 0 of 1 replicas/)
  expect((await other.server()).metadata.generation).toBe(generation)
  expect(await other.uids()).toEqual(pods)
  for (const { metadata } of await other.pods())
    site.test.standIn?.release({ namespace: site.namespace, name: metadata!.name! })
  await (await second).commit(async () => true)
  expect(await other.image()).toBe(image('slow'))
})

heldBack('a new holder continues a running redeploy of the served revision, and can roll it back', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  const revision = tenant.revision(image('slow'))
  const release = async (holder: Tenant) => {
    for (const { metadata } of await holder.pods())
      site.test.standIn?.release({ namespace: site.namespace, name: metadata!.name! })
  }
  const deploying = tenant.prepare(revision)
  await expect.poll(async () => (await tenant.pods()).length).toBe(1)
  await release(tenant)
  await (await deploying).commit(async () => true)
  const before = await tenant.uids()
  // the control plane has raised the attempt of the desired revision
  const next = { ...revision, attempt: 2 }
  tenant.run = runOf(next)
  tenant.ensure()
  const abort = new AbortController()
  const first = tenant.prepare(next, {}, abort.signal).catch((error: Error) => error.message)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  abort.abort(new Error('not ours any more'))
  await site.runtime.drop(tenant.id)
  await first
  const { generation } = (await tenant.server()).metadata

  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  const withdraw = new AbortController()
  const second = other.prepare(next, {}, withdraw.signal)
  await other.log.seen(/Waiting for server: 0 of 1 replicas/)
  expect((await other.server()).metadata.generation).toBe(generation)
  withdraw.abort(new Withdrawn())
  await expect(second).rejects.toThrow('withdrawn')
  await expect.poll(() => other.uids()).toEqual(before)
  expect((await other.server()).spec.template.metadata.annotations['pilothouse.dev/attempt']).toBe('1')
})

test('a deploy whose result is not recorded restores the previous revision', async () => {
  const tenant = await serving(site)
  const candidate = await tenant.prepare(tenant.revision(image('2')))
  await candidate.commit(async () => false)
  expect(await tenant.image()).toBe(image('1'))
  const again = await tenant.prepare(tenant.revision(image('2')))
  const failing = again.commit(async () => {
    throw new Error('nobody heard')
  })
  await expect(failing).rejects.toThrow('nobody heard')
  expect(await tenant.image()).toBe(image('1'))
})

test('a holder with an older fencing token writes nothing', async () => {
  const tenant = await serving(site)
  const { runtime } = await site.another()
  const newer = tenant.takenOver(runtime, '2')
  await newer.deploy(newer.revision(image('2'), { number: 7 }))
  // the older holder does not know this yet and rolls out another revision
  await expect(tenant.prepare(tenant.revision(image('3')))).rejects.toThrow(/newer holder/)
  tenant.run = runOf(tenant.revision(image('4')))
  tenant.ensure()
  await expect(tenant.teardown()).rejects.toThrow(/newer holder/)
  expect(await newer.image()).toBe(image('2'))
  expect((await newer.server()).metadata.annotations['pilothouse.dev/token']).toBe('2')
})
