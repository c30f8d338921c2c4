/** Updates in a namespace whose quota has no room for the extra pod that starts a rollout. */
import { expect, test, vi } from 'vitest'
import { options as PLAIN } from './render-support.ts'
import { eventually, type How, image, serving, Tenant, useSite } from './runtime-support.ts'

vi.setConfig({ testTimeout: 120_000 })

const site = useSite()

const QUEUE = { queue_min_scale: 1, queue_max_scale: 1 }

/**
 * A serving deployment, alone in a namespace. The quota allows `more` pods than exist, and `bounds` limits other
 * resources.
 */
async function cramped(more: number, spec: How['spec'] = {}, bounds: Record<string, string> = {}) {
  const namespace = await site.test.createNamespace()
  const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [namespace] })
  const { runtime, cluster } = await site.another({ namespace }, kubeconfig)
  const tenant = await serving({ ...site, namespace, runtime, cluster }, { spec })
  const pods = cluster.pods(tenant.id).length
  const body = { metadata: { name: 'small' }, spec: { hard: { pods: String(pods + more), ...bounds } } }
  await site.core.createNamespacedResourceQuota({ namespace, body })
  // a quota applies once its status is written
  const counts = async () => (await site.core.readNamespacedResourceQuota({ namespace, name: 'small' })).status?.hard
  await eventually(async () => Boolean(await counts()))
  // the lowest number of ready servers from now on
  const ready = () =>
    cluster.pods(tenant.id).filter(({ metadata, status }) => {
      const isServer = metadata?.labels?.['app.kubernetes.io/component'] === 'server'
      return isServer && status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
    }).length
  const fewest = { servers: ready() }
  cluster.onChange(() => {
    fewest.servers = Math.min(fewest.servers, ready())
  })
  /** Gives the deployment to a runtime of another version or with other settings. */
  const takeOver = async (render: typeof PLAIN) => {
    const next = await site.another({ namespace, render }, kubeconfig)
    const taken = new Tenant({ ...site, namespace, ...next }, { ...tenant.claim, token: '2' })
    taken.run = tenant.run
    taken.ensure()
    return taken
  }
  return { tenant, fewest, takeOver, warnings: () => tenant.log.lines.filter((line) => line.startsWith('The quota')) }
}

test.concurrent('with room for one more pod an update rolls out one component after the other and keeps all pods', async () => {
  const { tenant, fewest, warnings } = await cramped(1, QUEUE)
  await tenant.deploy(tenant.revision(image('2')), { spec: QUEUE })
  expect(await tenant.image()).toBe(image('2'))
  for (const component of ['server', 'queue']) expect(await tenant.uids(component)).toHaveLength(1)
  expect(fewest.servers).toBe(1)
  expect(warnings()).toEqual([])
})

