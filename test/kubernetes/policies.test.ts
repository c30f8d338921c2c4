/** NetworkPolicies and PodDisruptionBudgets: created, repaired, deleted, and left out without permission. */
import { NetworkingV1Api, RbacAuthorizationV1Api } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { ApiRefused } from '../../src/dataplane/kubernetes/api-server/errors.ts'
import { KINDS } from '../../src/dataplane/kubernetes/api-server/kinds.ts'
import { DEFAULT_TIMES } from '../../src/dataplane/kubernetes/api-server/retry.ts'
import { Reflector } from '../../src/dataplane/kubernetes/informers/reflector.ts'
import { type ClusterAccess, Store } from '../../src/dataplane/kubernetes/informers/store.ts'
import { claimOf } from '../dataplane/support.ts'
import { LISTENER_RULES } from '../support/chart.ts'
import { options } from './render-support.ts'
import { runOf, serving, Tenant, useSite } from './runtime-support.ts'

const site = useSite({}, { relist: 500 })

const SEVERAL = { min_scale: 2, max_scale: 2 }

const policy = (tenant: Tenant, name: string) => tenant.object('networking.k8s.io/v1', 'NetworkPolicy', name)
const budget = (tenant: Tenant) => tenant.object('policy/v1', 'PodDisruptionBudget', tenant.names.server)
// biome-ignore lint/suspicious/noExplicitAny: fields of any kind
const specOf = (object: unknown): any => (object as { spec: unknown }).spec

test('a database accepts only its own agents, agents can’t reach the metadata address, and a drain takes one replica at a time', async ({
  skip,
}) => {
  skip(site.test.minor < 21, 'such budgets are there from 1.21 on')
  const tenant = await serving(site, { spec: SEVERAL })
  const { revision } = tenant.run!
  const own = (...components: string[]) => ({
    matchLabels: { 'pilothouse.dev/deployment-id': tenant.id },
    matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'In', values: components }],
  })
  // the client's generic object type loses `from`
  const { namespace } = site
  const network = site.config.makeApiClient(NetworkingV1Api)
  const ofDatabase = await network.readNamespacedNetworkPolicy({ namespace, name: tenant.names.database })
  expect(specOf(ofDatabase)).toMatchObject({
    podSelector: own('database', 'cache'),
    policyTypes: ['Ingress'],
    ingress: [{ _from: [{ podSelector: own('server', 'queue') }], ports: [{ port: 5432 }, { port: 6379 }] }],
  })
  const agents = specOf(await policy(tenant, tenant.names.base))
  expect(agents).toMatchObject({ podSelector: own('server', 'queue'), policyTypes: ['Egress'] })
  // the metadata address is allowed where it is the cluster's DNS
  const [anywhere, dns] = agents.egress
  expect(anywhere.to).toContainEqual({
    ipBlock: { cidr: '0.0.0.0/0', except: expect.arrayContaining(['169.254.169.254/32']) },
  })
  expect(anywhere.to).toContainEqual({
    ipBlock: { cidr: '::/0', except: expect.arrayContaining(['fd00:ec2::254/128', 'fd20:ce::254/128']) },
  })
  expect(dns).toMatchObject({
    to: [{ ipBlock: { cidr: '169.254.169.254/32' } }],
    ports: [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ],
  })
  expect(specOf(await budget(tenant))).toMatchObject({ maxUnavailable: 1 })

  // a policy that was widened by hand is restored
  const open = { spec: { ingress: [{}] } }
  await site.objects.patch('networking.k8s.io/v1', 'NetworkPolicy', site.namespace, tenant.names.database, open)
  const shut = async () => specOf(await policy(tenant, tenant.names.database)).ingress[0].ports?.length === 2
  await expect.poll(shut).toBe(true)

  // an agent with its own service account may use the metadata address
  await site.core.createNamespacedServiceAccount({ namespace: site.namespace, body: { metadata: { name: 'cloud' } } })
  tenant.run = runOf(revision, { spec: { service_account_name: 'cloud' } })
  tenant.ensure()
  await expect.poll(() => policy(tenant, tenant.names.base)).toBeNull()
  await expect.poll(() => budget(tenant)).toBeNull()

  await tenant.teardown()
  expect(await policy(tenant, tenant.names.database)).toBeNull()
})

test('an agent behind the door accepts requests only from the door and from its namespace', async () => {
  const render = { ...options, appsUrl: 'https://{name}.apps.example.com', doorNamespace: 'control' }
  const { runtime } = await site.another({ render })
  const deployment = { ...claimOf().deployment, addressName: 'support-bot' }
  const tenant = new Tenant(site, { deployment }, runtime)
  await tenant.provision()
  expect((await tenant.prepare(tenant.revision('registry.example.com/agent:1'))).url).toBe(
    'https://support-bot.apps.example.com',
  )
  const network = site.config.makeApiClient(NetworkingV1Api)
  const shut = specOf(
    await network.readNamespacedNetworkPolicy({ namespace: site.namespace, name: tenant.names.server }),
  )
  expect(shut).toMatchObject({
    podSelector: { matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'In', values: ['server'] }] },
    policyTypes: ['Ingress'],
    ingress: [
      {
        _from: [
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'control' } },
            podSelector: { matchLabels: { 'app.kubernetes.io/name': 'pilothouse-door' } },
          },
          { podSelector: {} },
        ],
      },
    ],
  })
  await tenant.teardown()
  expect(await policy(tenant, tenant.names.server)).toBeNull()
})

