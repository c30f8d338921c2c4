/** The watches see every object, also after a network outage or an expired resource version. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { KINDS } from '../../src/dataplane/kubernetes/api-server/kinds.ts'
import type { Cluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import type { Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { proxyKubeconfig } from '../support/kubernetes/proxy.ts'
import { fence, manifestsOf, never, seen, usePlace } from './cluster-support.ts'

const place = usePlace()
const quick = { firstRetry: 5, longestRetry: 50 }

/** Resolves when every kind is watched. */
async function throughProxy(times: object = {}) {
  const { cluster, proxy } = await place.connectThroughProxy({ times: { ...quick, ...times } })
  await cluster.open(place.namespace, never)
  await expect.poll(() => proxy.connections).toBeGreaterThanOrEqual(KINDS.length)
  const { deploymentId, secret, service } = manifestsOf(place.namespace)
  await make([secret, service])
  await seen(cluster, () => cluster.objects(deploymentId).length === 2)
  return { cluster, proxy }
}

async function make(manifests: Manifest[]): Promise<Cluster> {
  const cluster = await place.connect()
  for (const manifest of manifests) await cluster.apply(manifest, fence(1n))
  return cluster
}

const kinds = (cluster: Cluster, deploymentId: string) =>
  cluster
    .objects(deploymentId)
    .map(({ kind }) => kind)
    .sort()

test('a deployment’s objects and pods are known, separate from those of other deployments', async () => {
  const { deploymentId, secret, service, deployment } = manifestsOf(place.namespace)
  await make([secret, service, deployment])
  await make([manifestsOf(place.namespace).secret])
  const cluster = await place.connect()
  await cluster.open(place.namespace, never)
  expect(kinds(cluster, deploymentId)).toEqual(['Deployment', 'Secret', 'Service'])
  const pod = await seen(cluster, () => cluster.pods(deploymentId).find(({ status }) => status?.phase === 'Running'))
  expect(pod).toMatchObject({ kind: 'Pod', apiVersion: 'v1', spec: { containers: [{ name: 'agent' }] } })
  expect(cluster.objects(randomUUID())).toEqual([])
  expect(cluster.problem()).toBeNull()
})

test('a second apply of the same manifest causes no event', async () => {
  const { deploymentId, secret, service } = manifestsOf(place.namespace)
  const cluster = await place.connect()
  await cluster.open(place.namespace, never)
  await cluster.apply(secret, fence(1n))
  const { metadata } = await cluster.apply(service, fence(1n))
  const versions = () => cluster.objects(deploymentId).map((object) => object.metadata.resourceVersion)
  await seen(cluster, () => versions().length === 2 && versions().includes(metadata.resourceVersion))
  const slices = place.cluster.minor < 21 ? undefined : 1
  await seen(cluster, () => cluster.endpoints(place.namespace, deploymentId)?.length === slices)
  const told: string[] = []
  const stop = cluster.onChange((id) => told.push(id))
  await cluster.apply(service, fence(1n))
  // a later event of the same watch
  const marker = manifestsOf(place.namespace)
  await cluster.apply(marker.secret, fence(1n))
  await cluster.apply(marker.service, fence(1n))
  await seen(cluster, () => cluster.objects(marker.deploymentId).length === 2)
  stop()
  expect(told).not.toContain(deploymentId)
  const known = cluster.objects(deploymentId).find(({ kind }) => kind === 'Service')
  expect(known?.metadata.resourceVersion).toBe(metadata.resourceVersion)
})

test('many changes of a deployment in one tick cause one notification', async () => {
  // objects of one kind, so that one list contains them all
  const { deploymentId, secret } = manifestsOf(place.namespace)
  const named = (name: string) => ({ ...secret, metadata: { ...secret.metadata, name } })
  const secrets = [secret, named(`${secret.metadata.name}-2`), named(`${secret.metadata.name}-3`)]
  const other = await place.connect()
  await make(secrets)
  const told: string[] = []
  other.onChange((id) => told.push(id))
  await other.open(place.namespace, never)
  await expect.poll(() => told).toContain(deploymentId)
  expect(other.objects(deploymentId)).toHaveLength(secrets.length)
  expect(told.filter((id) => id === deploymentId)).toHaveLength(1)
})

