/** Writes to a cluster: apply and remove, and fencing of holders whose lease has expired or was lost. */
import { expect, test } from 'vitest'
import { LeaseOverError, NotNowError, StaleError } from '../../src/dataplane/kubernetes/api-server/errors.ts'
import type { KubernetesProxy } from '../support/kubernetes/proxy.ts'
import { fence, manifestsOf, never, refOf, seen, usePlace } from './cluster-support.ts'

const place = usePlace()

async function applied(token = 1n) {
  const cluster = await place.connect()
  const manifests = manifestsOf(place.namespace)
  await cluster.apply(manifests.secret, fence(token))
  const service = await cluster.apply(manifests.service, fence(token))
  return { cluster, manifests, service }
}

/**
 * A holder with token 7. Its network freezes when its fence is checked for the `nth` time, so its next request is in
 * flight until the proxy heals.
 */
function freezing(proxy: KubernetesProxy, nth: number) {
  let tell: () => void
  const frozen = new Promise<void>((resolve) => {
    tell = resolve
  })
  let asked = 0
  const held = () => {
    if (++asked === nth) {
      proxy.freeze()
      tell()
    }
    return true
  }
  return { frozen, held: fence(7n, held) }
}

test('applying the same twice changes nothing', async () => {
  const { cluster, manifests, service } = await applied()
  const again = await cluster.apply(manifests.service, fence(1n))
  expect(again.metadata.resourceVersion).toBe(service.metadata.resourceVersion)
  const secret = await cluster.read(refOf(manifests.secret))
  const twice = await cluster.apply(manifests.secret, fence(1n))
  expect(twice.metadata.resourceVersion).toBe(secret!.metadata.resourceVersion)
})

test('an apply keeps fields that others added and restores changed ones', async () => {
  const { cluster, manifests } = await applied()
  const theirs = { metadata: { annotations: { 'example.com/note': 'mine' } }, spec: { sessionAffinity: 'ClientIP' } }
  await place.edit(manifests.service, { ...theirs, spec: { ...theirs.spec, selector: { app: 'other' } } })
  const after = await cluster.apply(manifests.service, fence(1n))
  expect(after.metadata.annotations).toMatchObject({ 'example.com/note': 'mine', 'pilothouse.dev/token': '1' })
  expect(after.spec).toMatchObject({
    sessionAffinity: 'ClientIP',
    selector: { app: `ph-${manifests.deploymentId}` },
  })
})

test('an apply removes fields that left the manifest', async () => {
  const { cluster, manifests } = await applied()
  const annotated = (annotations: Record<string, string>) => ({
    ...manifests.service,
    metadata: { ...manifests.service.metadata, annotations },
  })
  await cluster.apply(annotated({ 'example.com/a': '1', 'example.com/b': '1' }), fence(1n))
  const after = await cluster.apply(annotated({ 'example.com/a': '1' }), fence(1n))
  expect(after.metadata.annotations).toEqual({ 'example.com/a': '1', 'pilothouse.dev/token': '1' })
})

test('a late apply of a stale holder changes nothing', async () => {
  const { cluster, manifests } = await applied(7n)
  const newer = await place.connect()
  const current = await newer.apply(manifests.service, fence(10n))
  const late = {
    ...manifests.service,
    spec: { ...(manifests.service.spec as object), ports: [{ port: 81, protocol: 'TCP' }] },
  }
  await expect(cluster.apply(late, fence(7n))).rejects.toThrow(StaleError)
  expect(await cluster.read(refOf(late))).toEqual(current)
})

test('an apply in flight changes nothing after a newer holder’s write', async () => {
  const { manifests } = await applied(7n)
  const { cluster: slow, proxy } = await place.connectThroughProxy()
  await slow.open(place.namespace, never)
  await seen(slow, () => slow.objects(manifests.deploymentId).length === 2)
  const holder = freezing(proxy, 2)
  const late = slow.apply(manifests.service, holder.held)
  await holder.frozen
  const newer = await place.connect()
  const current = await newer.apply(manifests.service, fence(8n))
  proxy.heal()
  await expect(late).rejects.toThrow(StaleError)
  expect(await newer.read(refOf(manifests.service))).toEqual(current)
})

test('a first apply in flight changes nothing after a newer holder created the object', async () => {
  const { manifests } = await applied(7n)
  const { cluster: slow, proxy } = await place.connectThroughProxy()
  const holder = freezing(proxy, 3)
  const late = slow.apply(manifests.deployment, holder.held)
  await holder.frozen
  const newer = await place.connect()
  await newer.apply(manifests.secret, fence(8n))
  const current = await newer.apply(manifests.deployment, fence(8n))
  proxy.heal()
  await expect(late).rejects.toThrow(StaleError)
  const after = await newer.read(refOf(manifests.deployment))
  expect(after!.metadata.annotations).toMatchObject({ 'pilothouse.dev/token': '8' })
  expect(after!.metadata.uid).toBe(current.metadata.uid)
})