test('a serving deployment that gets a name moves from its Ingress to the door, without new pods, and its address is reported', async () => {
  const render = {
    ...{ ...options, ingressDomain: 'agents.example.com' },
    ...{ appsUrl: 'https://{name}.apps.example.com', doorNamespace: 'control' },
  }
  const { runtime } = await site.another({ render })
  const ingress = () => before.object('networking.k8s.io/v1', 'Ingress', before.names.base)
  const before = await serving({ ...site, runtime })
  const pods = await before.uids()
  await expect.poll(() => runtime.url!(before.id)).toMatch(/^http:\/\/.*\.agents\.example\.com$/)
  expect(await ingress()).not.toBeNull()

  const deployment = { ...before.claim.deployment, addressName: 'support-bot' }
  const named = before.takenOver(runtime, '2', { deployment })
  named.ensure()
  await expect.poll(() => runtime.url!(named.id)).toBe('https://support-bot.apps.example.com')
  await expect.poll(ingress).toBeNull()
  expect(await policy(named, named.names.server)).not.toBeNull()
  expect(await named.uids()).toEqual(pods)
})

test('switching network policies off deletes the existing ones', async () => {
  const tenant = await serving(site)
  const without = await site.another({ render: { ...options, networkPolicies: 'none' } })
  const other = tenant.takenOver(without.runtime, '2')
  other.ensure()
  const gone = async () => !(await policy(tenant, tenant.names.base)) && !(await policy(tenant, tenant.names.database))
  await expect.poll(gone).toBe(true)
})

test('policies are left out under a Role of an earlier version, health reports it once, and they are created when the Role has the permissions', async () => {
  const namespace = await site.test.createNamespace()
  const before = LISTENER_RULES.flatMap(({ apiGroups, resources, verbs }) => {
    const known = (resources as string[]).filter((name) => !['networkpolicies', 'poddisruptionbudgets'].includes(name))
    return known.length > 0 ? [{ apiGroups, resources: known, verbs }] : []
  })
  const kubeconfig = await site.test.limitedKubeconfig({ namespaces: [namespace], rules: before })
  const { runtime } = await site.another({ namespace }, kubeconfig)
  const tenant = await serving({ ...site, namespace, runtime }, { spec: SEVERAL })
  await expect.poll(() => runtime.health(tenant.id)?.ready).toBe(2)
  const message = () => runtime.health(tenant.id)?.message ?? null
  await expect.poll(() => message()).not.toBe(null)
  expect(runtime.health(tenant.id)).toMatchObject({ ready: 2, desired: 2, reason: 'CLUSTER_REFUSED' })
  expect(message()).toMatch(
    /^These objects are not created: NetworkPolicy, PodDisruptionBudget\. .*cannot list resource.* Apply the manifest of the listener again to grant the permissions\.$/,
  )
  expect(await policy(tenant, tenant.names.base)).toBeNull()

  const rbac = site.config.makeApiClient(RbacAuthorizationV1Api)
  const [role] = (await rbac.listNamespacedRole({ namespace })).items
  await rbac.replaceNamespacedRole({ namespace, name: role!.metadata!.name!, body: { ...role, rules: LISTENER_RULES } })
  const left =
    site.test.minor < 21
      ? 'These objects are not created: PodDisruptionBudget. The cluster has no poddisruptionbudgets of policy/v1.'
      : null
  await expect.poll(async () => message() === left && Boolean(await policy(tenant, tenant.names.base))).toBeTruthy()
  expect(await policy(tenant, tenant.names.database)).not.toBeNull()
  expect(message()).toBe(left)
})

test('health says that a cluster lacks PodDisruptionBudgets, and does not blame permissions', async () => {
  const call = () => Promise.reject(new ApiRefused(404, 'Unknown', 'HTTP 404'))
  const access = { api: { call }, store: new Store(), times: DEFAULT_TIMES } as object as ClusterAccess
  const kind = KINDS.find(({ resource }) => resource === 'poddisruptionbudgets')!
  const silent = () => undefined
  const how = { access, kind, namespace: 'n', onFailure: silent, onRecovery: silent, onRefused: silent }
  const reflector = new Reflector(how)
  await reflector.ready
  expect(reflector.refusal).toBe('The cluster has no poddisruptionbudgets of policy/v1.')
  reflector.close()
})

test('objects of an earlier version are adopted: they get the labels and keep their uid', async () => {
  const tenant = await serving(site)
  const before = await tenant.server()
  expect(before.metadata.labels).toMatchObject({
    'app.kubernetes.io/instance': tenant.names.base,
    'app.kubernetes.io/part-of': 'pilothouse',
    'app.kubernetes.io/version': '1',
  })
  // the state that an earlier version left
  const without = { 'app.kubernetes.io/instance': null, 'app.kubernetes.io/part-of': null }
  const metadata = { labels: without }
  await site.objects.patch('apps/v1', 'Deployment', site.namespace, tenant.names.server, { metadata })
  const labelled = async () => 'app.kubernetes.io/instance' in (await tenant.server()).metadata.labels
  await expect.poll(labelled).toBe(true)
  const after = await tenant.server()
  expect(after.metadata.uid).toBe(before.metadata.uid)
  expect(after.spec.selector).toEqual(before.spec.selector)
})
