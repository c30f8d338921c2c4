/** ResourceSpec: docs/deployments.md#resource-spec row by row, and its defaults. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { parse } from '../../src/domain/parsing/parse.ts'
import { effectiveSpec, resourceSpec, resourceSpecViolations } from '../../src/domain/values/resource-spec.ts'

const read = (spec: unknown) => parse(z.object({ body: z.object({ s: resourceSpec }) }), { body: { s: spec } }).body.s
const refusal = (spec: unknown) => {
  try {
    return resourceSpecViolations(read(spec)).map((v) => [v.loc.slice(3).join('.'), v.type])
  } catch (error) {
    return (error as { violations: { loc: string[]; type: string }[] }).violations.map((v) => [
      v.loc.slice(2).join('.'),
      v.type,
    ])
  }
}

/** Whole numbers. */
const COUNTS = [
  ...['min_scale', 'max_scale', 'queue_min_scale', 'queue_max_scale', 'orchestrator_min_scale'],
  ...['orchestrator_max_scale', 'db_storage_gi', 'db_max_connections', 'termination_grace_seconds'],
  ...['', 'queue_', 'orchestrator_', 'executor_', 'cache_', 'db_'].flatMap((of) => [
    `${of}memory_mb`,
    `${of}memory_limit_mb`,
  ]),
]
/** The largest number of cores; null: any. */
const CORES: Record<string, number | null> = {
  ...{ cpu: 8, cpu_limit: 16, queue_cpu: 8, queue_cpu_limit: 16, cache_cpu: 8, cache_cpu_limit: 16 },
  ...{ orchestrator_cpu: null, orchestrator_cpu_limit: null, executor_cpu: null, executor_cpu_limit: null },
  ...{ db_cpu: null, db_cpu_limit: null },
}
const OBJECTS = ['labels', 'annotations', 'ingress_annotations']
const LISTS = ['image_pull_secrets', 'volumes', 'volume_mounts', 'init_containers', 'sidecars']

test('every field is in one of these tables, and may be null', () => {
  const fields = [
    ...COUNTS,
    ...Object.keys(CORES),
    ...OBJECTS,
    ...LISTS,
    'service_account_name',
    'autoscaler',
    'queue_scaling',
    'queue_health_path',
    'class',
  ]
  expect(fields.sort()).toEqual(Object.keys(resourceSpec.shape).sort())
  for (const field of fields) expect(refusal({ [field]: null }), field).toEqual([])
})

test.each(COUNTS)('%s is an integer, not negative', (field) => {
  for (const wrong of [1.5, 'x', '1', true, []]) expect(refusal({ [field]: wrong })).toEqual([[field, 'int_type']])
  expect(refusal({ [field]: -1 })).toEqual([[field, 'greater_than_equal']])
})

test('a grace period has at most an hour', () => {
  expect(refusal({ termination_grace_seconds: 3600 })).toEqual([])
  expect(refusal({ termination_grace_seconds: 3601 })).toEqual([['termination_grace_seconds', 'less_than_equal']])
})

test('a health path is absolute, and may have a query', () => {
  for (const path of ['/', '/ok?check_db=0', `/${'x'.repeat(255)}`])
    expect(refusal({ queue_health_path: path })).toEqual([])
  for (const path of ['', 'ok', '/is it', '/ok#top', `/${'x'.repeat(256)}`, 'http://elsewhere/ok'])
    expect(refusal({ queue_health_path: path }), path).toEqual([['queue_health_path', 'string_pattern_mismatch']])
})

test.each(Object.entries(CORES))('%s is a number of cores, at most %s, rounded to one decimal', (field, most) => {
  expect(refusal({ [field]: '1' })).toEqual([[field, 'float_type']])
  expect(refusal({ [field]: -1 })).toEqual([[field, 'greater_than_equal']])
  for (const [given, rounded] of [
    [0.26, 0.3],
    [1.25, 1.3],
  ])
    expect(read({ [field]: given })).toEqual({ [field]: rounded })
  if (most === null) return
  // rounded first: 8.04 is 8.0, 8.06 is 8.1, 0.06 is 0.1
  expect(read({ [field]: most + 0.04 })).toEqual({ [field]: most })
  expect(read({ [field]: 0.06 })).toEqual({ [field]: 0.1 })
  expect(refusal({ [field]: most + 0.06 })).toEqual([[field, 'less_than_equal']])
  expect(refusal({ [field]: 0.04 })).toEqual([[field, 'greater_than_equal']])
})