test('an object whose label was removed by hand is ignored until the next apply', async () => {
  const { deploymentId, secret, service } = manifestsOf(place.namespace)
  const cluster = await make([secret, service])
  await cluster.open(place.namespace, never)
  await place.edit(service, { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } })
  await seen(cluster, () => cluster.objects(deploymentId).length === 1)
  await cluster.apply(service, fence(1n))
  await seen(cluster, () => cluster.objects(deploymentId).length === 2)
})

test('changes during an API server outage are observed after the outage', async () => {
  const before = manifestsOf(place.namespace)
  const others = await make([before.secret, before.service])
  const { cluster, proxy } = await throughProxy()
  const service = cluster.objects(before.deploymentId).find(({ kind }) => kind === 'Service')!
  proxy.cut()
  await expect.poll(() => cluster.problem()).toMatch(/not reachable|ECONN|hang up|aborted/)
  await others.remove(service, fence(1n))
  const after = manifestsOf(place.namespace)
  await make([after.secret, after.service])
  proxy.heal()
  await seen(cluster, () => cluster.objects(after.deploymentId).length === 2)
  await seen(cluster, () => kinds(cluster, before.deploymentId).join() === 'Secret')
  await expect.poll(() => cluster.problem()).toBeNull()
})

test('a watch whose connection died silently is renewed', async () => {
  const { cluster, proxy } = await throughProxy({ watch: 1000, silence: 200, call: 1000 })
  const { deploymentId, secret } = manifestsOf(place.namespace)
  proxy.freeze()
  await make([secret])
  const before = performance.now()
  await expect.poll(() => cluster.problem()).toMatch(/did not answer in time/)
  // The watch noticed it, not a call: the test makes no call until the watch is overdue. With TLS a watch may still be
  // connecting.
  if (!process.env.TEST_KUBECONFIG) expect(performance.now() - before).toBeGreaterThan(1500)
  proxy.heal()
  await seen(cluster, () => cluster.objects(deploymentId).length === 1)
})

test('a call without an answer makes the watches check their connections', async () => {
  const { cluster, proxy } = await throughProxy({ call: 500 })
  proxy.freeze()
  await expect(cluster.warnings(place.namespace, randomUUID())).rejects.toMatchObject({ name: 'Unreachable' })
  // long before the watches end
  await expect.poll(() => cluster.problem()).toMatch(/did not answer in time/)
})

test('a namespace can be opened before the API server is available', async () => {
  const { cluster, proxy } = await place.connectThroughProxy({ times: quick })
  const { deploymentId, secret } = manifestsOf(place.namespace)
  await make([secret])
  proxy.cut()
  const opened = cluster.open(place.namespace, never)
  await expect.poll(() => cluster.problem()).not.toBeNull()
  proxy.heal()
  await opened
  expect(cluster.objects(deploymentId)).toHaveLength(1)
})

test('opening a namespace can be aborted', async () => {
  const { cluster, proxy } = await place.connectThroughProxy({ times: quick })
  proxy.cut()
  const given = new AbortController()
  const opened = cluster.open(place.namespace, given.signal)
  given.abort(new Error('the step was withdrawn'))
  await expect(opened).rejects.toThrow('the step was withdrawn')
})

test('missing permissions are reported with namespace, verb and resource', async () => {
  const home = await place.cluster.createNamespace()
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }]
  const kubeconfig = await place.cluster.limitedKubeconfig({ namespaces: [home], rules })
  const cluster = await place.connect({ kubeconfig })
  await cluster.open(home, never)
  await expect(cluster.open(place.namespace, never)).rejects.toMatchObject({
    name: 'ApiRefused',
    status: 403,
    message: expect.stringMatching(new RegExp(`list \\w+ in namespace "${place.namespace}"`)),
  })
  expect(cluster.problem()).toBeNull()
  const { secret } = manifestsOf(home)
  await expect(cluster.apply(secret, fence(1n))).rejects.toMatchObject({ name: 'ApiRefused', status: 403 })
})

