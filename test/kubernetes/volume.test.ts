/** An impossible change of the database's volume blocks no deploy and is reported. */
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bytesOf } from '../../src/dataplane/kubernetes/render/resources.ts'
import { options as RENDER } from './render-support.ts'
import { eventually, openSite, runOf, type Site, Tenant } from './runtime-support.ts'

let site: Site
const logged: string[] = []
beforeAll(async () => {
  site = await openSite({ standIn: { storageClasses: CLASSES }, log: pino({}, { write: (line) => logged.push(line) }) })
})
afterAll(() => site.close())

const V1 = 'registry.example.com/agent:1'
const V2 = 'registry.example.com/agent:2'
const CLASSES = [{ name: 'standard' }, { name: 'growing', allowVolumeExpansion: true }]
// a real cluster has its own storage classes
const ownClasses = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

async function serving(spec: object, storageClass: string | null = null): Promise<Tenant> {
  const render = { ...RENDER, storageClass }
  const { runtime } = await site.another({ render })
  const tenant = new Tenant(site, {}, runtime)
  await tenant.provision(spec)
  await tenant.deploy(tenant.revision(V1), { spec })
  return tenant
}

async function size(tenant: Tenant): Promise<string> {
  const claim = await tenant.object('v1', 'PersistentVolumeClaim', tenant.names.database)
  return (claim!.spec as { resources: { requests: { storage: string } } }).resources.requests.storage
}

test('a new deployment is applied once, and fields that the cluster fills in are not reported', async () => {
  logged.length = 0
  const tenant = await serving({ db_storage_gi: 2 })
  await eventually(() => tenant.runtime.health(tenant.id)?.ready === 1)
  expect(logged.filter((line) => /changed or removed/.test(line))).toEqual([])
})

test('a volume keeps its size when the spec shrinks it, and the deploy log says so', async () => {
  const tenant = await serving({ db_storage_gi: 3 })
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
  const tenant = await serving({ db_storage_gi: 1 })
  await tenant.deploy(tenant.revision(V2), { spec: { db_storage_gi: 2 } })
  expect(await tenant.image()).toBe(V2)
  expect(await size(tenant)).toBe('1Gi')
  await tenant.log.seen(/stays at 1Gi\. .*must support resize/)
  await eventually(() => tenant.runtime.health(tenant.id)?.message != null)
  expect(tenant.runtime.health(tenant.id)?.message).toMatch(/stays at 1Gi/)
  tenant.run = runOf(tenant.run!.revision, { spec: { db_storage_gi: 1 } })
  tenant.ensure()
  await eventually(() => tenant.runtime.health(tenant.id)?.message === null)
  expect(tenant.runtime.health(tenant.id)?.message).toBeNull()
})

ownClasses('a volume grows if its class allows it, and keeps its class when the setting names another', async () => {
  const tenant = await serving({ db_storage_gi: 1 }, 'growing')
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
