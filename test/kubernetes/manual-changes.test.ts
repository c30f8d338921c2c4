/**
 * Damage by users with kubectl: extra members in atomic values, labels of other deployments, a deletion during an API
 * server outage. Each is repaired, and a single mistake is not reported as contention.
 */
import { expect, test } from 'vitest'
import { Unreachable } from '../../src/dataplane/kubernetes/api-server/errors.ts'
import type { Cluster } from '../../src/dataplane/kubernetes/cluster/cluster.ts'
import { fromFieldsV1, isGranular, split } from '../support/kubernetes/stand-in/fields.ts'
import { isMap, type KubeObject } from '../support/kubernetes/stand-in/objects.ts'
import { eventually, serving, type Tenant, useSite } from './runtime-support.ts'

const site = useSite()

const onStandIn = test.skipIf(Boolean(process.env.TEST_KUBECONFIG))
const SPEC = { min_scale: 1, max_scale: 3, cpu: 0.1 }
const KINDS = ['Service', 'Deployment', 'StatefulSet', 'HorizontalPodAutoscaler', 'PersistentVolumeClaim', 'Secret']

const CHANGE = { secrets: [{ name: 'TOKEN', value: 'a secret' }] }

const objectsOf = (tenant: Tenant): KubeObject[] =>
  KINDS.flatMap((kind) => site.test.standIn!.objects(kind, site.namespace)).filter(({ metadata }) =>
    metadata.name.includes(tenant.id),
  )

// biome-ignore lint/suspicious/noExplicitAny: any member of any object
type Any = any

/** The value at a path of managedFields, with its JSON pointer for patches; null: it does not exist. */
function at(object: KubeObject, path: string): { value: Any; pointer: string } | null {
  let [value, pointer]: [Any, string] = [object, '']
  for (const element of split(path)) {
    const keys = element.startsWith('k:') ? Object.entries(JSON.parse(element.slice(2))) : null
    const name: string | number = keys
      ? (value ?? []).findIndex((item: Any) => keys.every(([key, is]) => (item[key] ?? 'TCP') === is))
      : element.slice(2)
    value = value?.[name]
    pointer += `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
  }
  return value === undefined ? null : { value, pointer }
}

/** Paths of maps and structs that the API treats as one value. */
function atomicsOf(object: KubeObject): string[] {
  const ours = object.metadata.managedFields!.find(({ manager }) => manager === 'pilothouse')!
  return [...fromFieldsV1(ours.fieldsV1)].filter((path) => {
    const value = at(object, path)?.value
    return isMap(value) && Object.keys(value).length > 0 && !isGranular(split(path), value)
  })
}

/** Sends the valid operations concurrently. Returns their number. */
async function patch({ apiVersion, kind, metadata }: KubeObject, operations: object[]): Promise<number> {
  const root = apiVersion.includes('/') ? 'apis' : 'api'
  const plural = `${kind.toLowerCase()}s`
  const { token } = JSON.parse(site.test.standIn!.kubeconfig()).users[0].user
  const url = `${site.test.standIn!.url}/${root}/${apiVersion}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json-patch+json' }
  const send = async (given: object[], query: string) => {
    const answer = await fetch(`${url}?fieldManager=hand${query}`, {
      method: 'PATCH',
      headers,
      body: JSON.stringify(given),
    })
    await answer.text()
    return answer.ok
  }
  const fit: object[] = []
  for (const operation of operations) if (await send([...fit, operation], '&dryRun=All')) fit.push(operation)
  expect(await send(fit, '')).toBe(true)
  return fit.length
}

onStandIn('every member that a user adds to an atomic map or struct is removed again', async () => {
  const tenant = await serving(site, { spec: SPEC }, CHANGE)
  const before = objectsOf(tenant)
  for (const object of before) {
    const additions = atomicsOf(object).flatMap((path) =>
      Object.entries({ evil: 'yes', optional: true }).map(([name, value]) => ({
        op: 'add',
        path: `${at(object, path)!.pointer}/${name}`,
        value,
      })),
    )
    const taken = await patch(object, additions)
    // the selector of a Service, and the secretKeyRef of each variable
    if (['Service', 'Deployment', 'StatefulSet'].includes(object.kind)) expect(taken).toBeGreaterThan(0)
  }
  const wrong = () =>
    before.flatMap((object) => {
      const now = site.test.standIn!.object(object.kind, site.namespace, object.metadata.name)!
      return atomicsOf(object).filter(
        (path) => JSON.stringify(at(now, path)?.value) !== JSON.stringify(at(object, path)?.value),
      )
    })
  await expect.poll(wrong, { timeout: 20_000 }).toEqual([])
})

onStandIn('every removed field of a Deployment is restored, even if a union field changed its variant', async () => {
  const tenant = await serving(site, {}, CHANGE)
  const before = site.test.standIn!.object('Deployment', site.namespace, tenant.names.cache)!
  const ours = before.metadata.managedFields!.find(({ manager }) => manager === 'pilothouse')!
  const paths = [...fromFieldsV1(ours.fieldsV1)].filter((path) => !path.includes('pilothouse.dev/token'))
  const removals = paths.reverse().flatMap((path) => {
    const found = at(before, path)
    return found && !isMap(found.value) ? [{ op: 'remove', path: found.pointer }] : []
  })
  const strategy = { op: 'replace', path: '/spec/strategy', value: { type: 'Recreate' } }
  expect(await patch(before, [...removals, strategy])).toBeGreaterThan(20)
  const wrong = () => {
    const now = site.test.standIn!.object('Deployment', site.namespace, tenant.names.cache)!
    const textOf = (object: KubeObject, path: string) => JSON.stringify(at(object, path)?.value)
    return paths.filter((path) => !path.endsWith('}') && textOf(now, path) !== textOf(before, path))
  }
  await expect.poll(wrong, { timeout: 25_000 }).toEqual([])
})

test('an object that gets another deployment’s label is not pruned as that deployment’s leftover', async () => {
  const [tenant, other] = [await serving(site, {}, CHANGE), await serving(site, {}, CHANGE)]
  const { uid } = (await tenant.server()).metadata
  const metadata = { labels: { 'pilothouse.dev/deployment-id': other.id } }
  await site.objects.patch('apps/v1', 'Deployment', site.namespace, tenant.names.server, { metadata })
  other.ensure()
  const owner = async () => (await tenant.server())?.metadata.labels['pilothouse.dev/deployment-id']
  await expect.poll(() => owner()).toBe(tenant.id)
  expect([await owner(), (await tenant.server()).metadata.uid]).toEqual([tenant.id, uid])
})

test('a deletion that an outage prevents from being repaired is reported as an outage, not as contention', async () => {
  let away = false
  const { cluster } = site
  const apply: Cluster['apply'] = async (...given) => {
    if (away) throw new Unreachable('The API server is away')
    return cluster.apply(...given)
  }
  const { runtime } = await site.another({ cluster: { ...cluster, apply } })
  const tenant = await serving({ ...site, runtime }, {}, CHANGE)
  const { base: name } = tenant.names
  away = true
  await site.core.deleteNamespacedService({ namespace: site.namespace, name })
  const health = () => runtime.health(tenant.id)
  await expect.poll(() => health()?.reason).toBe('CLUSTER_UNREACHABLE')
  // as many attempts as contention needs repairs
  const fought = eventually(() => health()?.reason === 'CHANGED_BY_OTHERS', 3500)
  await fought
  expect(health()?.reason).toBe('CLUSTER_UNREACHABLE')
  away = false
  await expect.poll(() => health()?.message).toBeNull()
})