test('permissions that are missing right after an outage are checked again, because they may not be loaded yet', async () => {
  const home = await place.cluster.createNamespace()
  const { kubeconfig, proxy } = await proxyKubeconfig(await place.cluster.limitedKubeconfig({ namespaces: [home] }))
  try {
    const cluster = await place.connect({ kubeconfig, times: quick })
    const read = () => cluster.read({ apiVersion: 'v1', kind: 'Secret', namespace: place.namespace, name: 'any' })
    await expect(read()).rejects.toMatchObject({ name: 'ApiRefused', status: 403 })
    proxy.cut()
    await expect(read()).rejects.toMatchObject({ name: 'Unreachable' })
    proxy.heal()
    await expect(read()).rejects.toMatchObject({ name: 'Unreachable', message: expect.stringContaining('forbidden') })
  } finally {
    await proxy.close()
  }
})

test('an expired resource version causes a new list, which detects deletions', async ({ skip }) => {
  const { standIn } = place.cluster
  if (!standIn) return skip('only the stand-in forgets on request')
  const { deploymentId, secret, service } = manifestsOf(place.namespace)
  const others = await make([secret, service])
  const { cluster, proxy } = await throughProxy()
  const known = cluster.objects(deploymentId).find(({ kind }) => kind === 'Service')!
  proxy.cut()
  await others.remove(known, fence(1n))
  await make([manifestsOf(place.namespace).secret])
  standIn.compact()
  standIn.requests.reset()
  proxy.heal()
  await seen(cluster, () => kinds(cluster, deploymentId).join() === 'Secret')
  expect(standIn.requests.count('list', 'services')).toBe(1)
})

test('an outage shorter than the cluster’s event history causes no new list', async ({ skip }) => {
  const { standIn } = place.cluster
  if (!standIn) return skip('a real cluster does not count our calls')
  const { cluster } = await throughProxy()
  standIn.requests.reset()
  standIn.disconnect()
  const { deploymentId, secret } = manifestsOf(place.namespace)
  await make([secret])
  await seen(cluster, () => cluster.objects(deploymentId).length === 1)
  expect(standIn.requests.count('list')).toBe(0)
})

test('1,000 objects cost eleven watches and no call while nothing changes', async ({ skip }) => {
  const { standIn, minor } = place.cluster
  if (!standIn) return skip('a real cluster does not count our calls')
  skip(minor < 21, 'two of the kinds are there from 1.21 on')
  const namespace = await place.cluster.createNamespace()
  const writer = await place.connect()
  const all = Array.from({ length: 1000 }, () => manifestsOf(namespace))
  await Promise.all(all.map(({ secret }) => writer.apply(secret, fence(1n))))
  const cluster = await place.connect()
  standIn.requests.reset()
  await cluster.open(namespace, never)
  await expect.poll(() => standIn.requests.count('watch')).toBe(11)
  // two pages of Secrets, one page of every other kind
  expect(standIn.requests.count('list')).toBe(12)
  expect(all.every(({ deploymentId }) => cluster.objects(deploymentId).length === 1)).toBe(true)
  standIn.requests.reset()
  const last = all.at(-1)!
  await writer.apply({ ...last.secret, stringData: { POSTGRES_PASSWORD: 'other' } }, fence(2n))
  await seen(
    cluster,
    () => cluster.objects(last.deploymentId)[0]?.metadata.annotations?.['pilothouse.dev/token'] === '2',
  )
  expect(standIn.requests.counts).toEqual({ 'get secrets': 1, 'patch secrets': 1 })
})

test('calls to the API server reuse a few connections', async () => {
  const { cluster, proxy } = await place.connectThroughProxy({ callsAtATime: 4 })
  const all = Array.from({ length: 40 }, () => manifestsOf(place.namespace))
  await Promise.all(all.map(({ secret }) => cluster.apply(secret, fence(1n))))
  expect(proxy.connections).toBeLessThanOrEqual(4)
  expect(proxy.connections).toBeGreaterThan(0)
})