test.concurrent.for([
  ['', QUEUE],
  [', also with an autoscaler', { ...QUEUE, queue_max_scale: 2 }],
] as const)(
  'without room for another pod the queue gives its pod up until the server is rolled out, and the server serves all the time%s',
  async ([, spec]) => {
    const { tenant, fewest, warnings } = await cramped(0, spec)
    await tenant.deploy(tenant.revision(image('2')), { spec })
    expect(await tenant.image()).toBe(image('2'))
    for (const component of ['server', 'queue']) expect(await tenant.uids(component)).toHaveLength(1)
    expect(fewest.servers).toBe(1)
    expect(warnings()).toEqual([
      expect.stringMatching(
        /the queue has 0 instead of 1 pods until the server is rolled out \(.*exceeded quota: small/,
      ),
    ])
    // the next rollout uses the usual strategy
    expect(await eventually(async () => (await tenant.server()).spec.strategy.rollingUpdate.maxUnavailable === 0)).toBe(
      true,
    )
  },
)

test.concurrent('a single server is replaced in place, after a warning that no server serves until the new one is ready', async () => {
  const { tenant, warnings } = await cramped(0)
  const progress: string[] = []
  await tenant.deploy(tenant.revision(image('2')), { onProgress: (now) => progress.push(now?.message ?? '') })
  expect(await tenant.image()).toBe(image('2'))
  expect(await tenant.uids()).toHaveLength(1)
  const said = expect.stringMatching(
    /the only pod of the server is deleted before its new pod is ready, and no pod serves/,
  )
  expect(warnings()).toEqual([said])
  expect(progress).toContainEqual(said)
})

test.concurrent('several servers are replaced one by one, so that at most one is missing', async () => {
  const spec = { min_scale: 3, max_scale: 3 }
  const { tenant, fewest, warnings } = await cramped(0, spec)
  await tenant.deploy(tenant.revision(image('2')), { spec })
  expect(await tenant.image()).toBe(image('2'))
  expect(await tenant.uids()).toHaveLength(3)
  expect(fewest.servers).toBe(2)
  expect(warnings()).toEqual([expect.stringMatching(/the server is replaced pod by pod, with 2 of 3 pods/)])
})

test.concurrent('a failed revision returns its quota to the previous one', async () => {
  const { tenant } = await cramped(0)
  await expect(tenant.prepare(tenant.revision(image('bad')))).rejects.toThrow(/can't be pulled/)
  const isBack = async () => {
    const { spec, status } = await tenant.server()
    return spec.template.spec.containers[0].image === image('1') && status?.readyReplicas === 1
  }
  expect(await eventually(isBack)).toBe(true)
})

test.concurrent('an aborted update is rolled back pod by pod, and then the usual strategy returns', async () => {
  const spec = { min_scale: 3, max_scale: 3 }
  const { tenant, fewest } = await cramped(0, spec)
  const calledOff = new AbortController()
  const update = tenant.prepare(tenant.revision(image('2')), { spec }, calledOff.signal)
  const over = update.catch(() => null)
  const updated = async () => (await tenant.server()).status?.updatedReplicas ?? 0
  await eventually(async () => (await tenant.image()) === image('2') && (await updated()) > 1)
  calledOff.abort(new Error('called off'))
  // the abort may have come too late
  await (await over)?.discard()
  // the worker does so immediately, and with each heartbeat
  tenant.ensure()
  const isBack = async () => {
    const { status } = await tenant.server()
    return (await tenant.image()) === image('1') && status?.updatedReplicas === 3 && status?.readyReplicas === 3
  }
  expect(await eventually(isBack)).toBe(true)
  expect(fewest.servers).toBe(2)
  const isUsual = async () => (await tenant.server()).spec.strategy.rollingUpdate.maxUnavailable === 0
  expect(await eventually(isUsual)).toBe(true)
})

test.concurrent('a server that does not fit the quota even in the old one’s place leaves the old one serving', async () => {
  const { tenant, fewest, warnings } = await cramped(0, { memory_mb: 100 }, { 'requests.memory': '150M' })
  const larger = { spec: { memory_mb: 200 } }
  await expect(tenant.prepare(tenant.revision(image('2')), larger)).rejects.toThrow(/exceeded quota: small/)
  expect(warnings()).toEqual([])
  expect(fewest.servers).toBe(1)
})

test.concurrent('more replicas than the quota allows fail with the cluster’s message, and no pod is given up', async () => {
  const { tenant, fewest, warnings } = await cramped(0)
  const more = { spec: { min_scale: 2, max_scale: 2 } }
  await expect(tenant.prepare(tenant.revision(image('2')), more)).rejects.toThrow(/exceeded quota: small/)
  expect(warnings()).toEqual([])
  expect(fewest.servers).toBe(1)
})

test.concurrent('pods that only a changed setting would replace wait for room while the old ones serve', async () => {
  const { tenant, fewest, takeOver, warnings } = await cramped(0)
  const before = await tenant.uids()
  const taken = await takeOver({ ...PLAIN, podSecurity: 'restricted' })
  await eventually(() => taken.runtime.health(taken.id)?.reason === 'QUOTA_EXCEEDED')
  expect(taken.runtime.health(taken.id)).toMatchObject({
    ready: 1,
    message: expect.stringContaining('exceeded quota: small'),
  })
  expect(await tenant.uids()).toEqual(before)
  expect(warnings()).toEqual([])
  // a deploy makes concessions to the quota
  await taken.deploy(taken.revision(image('2')))
  expect(await taken.image()).toBe(image('2'))
  expect(await taken.uids()).not.toEqual(before)
  expect(fewest.servers).toBe(0)
})

test('the deadline of a deploy stands still while an old pod under a full quota has its grace period', async () => {
  const spec = { termination_grace_seconds: 3600 }
  const { tenant } = await cramped(0, spec)
  const [old] = await tenant.pods()
  const edit = (finalizers: string[] | null) =>
    tenant.site.objects.patch('v1', 'Pod', tenant.site.namespace, old!.metadata!.name!, { metadata: { finalizers } })
  // the pod stays, like one that finishes its runs
  await edit(['example.com/run'])
  const left: (number | undefined)[] = []
  const deploying = tenant.deploy(tenant.revision(image('2')), {
    spec,
    deadlineMs: 100_000,
    onProgress: (progress) => left.push(progress?.secondsLeft),
  })
  deploying.catch(() => undefined)
  expect(await eventually(() => left.some((seconds) => seconds !== undefined), 90_000)).toBe(true)
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_000_000)
  await edit(null)
  await deploying
  clock.mockRestore()
  expect(await tenant.image()).toBe(image('2'))
  expect(left.at(-1)).toBeUndefined()
})
