/** An impossible change of the database's volume blocks no deploy and is reported. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { bytesOf } from '../../src/dataplane/kubernetes/render/resources.ts'
import { options as RENDER } from './render-support.ts'
import { runOf, serving, type Tenant, useSite, V2 } from './runtime-support.ts'

const CLASSES = [{ name: 'standard' }, { name: 'growing', allowVolumeExpansion: true }]
const logged: string[] = []
const site = useSite({ standIn: { storageClasses: CLASSES }, log: pino({}, { write: (line) => logged.push(line) }) })

// a real cluster has its own storage classes
const ownClasses = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

async function stored(spec: object, storageClass: string | null = null): Promise<Tenant> {
  const render = { ...RENDER, storageClass }
  const { runtime } = await site.another({ render })
  return serving({ ...site, runtime }, { spec })
}

async function size(tenant: Tenant): Promise<string> {
  const claim = await tenant.object('v1', 'PersistentVolumeClaim', tenant.names.database)
  return (claim!.spec as { resources: { requests: { storage: string } } }).resources.requests.storage
}

test('a new deployment is applied once, and fields that the cluster fills in are not reported', async () => {
  logged.length = 0
  const tenant = await stored({ db_storage_gi: 2 })
  await expect.poll(() => tenant.runtime.health(tenant.id)?.ready).toBe(1)
  expect(logged.filter((line) => /changed or removed/.test(line))).toEqual([])
})

test('a volume keeps its size when the spec shrinks it, and the deploy log says so', async () => {
  const tenant = await stored({ db_storage_gi: 3 })
  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  await other.deploy(other.revision(V2, { number: 2 }), { spec: { db_storage_gi: 1 } })
  expect(await other.image()).toBe(V2)
  expect(await size(other)).toBe('3Gi')
  await other.log.seen(/The volume of the database keeps its 3Gi/)
  expect(runtime.health(other.id)?.message).toMatch(/keeps its 3Gi/)
  // the claim was not refused: all its other changes were applied
  const claim = await other.object('v1', 'PersistentVolumeClaim', other.names.database)
  expect(claim!.metadata.annotations?.['pilothouse.dev/token']).toBe('2')
})

ownClasses('a volume that can’t grow does not block deploys, and the reason is reported', async () => {
  const tenant = await stored({ db_storage_gi: 1 })
  await tenant.deploy(tenant.revision(V2), { spec: { db_storage_gi: 2 } })
  expect(await tenant.image()).toBe(V2)
  expect(await size(tenant)).toBe('1Gi')
  await tenant.log.seen(/stays at 1Gi\. .*must support resize/)
  await expect.poll(() => tenant.runtime.health(tenant.id)?.message).toMatch(/stays at 1Gi/)
  tenant.run = runOf(tenant.run!.revision, { spec: { db_storage_gi: 1 } })
  tenant.ensure()
  await expect.poll(() => tenant.runtime.health(tenant.id)?.message).toBeNull()
})

ownClasses('a volume grows if its class allows it, and keeps its class when the setting names another', async () => {
  const tenant = await stored({ db_storage_gi: 1 }, 'growing')
  const { runtime } = await site.another({ render: { ...RENDER, storageClass: 'standard' } })
  const other = tenant.takenOver(runtime, '2')
  await other.deploy(other.revision(V2, { number: 2 }), { spec: { db_storage_gi: 2 } })
  expect(await size(other)).toBe('2Gi')
  const claim = await other.object('v1', 'PersistentVolumeClaim', other.names.database)
  expect((claim!.spec as { storageClassName: string }).storageClassName).toBe('growing')
})

test('volume sizes compare equal in any notation', () => {
  expect(bytesOf('1Gi')).toBe(bytesOf('1073741824'))
  expect(bytesOf('2Ti')).toBeGreaterThan(bytesOf('2T'))
  expect(bytesOf('1500M')).toBe(bytesOf('1.5G'))
  expect(bytesOf('12e6')).toBe(12_000_000)
})
