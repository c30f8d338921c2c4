/** Counts the API server calls of a deployment. Only the stand-in can count them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSite, runOf, type Site, Tenant, V1, V2 } from './runtime-support.ts'

const counted = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

const spec = { queue_min_scale: 1, queue_max_scale: 1 }

let site: Site
let tenant: Tenant
beforeAll(async () => {
  if (process.env.TEST_KUBECONFIG) return
  site = await openSite()
  // the first deployment of a namespace starts its lists and watches
  await site.cluster.open(site.namespace, new AbortController().signal)
  tenant = new Tenant(site)
  await quiet()
})
afterAll(() => site?.close())

/** Resolves when the API server got no call for a while. */
async function quiet(): Promise<void> {
  const { requests } = site.test.standIn!
  for (let before = -1; before !== requests.total; ) {
    before = requests.total
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

/**
 * Counts the calls that `action` causes, until no more follow. Watches of a namespace belong to no deployment and
 * don't count.
 */
async function callsOf(what: () => Promise<unknown>): Promise<{ counts: Record<string, number>; total: number }> {
  const { requests } = site.test.standIn!
  requests.reset()
  await what()
  await quiet()
  const counts = Object.fromEntries(Object.entries(requests.counts).filter(([call]) => !call.startsWith('watch ')))
  return { counts, total: Object.values(counts).reduce((sum, n) => sum + n, 0) }
}

counted('a new deployment costs one call per object, one read of the password, and its logs', async ({ skip }) => {
  const first = tenant.revision(V1, { secrets: [{ name: 'KEY', value: 'value' }] })

  const { counts, total } = await callsOf(async () => {
    await tenant.provision(spec)
    await tenant.deploy(first, { spec })
  })
  // not before the deploy, which the other tests need
  skip(site.test.minor < 23, 'a new Service costs two more calls before 1.23')
  expect(counts).toEqual({
    'get secrets': 1,
    'patch secrets': 2,
    'patch persistentvolumeclaims': 1,
    'patch statefulsets': 1,
    'patch services': 3,
    'patch deployments': 3,
    'patch networkpolicies': 2,
    'get pods/log': 2,
  })
  expect(total).toBeLessThanOrEqual(16)
  expect(tenant.log.lines.filter((line) => line.startsWith('Waiting'))).toEqual([])
})

counted('an update costs one call per changed object, and one to delete the old Secret', async () => {
  const second = tenant.revision(V2, { secrets: [{ name: 'KEY', value: 'other' }] })
  const { counts } = await callsOf(() => tenant.deploy(second, { spec }))
  expect(counts).toEqual({ 'patch secrets': 1, 'patch deployments': 2, 'delete secrets': 1, 'get pods/log': 2 })
})

counted('a redeploy of the served revision costs one call each for server and queue', async () => {
  const { revision: serving } = tenant.run!
  const again = { ...serving, attempt: serving.attempt + 1 }
  tenant.run = runOf(again, { spec })
  const { counts } = await callsOf(() => tenant.deploy(again, { spec }))
  expect(counts).toEqual({ 'patch deployments': 2, 'get pods/log': 2 })
})

counted('an hour without changes costs no call: watches reopen at their last version and list nothing', async () => {
  const { standIn } = site.test
  const { counts } = await callsOf(async () => {
    for (let n = 1; n <= 3; n++) {
      const opened = standIn!.requests.count('watch')
      standIn!.disconnect()
      await expect.poll(() => standIn!.requests.count('watch'), { timeout: 30_000 }).toBeGreaterThan(opened)
      tenant.ensure()
    }
    await expect.poll(() => site.cluster.problem(), { timeout: 30_000 }).toBeNull()
  })
  // a cut log stream continues
  const { 'get pods/log': _, ...asked } = counts
  expect(asked).toEqual({})
})
