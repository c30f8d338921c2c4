/** GATEWAY: HTTPRoutes instead of Ingresses, in clusters with and without the custom resources of the Gateway API. */
import { afterEach, expect, test } from 'vitest'
import type { RenderOptions } from '../../src/dataplane/kubernetes/objects/types.ts'
import { listenerRules } from '../support/chart.ts'
import { HTTP_ROUTE_DEFINITION } from '../support/kubernetes/stand-in/custom.ts'
import { options } from './render-support.ts'
import { eventually, serving, Tenant, useSite, V1, V2 } from './runtime-support.ts'

const site = useSite({}, { relist: 300 })
const standIn = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))

const API = 'gateway.networking.k8s.io/v1'
const { apiVersion, kind, metadata } = HTTP_ROUTE_DEFINITION
const install = () => site.objects.create(structuredClone(HTTP_ROUTE_DEFINITION))
afterEach(async () => {
  if (await site.objects.get(apiVersion, kind, '', metadata.name))
    await site.objects.remove(apiVersion, kind, '', metadata.name)
})

const AT_INGRESS = { ...options, ingressDomain: 'agents.example.com' }
const AT_GATEWAY = { ...AT_INGRESS, gateway: { namespace: 'gateways', name: 'public' } }

/** A listener with the rights that the chart grants with GATEWAY. */
async function listener(render: RenderOptions) {
  const rules = listenerRules({ GATEWAY: 'gateways/public' })
  const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [site.namespace], rules })
  return site.another({ render }, kubeconfig)
}

const route = (tenant: Tenant) => tenant.object(API, 'HTTPRoute', tenant.names.base)
const ingress = (tenant: Tenant) => tenant.object('networking.k8s.io/v1', 'Ingress', tenant.names.base)

standIn('a deployment has an HTTPRoute, which is repaired, replaces its Ingress, and is removed with it', async () => {
  await install()
  const { runtime } = await listener(AT_GATEWAY)
  const tenant = new Tenant(site, {}, runtime)
  await tenant.provision()
  const { url } = await tenant.deploy(tenant.revision(V1))
  const { spec } = (await route(tenant)) as { spec?: { hostnames: string[] } }
  expect(url).toBe(`https://${spec!.hostnames[0]}`)
  expect(await ingress(tenant)).toBeNull()
  const before = site.test.standIn!.requests.count('patch', 'httproutes')
  await tenant.deploy(tenant.revision(V2))
  expect(site.test.standIn!.requests.count('patch', 'httproutes')).toBe(before)

  await site.objects.remove(API, 'HTTPRoute', site.namespace, tenant.names.base)
  await expect.poll(() => route(tenant)).not.toBeNull()

  // the setting is removed
  const withIngress = tenant.takenOver((await listener(AT_INGRESS)).runtime, '2')
  withIngress.ensure()
  await expect.poll(async () => !(await route(tenant)) && Boolean(await ingress(tenant))).toBe(true)

  // and set again
  const again = tenant.takenOver((await listener(AT_GATEWAY)).runtime, '3')
  again.ensure()
  await expect.poll(async () => Boolean(await route(tenant)) && !(await ingress(tenant))).toBe(true)
  await again.teardown()
  expect(await route(tenant)).toBeNull()
})

standIn('health names the reason why a Gateway refuses a route', async () => {
  await install()
  const { runtime } = await listener(AT_GATEWAY)
  const tenant = await serving({ ...site, runtime })
  const why = { type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners', message: 'no listener allows it' }
  const status = { parents: [{ conditions: [why] }] }
  site.test.standIn!.setStatus('HTTPRoute', site.namespace, tenant.names.base, status)
  await eventually(() => runtime.health(tenant.id)?.reason === 'NO_ENDPOINTS')
  expect(runtime.health(tenant.id)?.message).toBe(
    'The Gateway refuses the deployment’s HTTPRoute (NotAllowedByListeners): no listener allows it',
  )
})

standIn('without the Gateway API a deploy fails with its name, the Ingress stays, and later it works', async () => {
  const before = await site.another({ render: AT_INGRESS })
  const tenant = await serving({ ...site, runtime: before.runtime })
  const { runtime } = await listener(AT_GATEWAY)
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  const why =
    'GATEWAY is set, but no HTTPRoute can be created. The cluster has no httproutes of gateway.networking.k8s.io/v1. ' +
    'Install the custom resources of the Gateway API (1.0 or newer), or remove GATEWAY.'
  await expect(other.prepare(other.revision(V2))).rejects.toMatchObject({ reason: 'CLUSTER_REFUSED', message: why })
  expect(await ingress(tenant)).not.toBeNull()
  await expect.poll(() => runtime.health(tenant.id)?.message).toBe(why)

  await install()
  await expect.poll(async () => Boolean(await route(tenant)) && !(await ingress(tenant))).toBe(true)
  await other.deploy(other.revision(V2))
})

standIn('a Role without rights on HTTPRoutes only matters with GATEWAY', async () => {
  await install()
  await serving(site)
  const { runtime } = await site.another({ render: AT_GATEWAY })
  const tenant = new Tenant(site, {}, runtime)
  await tenant.provision()
  await expect(tenant.prepare(tenant.revision(V1))).rejects.toThrow(
    /GATEWAY is set.*cannot list resource "httproutes".*Apply the manifest of the listener again/,
  )
})