test('labels and annotations have text values, lists have objects with names', () => {
  for (const field of OBJECTS) {
    expect(refusal({ [field]: 'a' })).toEqual([[field, 'dict_type']])
    expect(refusal({ [field]: { a: 1 } })).toEqual([[`${field}.a`, 'string_type']])
    expect(read({ [field]: { a: 'b' } })).toEqual({ [field]: { a: 'b' } })
  }
  for (const field of LISTS) {
    expect(refusal({ [field]: {} })).toEqual([[field, 'list_type']])
    expect(refusal({ [field]: [{}] })).toEqual([[`${field}.0.name`, 'missing']])
  }
  expect(refusal({ service_account_name: 1 })).toEqual([['service_account_name', 'string_type']])
  expect(refusal({ autoscaler: 'memory' })).toEqual([['autoscaler', 'enum']])
})

test('defaults follow the base values', () => {
  expect(
    effectiveSpec({ cpu: 1.5, memory_mb: 1000, cache_cpu: 0.5, cache_memory_mb: 200, db_cpu: 1, db_memory_mb: 512 }),
  ).toMatchObject({
    min_scale: 1,
    max_scale: 1,
    cpu_limit: 3,
    memory_limit_mb: 2000,
    queue_min_scale: 1,
    queue_max_scale: 1,
    queue_cpu: 1.5,
    queue_cpu_limit: 3,
    queue_memory_mb: 1000,
    queue_memory_limit_mb: 2000,
    cache_cpu_limit: 1,
    cache_memory_limit_mb: 200,
    db_cpu_limit: 2,
    db_memory_limit_mb: 1024,
    db_storage_gi: 10,
    db_max_connections: 100,
  })
  expect(effectiveSpec({ min_scale: 2, max_scale: 5 })).toMatchObject({ queue_min_scale: 2, queue_max_scale: 5 })
  expect(effectiveSpec(null)).toMatchObject({ cpu_limit: null, memory_limit_mb: null })
})

const mount = (name: string) => [{ name, mountPath: '/data' }]
const volumes = [{ name: 'data', emptyDir: {} }]

test.each<[string, object, string]>([
  ['min_scale above max_scale', { min_scale: 3, max_scale: 2, queue_max_scale: 3 }, 'min_scale'],
  ['min_scale above the default of max_scale', { min_scale: 2, queue_max_scale: 2 }, 'min_scale'],
  ['max_scale below the default of min_scale', { max_scale: 0, queue_min_scale: 0 }, 'max_scale'],
  ['a CPU limit below its request', { cpu: 2, cpu_limit: 1 }, 'cpu'],
  ['a memory limit below its request', { memory_mb: 2, memory_limit_mb: 1 }, 'memory_mb'],
  ['a queue limit below its request', { queue_cpu: 2, queue_cpu_limit: 1 }, 'queue_cpu'],
  ['a queue limit below the request it takes from cpu', { cpu: 2, queue_cpu_limit: 1 }, 'queue_cpu_limit'],
  ['a cache limit below its request', { cache_memory_mb: 10, cache_memory_limit_mb: 5 }, 'cache_memory_mb'],
  ['a mount of an unknown volume', { volumes, volume_mounts: mount('nope') }, 'volume_mounts.0.name'],
  [
    'such a mount in a sidecar',
    { sidecars: [{ name: 's', volumeMounts: mount('a') }] },
    'sidecars.0.volumeMounts.0.name',
  ],
  [
    'such a mount in an init container',
    { volumes, init_containers: [{ name: 'i', volumeMounts: mount('nope') }] },
    'init_containers.0.volumeMounts.0.name',
  ],
  ['two volumes of one name', { volumes: [...volumes, ...volumes] }, 'volumes.1.name'],
  ['a volume of two kinds', { volumes: [{ name: 'two', emptyDir: {}, nfs: {} }] }, 'volumes.0'],
])('%s is refused', (_what, spec, field) => {
  expect(refusal(spec)).toEqual([[field, 'value_error']])
})

test('a mount may name an existing volume', () => {
  const sidecars = [{ name: 's', volumeMounts: mount('data') }]
  expect(refusal({ volumes, volume_mounts: mount('data'), sidecars })).toEqual([])
})
