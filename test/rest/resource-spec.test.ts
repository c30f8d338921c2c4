/** ResourceSpec over REST: docs/deployments.md#resource-spec row by row. */
import { describe, expect, test } from 'vitest'
import { listenerKey, listener as makeListener } from '../support/factories.ts'
import { bodies, restApp, useRestApp, violations } from './support.ts'

const app = useRestApp()

const post = (resource_spec: unknown) =>
  app.call('POST', '/v2/deployments', { body: { ...bodies.internal_container(), source_config: { resource_spec } } })
const at = (field: string) => `body.source_config.resource_spec.${field}`

const COUNTS = [
  'min_scale',
  'max_scale',
  'memory_mb',
  'memory_limit_mb',
  'queue_min_scale',
  'queue_max_scale',
  'queue_memory_mb',
  'queue_memory_limit_mb',
  'orchestrator_memory_mb',
  'orchestrator_memory_limit_mb',
  'orchestrator_min_scale',
  'orchestrator_max_scale',
  'executor_memory_mb',
  'executor_memory_limit_mb',
  'cache_memory_mb',
  'cache_memory_limit_mb',
  'db_memory_mb',
  'db_memory_limit_mb',
  'db_storage_gi',
  'db_max_connections',
]
const CORES: [string, number | null][] = [
  ['cpu', 8],
  ['cpu_limit', 16],
  ['queue_cpu', 8],
  ['queue_cpu_limit', 16],
  ['cache_cpu', 8],
  ['cache_cpu_limit', 16],
  ['orchestrator_cpu', null],
  ['orchestrator_cpu_limit', null],
  ['executor_cpu', null],
  ['executor_cpu_limit', null],
  ['db_cpu', null],
  ['db_cpu_limit', null],
]
const TEXTS = ['service_account_name']
const OBJECTS = ['labels', 'annotations', 'ingress_annotations']
const LISTS = ['image_pull_secrets', 'volumes', 'volume_mounts', 'init_containers', 'sidecars']

describe('Every field', () => {
  test.each(COUNTS)('%s is an integer, not negative', async (field) => {
    expect(violations(await post({ [field]: 1.5 }))).toEqual([`${at(field)} int_type`])
    const text = await post({ [field]: '1' })
    expect(violations(text)).toEqual([`${at(field)} int_type`])
    expect(text.body.detail[0].msg).toBe('Must be an integer.')
    expect(violations(await post({ [field]: -1 }))).toEqual([`${at(field)} greater_than_equal`])
  })

  test.each(CORES)('%s is a number of cores, at most %s, rounded to one decimal', async (field, most) => {
    expect(violations(await post({ [field]: '1' }))).toEqual([`${at(field)} float_type`])
    expect((await post({ [field]: 0.26 })).body.source_config.resource_spec).toEqual({ [field]: 0.3 })
    if (most === null) {
      expect(violations(await post({ [field]: -1 }))).toEqual([`${at(field)} greater_than_equal`])
      return
    }
    expect((await post({ [field]: most })).status).toBe(201)
    expect((await post({ [field]: 0.1 })).status).toBe(201)
    // rounded first: 8.04 is 8.0, 8.05 is 8.1
    expect((await post({ [field]: most + 0.04 })).body.source_config.resource_spec).toEqual({ [field]: most })
    expect(violations(await post({ [field]: most + 0.06 }))).toEqual([`${at(field)} less_than_equal`])
    expect(violations(await post({ [field]: 0.04 }))).toEqual([`${at(field)} greater_than_equal`])
  })

  test.each(TEXTS)('%s is text', async (field) => {
    expect(violations(await post({ [field]: 1 }))).toEqual([`${at(field)} string_type`])
  })

  test.each(OBJECTS)('%s has text values', async (field) => {
    expect(violations(await post({ [field]: 'a' }))).toEqual([`${at(field)} dict_type`])
    expect(violations(await post({ [field]: { a: 1 } }))).toEqual([`${at(field)}.a string_type`])
    expect((await post({ [field]: { a: 'b' } })).body.source_config.resource_spec).toEqual({ [field]: { a: 'b' } })
  })

  test.each(LISTS)('%s is a list of objects with names', async (field) => {
    expect(violations(await post({ [field]: {} }))).toEqual([`${at(field)} list_type`])
    expect(violations(await post({ [field]: [{}] }))).toEqual([`${at(field)}.0.name missing`])
  })

  test('autoscaler is cpu or none', async () => {
    expect(violations(await post({ autoscaler: 'memory' }))).toEqual([`${at('autoscaler')} enum`])
  })

  test.each(['autoscaler', 'class', ...COUNTS, ...CORES.map(([field]) => field), ...TEXTS, ...OBJECTS, ...LISTS])(
    '%s may be null',
    async (field) => {
      expect((await post({ [field]: null })).status).toBe(201)
    },
  )
})

