/** A teardown removes all objects of a deployment and no others. */
import { expect, test } from 'vitest'
import { LABEL_DEPLOYMENT } from '../../src/dataplane/kubernetes/objects/names.ts'
import type { LiveObject } from '../../src/dataplane/kubernetes/objects/types.ts'
import { image, never, openSite, serving, stepOf, Tenant, useSite, V1, V2 } from './runtime-support.ts'

const site = useSite()

// only a stand-in can delay a pod on demand
const heldBack = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

const deployed = (runtime = site.runtime) =>
  serving(
    { ...site, runtime },
    { spec: { min_scale: 1, max_scale: 2 }, customUrl: 'https://bot.example.com' },
    { secrets: [{ name: 'KEY', value: 'value' }] },
  )

/** `Kind/name` of all objects of a deployment, including pods. */
async function left(tenant: Tenant): Promise<string[]> {
  const kinds: [string, string][] = [
    ['v1', 'Secret'],
    ['v1', 'PersistentVolumeClaim'],
    ['v1', 'Service'],
    ['v1', 'Pod'],
    ['apps/v1', 'StatefulSet'],
    ['apps/v1', 'Deployment'],
    ['apps/v1', 'ReplicaSet'],
    ['autoscaling/v1', 'HorizontalPodAutoscaler'],
    ['networking.k8s.io/v1', 'Ingress'],
  ]
  const selector = `${LABEL_DEPLOYMENT}=${tenant.id}`
  const lists = kinds.map(async ([apiVersion, kind]) =>
    (await site.objects.list(apiVersion, kind, site.namespace, selector)).map(
      ({ metadata }) => `${kind}/${metadata.name}`,
    ),
  )
  return (await Promise.all(lists)).flat().sort()
}

test('a teardown leaves no object, keeps other deployments and is repeatable', async () => {
  const [tenant, neighbour] = [await deployed(), await deployed()]
  const before = await left(neighbour)
  expect((await left(tenant)).length).toBeGreaterThan(12)
  await tenant.teardown()
  expect(await left(tenant)).toEqual([])
  expect(await left(neighbour)).toEqual(before)
  await tenant.teardown()
  const { runtime } = await site.another()
  await neighbour.takenOver(runtime, '2').teardown()
  expect(await left(neighbour)).toEqual([])
})

test('the database’s Secret, which marks the deployment as existing, is deleted last', async () => {
  const tenant = await deployed()
  const orphans: string[] = []
  const look = () => {
    const [objects, pods] = [site.cluster.objects(tenant.id), site.cluster.pods(tenant.id)]
    const isAnchor = ({ kind, metadata }: LiveObject) => kind === 'Secret' && metadata.name === tenant.names.database
    if (!objects.some(isAnchor)) orphans.push(...[...objects, ...pods].map(({ metadata }) => metadata!.name!))
  }
  const stop = site.cluster.onChange(look)
  await tenant.teardown()
  stop()
  expect(site.cluster.objects(tenant.id)).toEqual([])
  expect(orphans).toEqual([])
})

test('a user’s copies of the objects survive deploys and the teardown', async () => {
  const elsewhere = await site.test.createNamespace()
  const { cluster, runtime } = await site.another({}, site.test.kubeconfig)
  await cluster.open(elsewhere, never)
  const tenant = await deployed(runtime)
  const copies: [kind: string, namespace: string, name: string][] = []
  for (const [kind, name] of [
    ['Secret', tenant.names.secrets(1)],
    ['Service', tenant.names.base],
  ] as const) {
    const { apiVersion, metadata, spec, data } = (await tenant.object('v1', kind, name))!
    const { clusterIP: _, clusterIPs: __, ...rest } = (spec ?? {}) as Record<string, unknown>
    for (const [namespace, copy] of [
      [site.namespace, `${name}-copy`],
      [elsewhere, name],
    ] as const) {
      const { labels, annotations } = metadata
      const content = kind === 'Secret' ? { data } : { spec: rest }
      await site.objects.create({
        apiVersion,
        kind,
        metadata: { name: copy, namespace, labels, annotations },
        ...content,
      })
      copies.push([kind, namespace, copy])
    }
  }
  await tenant.deploy(tenant.revision(V2))
  await tenant.teardown()
  for (const [kind, namespace, name] of copies)
    expect(await site.objects.get('v1', kind, namespace, name)).not.toBeNull()
  expect(await left(tenant)).toEqual([`Secret/${tenant.names.secrets(1)}-copy`, `Service/${tenant.names.base}-copy`])
})

heldBack('database and cache stay until server and queue have ended', async () => {
  const slow = await openSite({ standIn: { delays: { terminate: 1000 } } })
  try {
    const tenant = new Tenant(slow)
    const spec = { queue_min_scale: 1, queue_max_scale: 1 }
    await tenant.provision(spec)
    await tenant.deploy(tenant.revision(V1), { spec })
    // less time than the pods take, and more than a look at the cluster: the failure lists the remaining objects
    const step = stepOf('TEARDOWN', null, { deadlineMs: 600 })
    const late = slow.runtime.teardown(tenant.claim, step, never)
    await expect(late).rejects.toThrow(
      /not removed before its deadline: these objects remain: Pod .* \(which has a grace period of \d+ s to end\)/,
    )
    const early: string[] = []
    const stop = slow.cluster.onChange(() => {
      const agents = slow.cluster.pods(tenant.id).filter((pod) => /-(server|queue)-/.test(pod.metadata!.name!))
      const kept = slow.cluster.objects(tenant.id).filter(({ metadata }) => !metadata.deletionTimestamp)
      const isThere = (name: string) => kept.some(({ metadata }) => metadata.name === name)
      if (agents.length > 0 && !(isThere(tenant.names.database) && isThere(tenant.names.cache))) early.push('gone')
    })
    await tenant.teardown()
    stop()
    expect(early).toEqual([])
    expect(slow.cluster.objects(tenant.id)).toEqual([])
  } finally {
    await slow.close()
  }
})

test('with the policy `keep` the volume and its password’s Secret stay', async () => {
  const { runtime } = await site.another({ volumePolicy: 'keep' })
  const tenant = await deployed(runtime)
  await tenant.teardown()
  const { database } = tenant.names
  expect(await left(tenant)).toEqual([`PersistentVolumeClaim/${database}`, `Secret/${database}`])
})

heldBack('a deployment that is deleted right after its creation leaves no objects', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  const abort = new AbortController()
  const deploying = tenant.prepare(tenant.revision(image('slow')), {}, abort.signal)
  await expect.poll(() => tenant.server()).not.toBe(null)
  abort.abort(new Error('deleted'))
  await expect(deploying).rejects.toThrow('deleted')
  await tenant.teardown()
  expect(await left(tenant)).toEqual([])
})