test('an apply in flight does not recreate an object that a newer holder removed', async () => {
  const { cluster, manifests } = await applied(7n)
  const { cluster: slow, proxy } = await place.connectThroughProxy()
  const holder = freezing(proxy, 2)
  const late = slow.apply(manifests.service, holder.held)
  await holder.frozen
  const newer = await place.connect()
  await newer.apply(manifests.secret, fence(8n))
  await newer.remove((await newer.read(refOf(manifests.service)))!, fence(8n))
  proxy.heal()
  await expect(late).rejects.toThrow(StaleError)
  expect(await cluster.read(refOf(manifests.service))).toBeNull()
})

test('a stale holder does not create an object that the newer holder has not created yet', async () => {
  const { cluster, manifests } = await applied(7n)
  const newer = await place.connect()
  await newer.apply(manifests.secret, fence(8n))
  await expect(cluster.apply(manifests.deployment, fence(7n))).rejects.toThrow(StaleError)
  expect(await newer.read(refOf(manifests.deployment))).toBeNull()
})

test('a holder with an expired lease writes nothing', async () => {
  const { cluster, manifests, service } = await applied()
  const over = fence(2n, () => false)
  await expect(cluster.apply(manifests.service, over)).rejects.toThrow(LeaseOverError)
  await expect(cluster.apply(manifests.deployment, over)).rejects.toThrow(LeaseOverError)
  await expect(cluster.remove(service, over)).rejects.toThrow(LeaseOverError)
  expect(await cluster.read(refOf(manifests.service))).toEqual(service)
  expect(await cluster.read(refOf(manifests.deployment))).toBeNull()
})

test('a lease that expires between the check and the call prevents the call', async () => {
  const { cluster, manifests, service } = await applied()
  let asked = 0
  const ending = fence(2n, () => asked++ === 0)
  await expect(cluster.apply(manifests.service, ending)).rejects.toThrow(LeaseOverError)
  expect(await cluster.read(refOf(manifests.service))).toEqual(service)
})

test('nothing is created for a deployment that was torn down', async () => {
  const cluster = await place.connect()
  const { deployment } = manifestsOf(place.namespace)
  await expect(cluster.apply(deployment, fence(1n))).rejects.toThrow(NotNowError)
  expect(await cluster.read(refOf(deployment))).toBeNull()
})

test('a terminating object is not applied', async () => {
  const { cluster, manifests } = await applied()
  const { service } = manifests
  await place.edit(service, { metadata: { finalizers: ['example.com/wait'] } })
  await cluster.remove((await cluster.read(refOf(service)))!, fence(1n))
  await expect(cluster.apply(service, fence(1n))).rejects.toThrow(NotNowError)
  await place.edit(service, { metadata: { finalizers: null } })
  const anew = await cluster.apply(service, fence(1n))
  expect(anew.metadata.deletionTimestamp).toBeUndefined()
})

test('an object that changed is removed, and a second removal is no error', async () => {
  const { cluster, manifests, service } = await applied()
  await place.edit(manifests.service, { metadata: { labels: { note: 'x' } } })
  await cluster.remove(service, fence(1n))
  expect(await cluster.read(refOf(manifests.service))).toBeNull()
  await cluster.remove(service, fence(1n))
})

test('a stale holder removes nothing', async () => {
  const { cluster, manifests, service } = await applied(7n)
  const newer = await place.connect()
  await newer.apply(manifests.service, fence(8n))
  await expect(cluster.remove(service, fence(7n))).rejects.toThrow(StaleError)
  expect(await cluster.read(refOf(manifests.service))).not.toBeNull()
})

test('a removal spares a recreated object of the same name', async () => {
  const { cluster, manifests, service } = await applied()
  await cluster.remove(service, fence(1n))
  const another = await cluster.apply(manifests.service, fence(1n))
  await cluster.remove(service, fence(1n))
  expect((await cluster.read(refOf(manifests.service)))?.metadata.uid).toBe(another.metadata.uid)
})

test('a Secret’s data can be read and is not cached', async () => {
  const { cluster, manifests } = await applied()
  await cluster.open(place.namespace, never)
  const password = Buffer.from('hunter2').toString('base64')
  expect((await cluster.read(refOf(manifests.secret)))!.data).toEqual({ POSTGRES_PASSWORD: password })
  const kept = await seen(cluster, () => cluster.objects(manifests.deploymentId).find(({ kind }) => kind === 'Secret'))
  expect(JSON.stringify(kept)).not.toMatch(/managedFields|hunter2|aHVudGVyMg/)
})

test('a missing namespace is refused', async () => {
  const cluster = await place.connect()
  const { secret } = manifestsOf('ph-test-nowhere')
  await expect(cluster.apply(secret, fence(1n))).rejects.toMatchObject({ name: 'ApiRefused', status: 404 })
})
