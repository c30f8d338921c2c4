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

test.each(['cpu', 'queue_cpu', 'cache_cpu'])('%s must be 0.1 to 8 cores after rounding to one decimal', (field) => {
  expect(read({ [field]: 0.06 })).toMatchObject({ [field]: 0.1 })
  expect(read({ [field]: 8.04 })).toMatchObject({ [field]: 8 })
  expect(read({ [field]: 1.25 })).toMatchObject({ [field]: 1.3 })
  expect(refusal({ [field]: 0.04 })).toEqual([[field, 'greater_than_equal']])
  expect(refusal({ [field]: 8.1 })).toEqual([[field, 'less_than_equal']])
  expect(refusal({ [field]: '1' })).toEqual([[field, 'float_type']])
})

test.each(['cpu_limit', 'queue_cpu_limit', 'cache_cpu_limit'])('%s must be 0.1 to 16 cores', (field) => {
  expect(read({ [field]: 16 })).toMatchObject({ [field]: 16 })
  expect(refusal({ [field]: 16.1 })).toEqual([[field, 'less_than_equal']])
})

test('negative numbers are rejected, and counts must be integers', () => {
  const numbers = Object.keys(resourceSpec.shape).filter((key) => /cpu|_mb|scale$|_gi|connections/.test(key))
  expect(numbers.length).toBeGreaterThan(30)
  for (const field of numbers) expect(refusal({ [field]: -1 }), field).toEqual([[field, 'greater_than_equal']])
  for (const wrong of [1.5, 'x', '1', true, []])
    expect(refusal({ memory_mb: wrong })).toEqual([['memory_mb', 'int_type']])
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

test('a request above its limit and a minimum above its maximum are rejected, also against defaults', () => {
  expect(refusal({ cpu: 2, cpu_limit: 1 })).toEqual([['cpu', 'value_error']])
  expect(refusal({ cache_memory_mb: 10, cache_memory_limit_mb: 5 })).toEqual([['cache_memory_mb', 'value_error']])
  expect(refusal({ min_scale: 3, max_scale: 2, queue_max_scale: 3 })).toEqual([['min_scale', 'value_error']])
  expect(refusal({ min_scale: 2, queue_max_scale: 2 })).toEqual([['min_scale', 'value_error']])
})

test('each mount must name an existing volume', () => {
  const volumes = [{ name: 'data', emptyDir: {} }]
  const mount = (name: string) => [{ name, mountPath: '/data' }]
  expect(
    refusal({ volumes, volume_mounts: mount('data'), sidecars: [{ name: 's', volumeMounts: mount('data') }] }),
  ).toEqual([])
  expect(refusal({ volumes, volume_mounts: mount('nope') })).toEqual([['volume_mounts.0.name', 'value_error']])
  expect(refusal({ volumes, init_containers: [{ name: 'i', volumeMounts: mount('nope') }] })).toEqual([
    ['init_containers.0.volumeMounts.0.name', 'value_error'],
  ])
  expect(refusal({ volumes: [...volumes, ...volumes] })).toEqual([['volumes.1.name', 'value_error']])
  expect(refusal({ volumes: [{ name: 'two', emptyDir: {}, nfs: {} }] })).toEqual([['volumes.0', 'value_error']])
})
