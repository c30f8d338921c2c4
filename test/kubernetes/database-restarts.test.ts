/**
 * Restarts of databases: a changed setting of the listener restarts a few at a time, and a volume never gets another
 * major version of Postgres.
 */
import { expect, test } from 'vitest'
import type { RenderOptions } from '../../src/dataplane/kubernetes/objects/types.ts'
import { postgresMajor } from '../../src/dataplane/kubernetes/reconcile/database-volume.ts'
import { RestartLimit } from '../../src/dataplane/kubernetes/rollout/infrastructure-restarts.ts'
import { options } from './render-support.ts'
import { eventually, serving, Tenant, useSite, V1 } from './runtime-support.ts'

const site = useSite()

// only a stand-in can delay a pod on demand
const heldBack = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

/** Gives the deployment to a listener with other settings. */
async function withSettings(changes: Partial<RenderOptions>, ...tenants: Tenant[]): Promise<Tenant[]> {
  const { runtime } = await site.another({ render: { ...options, ...changes } })
  return tenants.map((tenant) => {
    const other = tenant.takenOver(runtime, '2')
    other.ensure()
    return other
  })
}

async function databaseImage(tenant: Tenant): Promise<string> {
  const set = await tenant.object('apps/v1', 'StatefulSet', tenant.names.database)
  const { template } = set!.spec as { template: { spec: { containers: { image: string }[] } } }
  return template.spec.containers[0]!.image
}

heldBack(
  'a changed image restarts the databases one after the other, each when the previous one is ready',
  async () => {
    const tenants = [await serving(site), await serving(site), await serving(site)]
    // the test decides when its pods become ready
    const postgresImage = 'registry.example.com/database:slow'
    let most = 0
    const stop = site.cluster.onChange(() => {
      const pods = tenants.flatMap(({ id }) => site.cluster.pods(id))
      const restarting = pods.filter(
        ({ spec, status }) =>
          spec?.containers[0]?.image === postgresImage &&
          !status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
      )
      most = Math.max(most, restarting.length)
    })
    const [first, ...others] = await withSettings({ postgresImage }, ...tenants)
    const released = new Set<string>()
    const started = async () => {
      const all = await Promise.all([first!, ...others].map((tenant) => tenant.pods('database')))
      return all.flat().filter(({ spec }) => spec?.containers[0]?.image === postgresImage)
    }
    for (let n = 1; n <= tenants.length; n++) {
      await expect.poll(async () => (await started()).length >= n).toBeTruthy()
      const pods = await started()
      expect(pods).toHaveLength(n)
      for (const { metadata } of pods) {
        if (released.has(metadata!.name!)) continue
        released.add(metadata!.name!)
        const pod = { namespace: site.namespace, name: metadata!.name! }
        await eventually(async () => {
          site.test.standIn!.release(pod)
          const { status } = await site.core.readNamespacedPod(pod)
          return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
        })
      }
    }
    stop()
    expect(most).toBe(1)
  },
)

test('a database keeps its image, with a message, when the new image has another major version of Postgres than the volume', async () => {
  const tenant = await serving(site)
  const [other] = await withSettings({ postgresImage: 'postgres:17' }, tenant)
  const { runtime } = other!
  const said =
    'POSTGRES_IMAGE is postgres:17, but the volume of the database was made by Postgres 16: the database keeps postgres:16. Set POSTGRES_IMAGE to an image of Postgres 16, or dump the data and restore them into a new deployment.'
  await expect
    .poll(() => runtime.health(other!.id))
    .toMatchObject({ reason: 'CONFIG_INVALID', message: said, ready: 1 })
  await other!.deploy(other!.revision(V1, { number: 2 }))
  await other!.log.seen(/^POSTGRES_IMAGE is postgres:17, .* the database keeps postgres:16\./)
  expect(await databaseImage(other!)).toBe('postgres:16')
  const fresh = new Tenant(site, {}, runtime)
  await fresh.provision()
  expect(await databaseImage(fresh)).toBe('postgres:17')
  // a digest shows no version, and the volume still records its own
  const [third] = await withSettings({ postgresImage: 'postgres:16.4' }, other!)
  await expect.poll(() => databaseImage(third!)).toBe('postgres:16.4')
  const volume = await third!.object('v1', 'PersistentVolumeClaim', third!.names.database)
  expect(volume!.metadata.annotations).toMatchObject({ 'pilothouse.dev/postgres-major': '16' })
})

test.each([
  ['postgres:17', 17],
  ['postgres:17.2-alpine@sha256:abc', 17],
  ['registry:5000/mirror/postgis:16-3.5', 16],
  ['pgvector/pgvector:0.8.0-pg17', 17],
  ['timescale/timescaledb:latest-pg16', 16],
  ['citusdata/citus:12.1', null],
  ['postgres@sha256:abc', null],
  ['postgres', null],
  ['registry:5000/postgres', null],
])('the image %s has the major version %s', (image, major) => {
  expect(postgresMajor(image)).toBe(major)
})

test('a tenth of the deployments, at least one, may restart at the same time, and a finished restart frees its place', () => {
  let held = 9
  const limit = new RestartLimit(() => held)
  const woken: string[] = []
  const begin = (id: string) => limit.begin(id, () => woken.push(id))
  expect(['a', 'b', 'c'].map(begin)).toEqual([true, false, false])
  expect(begin('a')).toBe(true)
  held = 25
  expect(begin('d')).toBe(true)
  limit.end('c')
  limit.end('a')
  expect(woken).toEqual(['b'])
  expect(begin('b')).toBe(true)
  expect(begin('e')).toBe(false)
})
