/**
 * A namespace that enforces the Pod Security Standard "restricted", and specs that are refused before any object is
 * created.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withAdvice } from '../../src/dataplane/kubernetes/api-server/messages.ts'
import { options } from './render-support.ts'
import { openSite, runOf, type Site, Tenant, V1 } from './runtime-support.ts'

let site: Site
beforeAll(async () => {
  site = await openSite({ render: { ...options, podSecurity: 'restricted', podUser: 10_001 } })
  await site.core.patchNamespace({
    name: site.namespace,
    body: [{ op: 'add', path: '/metadata/labels', value: { 'pod-security.kubernetes.io/enforce': 'restricted' } }],
  })
})
afterAll(() => site.close())

const sidecars = (securityContext: Record<string, unknown>) => ({
  sidecars: [{ name: 'proxy', image: V1, securityContext }],
})

test('server, queue, database and cache run in a restricted namespace', async () => {
  const tenant = new Tenant(site)
  const spec = { queue_min_scale: 1, queue_max_scale: 1, ...sidecars({ capabilities: { add: ['NET_BIND_SERVICE'] } }) }
  await tenant.provision(spec)
  await tenant.deploy(tenant.revision(V1), { spec })
  expect(await tenant.pods()).toHaveLength(1)
  expect(await tenant.pods('queue')).toHaveLength(1)
  const [database] = await tenant.pods('database')
  expect(database!.spec!.securityContext).toMatchObject({ runAsUser: 10_001, fsGroup: 10_001 })
  const [cache] = await tenant.pods('cache')
  expect(cache!.spec!.securityContext).toMatchObject({ runAsUser: 10_001 })
})

test('a privileged sidecar is refused before any object is created, at the first deploy and while a revision serves', async () => {
  const tenant = new Tenant(site)
  await tenant.provision()
  const spec = sidecars({ privileged: true })
  await expect(tenant.prepare(tenant.revision(V1), { spec })).rejects.toMatchObject({
    reason: 'CONFIG_INVALID',
    message: expect.stringMatching(/POD_SECURITY=restricted .* sidecars\.0\.securityContext\.privileged: true/),
  })
  expect(await tenant.server()).toBeNull()
  await tenant.deploy(tenant.revision(V1))
  const before = await tenant.uids()
  tenant.run = runOf(tenant.run!.revision, { spec })
  tenant.ensure()
  await expect.poll(() => tenant.runtime.health(tenant.id)?.reason).toBe('CONFIG_INVALID')
  expect(tenant.runtime.health(tenant.id)?.message).toMatch(/sidecars\.0\.securityContext\.privileged/)
  expect(await tenant.uids()).toEqual(before)
})

test.each([
  [
    'pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
    /true\. Set POD_SECURITY=restricted/,
  ],
  ['Error: container has runAsNonRoot and image will run as root (pod: "x")', /build it with a numeric USER\.$/],
  ['unable to validate against any security context constraint: []', /POD_USER/],
  ['failed quota: compute: must specify limits.cpu for: agent', /agent\. Change the resource spec, or the DEFAULT_…/],
  ['exceeded quota: compute', /compute$/],
])('the cluster’s message %j is followed by advice about the matching setting, if there is one', (message, said) => {
  expect(withAdvice(message)).toMatch(said)
})
