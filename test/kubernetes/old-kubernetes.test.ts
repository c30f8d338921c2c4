/** The oldest supported Kubernetes: the same lifecycle of a deployment, without the features that version lacks. */
import { expect, test } from 'vitest'
import { image, runOf, serving, Tenant, useSite } from './runtime-support.ts'

const site = useSite({ standIn: { version: '1.20' } })

test('an old cluster supports creating, updating, repairing and deleting a deployment', async () => {
  const tenant = await serving(site)
  await tenant.deploy(tenant.revision(image('2')))
  expect(await tenant.image()).toBe(image('2'))
  const { base, database } = tenant.names
  await site.core.deleteNamespacedService({ namespace: site.namespace, name: base })
  await expect
    .poll(() => tenant.object('v1', 'Service', base))
    .toMatchObject({
      metadata: { labels: { 'app.kubernetes.io/component': 'server' }, annotations: { 'pilothouse.dev/token': '1' } },
      spec: { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP' }] },
    })
  await tenant.teardown()
  for (const name of [base, database]) expect(await tenant.object('v1', 'Service', name)).toBeNull()
})

test('labels removed from a spec are also removed from its Services', async () => {
  const tenant = new Tenant(site)
  const spec = { labels: { team: 'blue' } }
  await tenant.provision(spec)
  await tenant.deploy(tenant.revision(image('1')), { spec })
  const labels = async () => (await tenant.object('v1', 'Service', tenant.names.base))!.metadata.labels!
  expect(await labels()).toHaveProperty('team', 'blue')
  tenant.run = runOf(tenant.run!.revision)
  tenant.ensure()
  await expect.poll(labels).not.toHaveProperty('team')
})

test('an old cluster refuses to remove a sidecar’s probe: the deploy reports it, and the pods keep serving', async ({
  skip,
}) => {
  skip(site.test.minor >= 22, 'newer clusters remove it')
  const tenant = new Tenant(site)
  const sidecar = { name: 'beside', image: image('1') }
  const spec = { sidecars: [{ ...sidecar, livenessProbe: { httpGet: { path: '/', port: 8000 } } }] }
  await tenant.provision()
  await tenant.deploy(tenant.revision(image('1')), { spec })
  const without = tenant.prepare(tenant.revision(image('2')), { spec: { sidecars: [sidecar] } })
  await expect(without).rejects.toThrow(/containers\[1\]\.livenessProbe/)
  await tenant.deploy(tenant.revision(image('2')), { spec })
  expect(await tenant.image()).toBe(image('2'))
})
