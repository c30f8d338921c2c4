/** External database and cache by secret references: Pilothouse creates none, and an earlier one keeps its data. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { find, keyOf, render, schemaErrors } from './render-support.ts'
import { openSite, runOf, type Site, serving, type Tenant, V1 } from './runtime-support.ts'

let site: Site
beforeAll(async () => {
  site = await openSite()
  await site.core.createNamespacedSecret({
    namespace: site.namespace,
    body: { metadata: { name: 'managed' }, stringData: { uri: 'postgresql://db.example.com/x', redis: 'redis://r' } },
  })
})
afterAll(() => site.close())

const DATABASE = { name: 'POSTGRES_URI_CUSTOM', secret_name: 'managed', secret_key: 'uri' }
const CACHE = { name: 'REDIS_URI_CUSTOM', secret_name: 'managed', secret_key: 'redis' }

/** Returns the source of a variable in the agent's container. */
async function keyIn(tenant: Tenant, variable: string): Promise<string | undefined> {
  const [pod] = await tenant.pods()
  const found = pod?.spec?.containers[0]?.env?.find(({ name }) => name === variable)?.valueFrom?.secretKeyRef
  return found && `${found.name}/${found.key}`
}

async function kindsOf(tenant: Tenant): Promise<string[]> {
  const { database, cache } = tenant.names
  const found = await Promise.all([
    tenant.object('apps/v1', 'StatefulSet', database),
    tenant.object('v1', 'Service', database),
    tenant.object('v1', 'PersistentVolumeClaim', database),
    tenant.object('v1', 'Secret', database),
    tenant.object('apps/v1', 'Deployment', cache),
    tenant.object('v1', 'Service', cache),
  ])
  return found.flatMap((object) =>
    object ? [`${object.kind} ${object.metadata.name === cache ? 'cache' : 'database'}`] : [],
  )
}

test('a database or cache is created only without an external one', () => {
  const made = (secretReferences: (typeof DATABASE)[]) => render({}, { secretReferences }).map(keyOf)
  expect(made([DATABASE])).toEqual(
    made([]).filter((key) => !/^(StatefulSet|PersistentVolumeClaim|Service)\/database$/.test(key)),
  )
  expect(made([CACHE])).toEqual(made([]).filter((key) => !/\/cache$/.test(key)))
  const manifests = render({}, { secretReferences: [DATABASE, CACHE] })
  const { env } = find(manifests, 'Deployment/queue').spec.template.spec.containers[0]
  const at = (variable: string) => env.find(({ name }: { name: string }) => name === variable).valueFrom.secretKeyRef
  for (const variable of ['DATABASE_URI', 'POSTGRES_URI', 'POSTGRES_URI_CUSTOM'])
    expect(at(variable)).toEqual({ name: 'managed', key: 'uri' })
  for (const variable of ['REDIS_URI', 'REDIS_URI_CUSTOM'])
    expect(at(variable)).toEqual({ name: 'managed', key: 'redis' })
  expect(manifests.flatMap(schemaErrors)).toEqual([])
})

test('a deployment with external database and cache is provisioned without waiting for either, and their Secrets must exist', async () => {
  const secretReferences = [DATABASE, CACHE]
  const tenant = await serving(site, { secretReferences })
  expect(await kindsOf(tenant)).toEqual(['Secret database'])
  expect(await keyIn(tenant, 'DATABASE_URI')).toBe('managed/uri')
  const lost = { secretReferences: [{ ...DATABASE, secret_key: 'lost' }] }
  await expect(tenant.prepare(tenant.revision(V1), lost)).rejects.toMatchObject({ reason: 'SECRET_MISSING' })
  await tenant.teardown()
  expect(await kindsOf(tenant)).toEqual([])
})

test('a replaced database is removed when no pod uses it, and its volume stays and is used again when the database returns', async () => {
  const tenant = await serving(site)
  const volume = await tenant.object('v1', 'PersistentVolumeClaim', tenant.names.database)
  tenant.run = runOf(tenant.run!.revision, { secretReferences: [DATABASE] })
  tenant.ensure()
  const cache = ['Deployment cache', 'Service cache']
  const kept = ['PersistentVolumeClaim database', 'Secret database', ...cache]
  await expect.poll(() => kindsOf(tenant)).toEqual(kept)
  expect(await keyIn(tenant, 'POSTGRES_URI')).toBe('managed/uri')
  await tenant.log.seen(/POSTGRES_URI_CUSTOM replaces .* data stay in PersistentVolumeClaim/)
  tenant.run = runOf(tenant.run!.revision)
  tenant.ensure()
  await expect.poll(() => keyIn(tenant, 'POSTGRES_URI')).toBe(`${tenant.names.database}/DATABASE_URI`)
  await expect.poll(async () => (await tenant.pods('database')).length).toBe(1)
  const again = await tenant.object('v1', 'PersistentVolumeClaim', tenant.names.database)
  expect(again!.metadata.uid).toBe(volume!.metadata.uid)
  expect(await kindsOf(tenant)).toHaveLength(6)
})
