/** The listener's defaults for resources that a spec does not name. */
import { expect, test } from 'vitest'
import { defaultsNote } from '../../src/dataplane/kubernetes/render/resources.ts'
import { renderOptions } from '../../src/listener/cluster-runtime.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { application, find, render, schemaErrors } from './render-support.ts'

const { defaults } = renderOptions(readConfig({}))
const POD = {
  server: 'Deployment/server',
  queue: 'Deployment/queue',
  cache: 'Deployment/cache',
  database: 'StatefulSet/database',
}
const podOf = (key: keyof typeof POD, spec: object = {}, how = defaults) =>
  find(render(spec, {}, { defaults: how }), POD[key]).spec.template.spec
const resourcesOf = (...given: Parameters<typeof podOf>) => podOf(...given).containers[0].resources

test('every container of every pod has requests and limits, even if the spec has none', () => {
  const spec = { sidecars: [{ name: 's', image: 'a' }], init_containers: [{ name: 'i', image: 'b' }] }
  for (const component of Object.keys(POD) as (keyof typeof POD)[]) {
    const pod = podOf(component, spec)
    for (const { resources } of [...pod.containers, ...(pod.initContainers ?? [])])
      expect(resources).toEqual({
        requests: { cpu: expect.any(String), memory: expect.any(String) },
        limits: { cpu: expect.any(String), memory: expect.any(String) },
      })
  }
  expect(render(spec, {}, { defaults }).flatMap(schemaErrors)).toEqual([])
})

test('a value of the spec stays, including its own rules for limits', () => {
  expect(resourcesOf('server', { cpu: 0.3, memory_mb: 5000 })).toEqual({
    requests: { cpu: '300m', memory: '5G' },
    limits: { cpu: '600m', memory: '10G' },
  })
  expect(resourcesOf('queue', { cpu: 0.3 })).toEqual({
    requests: { cpu: '300m', memory: '256M' },
    limits: { cpu: '600m', memory: '2G' },
  })
  expect(resourcesOf('database', { db_memory_mb: 0 })).toMatchObject({ requests: { memory: '0' } })
})

test('a default request is not above a limit of the spec', () => {
  expect(resourcesOf('server', { cpu_limit: 0.1, memory_limit_mb: 100 })).toEqual({
    requests: { cpu: '100m', memory: '100M' },
    limits: { cpu: '100m', memory: '100M' },
  })
})

test('a cache with a default limit keeps its data within it', () => {
  expect(podOf('cache').containers[0].args).toContain(String(512 * 750_000))
})

test('a sidecar keeps its own quantities', () => {
  const resourcesWith = (resources: object) =>
    podOf('server', { sidecars: [{ name: 's', image: 'a', resources }] }).containers[1].resources
  expect(resourcesWith({ requests: { cpu: '3', memory: '32Mi' } })).toEqual({
    requests: { cpu: '3', memory: '32Mi' },
    // the default limit would be below the request
    limits: { memory: '512M' },
  })
  expect(resourcesWith({ limits: { cpu: '50m', 'example.com/gpu': '1' } })).toEqual({
    requests: { memory: '64M' },
    limits: { cpu: '50m', memory: '512M', 'example.com/gpu': '1' },
  })
  expect(resourcesWith({ limits: null })).toMatchObject({ requests: { cpu: '100m' } })
})

test('default limits can be switched off, and raise themselves to a larger default request', () => {
  const free = renderOptions(readConfig({ DEFAULT_CPU_LIMIT: '0', DEFAULT_MEMORY_LIMIT_MB: '0' })).defaults
  expect(resourcesOf('server', {}, free)).toEqual({ requests: { cpu: '200m', memory: '256M' } })
  const large = renderOptions(readConfig({ DEFAULT_DB_CPU: '4', DEFAULT_DB_MEMORY_MB: '3000' })).defaults
  expect(resourcesOf('database', {}, large)).toEqual({
    requests: { cpu: '4', memory: '3G' },
    limits: { cpu: '4', memory: '3G' },
  })
})

test('the deploy log lists the defaults that a deployment gets', () => {
  const note = (spec: object) => defaultsNote(application(spec), defaults)
  expect(note({ cpu: 1, db_memory_mb: 500, queue_min_scale: 0, queue_max_scale: 0 })).toBe(
    'The listener’s defaults apply, because the resource spec does not set: server: memory 256 MB, memory limit 2000 MB; cache: cpu 0.1, cpu limit 0.5, memory 64 MB, memory limit 512 MB; database: cpu 0.1, cpu limit 1',
  )
  expect(note({ cpu: 1, memory_mb: 1, cache_cpu: 1, cache_memory_mb: 1, db_cpu: 1, db_memory_mb: 1 })).toBeNull()
})
