/** `effectiveResources`: what a deployment gets, and what it would get with a resource spec that is being edited. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'

let app: TestApp
let id: string
beforeAll(async () => {
  app = await testApp()
  id = (await gitDeployment(app, { source_config: { resource_spec: { cpu: 1, memory_mb: 512 } } })).id
})
afterAll(() => app.close())

const QUERY = `query ($id: ID!, $spec: ResourceSpecInput) { deployment(id: $id) { version
  effectiveResources(resourceSpec: $spec) { minScale cpu cpuLimit memoryLimitMb queueCpu dbStorageGi volumes { name } } } }`
const ask = (spec?: object, key = app.keys.viewer) => app.gql(QUERY, { id, spec }, { key })

test('are the stored ones with their defaults', async () => {
  const { data } = await ask()
  expect(data.deployment.effectiveResources).toEqual({
    ...{ minScale: 1, cpu: 1, cpuLimit: 2, memoryLimitMb: 1024, queueCpu: 1, dbStorageGi: 10, volumes: null },
  })
})

test('are those of a spec that is asked about, which is not stored', async () => {
  const { data } = await ask({ cpu: 0.55, volumes: [{ name: 'data', emptyDir: {} }] })
  expect(data.deployment.effectiveResources).toMatchObject({
    ...{ cpu: 0.6, cpuLimit: 1.2, memoryLimitMb: null, queueCpu: 0.6, volumes: [{ name: 'data' }] },
  })
  expect((await ask()).data.deployment).toMatchObject({ effectiveResources: { cpu: 1 } })
})

test('are null where the spec breaks rules: the error says all of them', async () => {
  const { data, errors } = await ask({ cpu: 9, minScale: -1 })
  expect(data.deployment.effectiveResources).toBeNull()
  const issuesOf = (of: typeof errors) => of![0].extensions.issues.map(({ path }: { path: string[] }) => path.join('.'))
  expect(issuesOf(errors).sort()).toEqual(['resourceSpec.cpu', 'resourceSpec.minScale'])
  expect(issuesOf((await ask({ cpu: 2, cpuLimit: 1 })).errors)).toEqual(['resourceSpec.cpu'])
})

test('of another workspace’s deployment are not there', async () => {
  expect((await ask({}, app.sibling.keys.admin)).data.deployment).toBeNull()
})
