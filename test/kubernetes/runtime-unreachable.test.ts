/** API server outages during steps, and recovery. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Withdrawn } from '../../src/dataplane/worker/perform-step.ts'
import { type KubernetesProxy, proxyKubeconfig } from '../support/kubernetes/proxy.ts'
import { image, openSite, runOf, type Site, serving, Tenant } from './runtime-support.ts'

let site: Site
let proxy: KubernetesProxy
beforeAll(async () => {
  const through = async (file: string) => {
    const made = await proxyKubeconfig(file)
    proxy = made.proxy
    return made.kubeconfig
  }
  site = await openSite({ kubeconfig: through, failAfterMs: 1500 }, { call: 1000, firstRetry: 20, longestRetry: 300 })
})
afterAll(async () => {
  await site.close()
  await proxy.close()
})

const AWAY_MS = 1500

// only a stand-in can delay a pod on demand
const heldBack = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

async function away(how: 'cut' | 'freeze'): Promise<void> {
  proxy[how]()
  await new Promise((resolve) => setTimeout(resolve, AWAY_MS))
  proxy.heal()
}

heldBack.each(['cut', 'freeze'] as const)('each step continues after an API server outage (%s)', async (how) => {
  const tenant = new Tenant(site)
  const provisioning = tenant.provision()
  const [, provisioned] = await Promise.allSettled([away(how), provisioning])
  expect(provisioned.status).toBe('fulfilled')
  const deploying = tenant.deploy(tenant.revision(image('1')))
  const [, deployed] = await Promise.allSettled([away(how), deploying])
  expect(deployed.status).toBe('fulfilled')
  expect(await tenant.image()).toBe(image('1'))
  const revision = tenant.revision(image('slow'))
  const rollout = tenant.prepare(revision)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  await away(how)
  for (const { metadata } of await tenant.pods())
    site.test.standIn?.release({ namespace: site.namespace, name: metadata!.name! })
  await (await rollout).commit(async () => true)
  tenant.run = runOf(revision)
  tenant.ensure()
  const [, torn] = await Promise.allSettled([away(how), tenant.teardown()])
  expect(torn.status).toBe('fulfilled')
  expect(await tenant.server()).toBeNull()
})

heldBack('a restore that an outage interrupted finishes later and does not undo a newer deploy', async () => {
  const tenant = await serving(site)
  const before = await tenant.uids()
  const abort = new AbortController()
  const rollout = tenant.prepare(tenant.revision(image('slow')), {}, abort.signal)
  await expect.poll(async () => (await tenant.pods()).length).toBe(2)
  proxy.cut()
  abort.abort(new Withdrawn())
  await expect(rollout).rejects.toThrow('withdrawn')
  expect(await tenant.image()).toBe(image('slow'))
  expect((await tenant.uids()).filter((uid) => before.includes(uid))).toEqual(before)
  const next = tenant.deploy(tenant.revision(image('2')))
  proxy.heal()
  await next
  expect(await tenant.image()).toBe(image('2'))
})

test('a step that can’t reach the API server until its deadline reports that', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  proxy.cut()
  const failure = tenant.prepare(tenant.revision(image('1')), { deadlineMs: 1200 })
  await expect(failure).rejects.toThrow(/API server is not reachable|not reached in time/)
  proxy.heal()
})