test('a full spec is returned unchanged', async () => {
  const mount = { name: 'data', mountPath: '/data', subPath: 'a', mountPropagation: 'None', readOnly: true }
  const container = {
    name: 'helper',
    image: 'busybox',
    imagePullPolicy: 'Always',
    workingDir: '/',
    restartPolicy: 'Always',
    command: ['sh'],
    args: ['-c', 'true'],
    env: [
      { name: 'A', value: 'b' },
      { name: 'C', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    envFrom: [{ configMapRef: { name: 'config' } }],
    resources: { limits: { cpu: '1' }, requests: { cpu: '500m' } },
    volumeMounts: [{ name: 'data', mountPath: '/x', subPathExpr: '$(A)' }],
    securityContext: { runAsNonRoot: true },
  }
  const spec = {
    min_scale: 1,
    max_scale: 2,
    cpu: 1,
    cpu_limit: 2,
    memory_mb: 512,
    memory_limit_mb: 1024,
    labels: { team: 'a' },
    annotations: { note: 'b' },
    ingress_annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' },
    autoscaler: 'none',
    service_account_name: 'agent',
    image_pull_secrets: [{ name: 'registry' }],
    volumes: [
      { name: 'data', emptyDir: {} },
      { name: 'files', configMap: { name: 'files' } },
    ],
    volume_mounts: [mount],
    init_containers: [container],
    sidecars: [container],
  }
  expect((await post(spec)).body.source_config.resource_spec).toEqual(spec)
})

describe('The rules between fields', () => {
  test.each([
    ['min_scale above max_scale', { min_scale: 3, max_scale: 2 }, 'min_scale'],
    ['min_scale above the default of max_scale', { min_scale: 2 }, 'min_scale'],
    ['max_scale below the default of min_scale', { max_scale: 0 }, 'max_scale'],
    ['a CPU limit below its request', { cpu: 2, cpu_limit: 1 }, 'cpu'],
    ['a memory limit below its request', { memory_mb: 2, memory_limit_mb: 1 }, 'memory_mb'],
    ['a queue limit below its request', { queue_cpu: 2, queue_cpu_limit: 1 }, 'queue_cpu'],
    ['a queue limit below the request it takes from cpu', { cpu: 2, queue_cpu_limit: 1 }, 'queue_cpu_limit'],
    ['a cache limit below its request', { cache_memory_mb: 2, cache_memory_limit_mb: 1 }, 'cache_memory_mb'],
    ['a mount of a volume that is not there', { volume_mounts: [{ name: 'a' }] }, 'volume_mounts.0.name'],
    [
      'such a mount in a sidecar',
      { sidecars: [{ name: 's', volumeMounts: [{ name: 'a' }] }] },
      'sidecars.0.volumeMounts.0.name',
    ],
    [
      'such a mount in an init container',
      { init_containers: [{ name: 's', volumeMounts: [{ name: 'a' }] }] },
      'init_containers.0.volumeMounts.0.name',
    ],
    ['two volumes of one name', { volumes: [{ name: 'a' }, { name: 'a' }] }, 'volumes.1.name'],
  ])('%s is refused', async (_what, spec, field) => {
    expect(violations(await post(spec))).toContain(`${at(field)} value_error`)
  })
})

describe('class', () => {
  /** A listener whose program has reported these classes. */
  async function reporting(classes: string[], tenant = app.tenant) {
    const row = await makeListener(app, { workspaceId: tenant.workspaceId })
    const key = await listenerKey(app, row, tenant)
    const answer = await app.call('POST', `/v2/listeners/${row.id}/claims`, { key, body: { pod_classes: classes } })
    expect(answer.status, answer.text).toBe(200)
    return row.id
  }
  const on = (listener_id: string, spec: object) =>
    app.call('POST', '/v2/deployments', {
      body: { ...bodies.external_container(), source_config: { listener_id, resource_spec: spec } },
    })
  const said = ({ status, body }: Awaited<ReturnType<typeof on>>) => {
    expect(status).toBe(422)
    expect(body.detail).toHaveLength(1)
    expect(body.detail[0].loc.join('.')).toBe(at('class'))
    return body.detail[0].msg
  }

  test('must be one that its listener has reported, at a create and at a PATCH; the refusal lists them', async () => {
    const listener = await reporting(['cpu', 'gpu'])
    expect((await app.call('GET', `/v2/listeners/${listener}`)).body.pod_classes).toEqual(['cpu', 'gpu'])
    const unknown = 'Must be one of POD_CLASSES of its listener: cpu, gpu.'
    expect(said(await on(listener, { class: 'tpu' }))).toBe(unknown)
    const made = await on(listener, { class: 'gpu' })
    expect(made.status, made.text).toBe(201)
    expect(made.body.source_config.resource_spec).toEqual({ class: 'gpu' })
    const patch = (spec: object) =>
      app.call('PATCH', `/v2/deployments/${made.body.id}`, { body: { source_config: { resource_spec: spec } } })
    expect(said(await patch({ class: 'tpu' }))).toBe(unknown)
    expect((await patch({ class: 'cpu' })).body.source_config.resource_spec).toEqual({ class: 'cpu' })
    expect((await patch({})).status).toBe(200)
  })

  test('can’t be one that only other listeners have', async () => {
    await reporting(['gpu'])
    await reporting(['gpu'], app.sibling)
    const none = 'Must be one of POD_CLASSES of its listener: there are none.'
    expect(said(await on(await reporting([]), { class: 'gpu' }))).toBe(none)
  })

  test('is one of the server that works on a cluster itself, and none on the process runtime', async () => {
    expect(said(await post({ class: 'gpu' }))).toBe(
      'Only deployments on Kubernetes have classes; RUNTIME of this server is process.',
    )
    const settings = { RUNTIME: 'kubernetes', K8S_NAMESPACE: 'agents', POD_CLASSES: '{"gpu": {}}' }
    const cluster = await restApp({ beside: app, settings })
    const create = (name: string) =>
      cluster.call('POST', '/v2/deployments', {
        body: { ...bodies.internal_container(), source_config: { resource_spec: { class: name } } },
      })
    expect((await create('gpu')).status).toBe(201)
    expect(said(await create('tpu'))).toBe('Must be one of POD_CLASSES of this server: gpu.')
    await cluster.close()
  })

  test('has 1 to 63 characters', async () => {
    expect(violations(await post({ class: '' }))).toEqual([`${at('class')} string_too_short`])
    expect(violations(await post({ class: 'c'.repeat(64) }))).toEqual([`${at('class')} string_too_long`])
  })
})
