/** `effectiveResources`: the resources of a deployment, and the result of an edited resource spec. */
import { beforeAll, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'

const app = useApp()
let id: string
beforeAll(async () => {
  id = (await gitDeployment(app, { source_config: { resource_spec: { cpu: 1, memory_mb: 512 } } })).id
})

const QUERY = `query ($id: ID!, $spec: ResourceSpecInput) { deployment(id: $id) { version
  effectiveResources(resourceSpec: $spec) { minScale cpu cpuLimit memoryLimitMb queueCpu dbStorageGi volumes { name } } } }`
const ask = (spec?: object, key = app.keys.viewer) => app.gql(QUERY, { id, spec }, { key })

test('effective resources are the stored ones with defaults', async () => {
  const { data } = await ask()
  expect(data.deployment.effectiveResources).toEqual({
    ...{ minScale: 1, cpu: 1, cpuLimit: 2, memoryLimitMb: 1024, queueCpu: 1, dbStorageGi: 10, volumes: null },
  })
})

test('effective resources of a given spec are returned without storing it', async () => {
  const { data } = await ask({ cpu: 0.55, volumes: [{ name: 'data', emptyDir: {} }] })
  expect(data.deployment.effectiveResources).toMatchObject({
    ...{ cpu: 0.6, cpuLimit: 1.2, memoryLimitMb: null, queueCpu: 0.6, volumes: [{ name: 'data' }] },
  })
  expect((await ask()).data.deployment).toMatchObject({ effectiveResources: { cpu: 1 } })
})

test('effective resources of an invalid spec are null, with all violations in the error', async () => {
  const { data, errors } = await ask({ cpu: 9, minScale: -1 })
  expect(data.deployment.effectiveResources).toBeNull()
  const issuesOf = (of: typeof errors) => of![0].extensions.issues.map(({ path }: { path: string[] }) => path.join('.'))
  expect(issuesOf(errors).sort()).toEqual(['resourceSpec.cpu', 'resourceSpec.minScale'])
  expect(issuesOf((await ask({ cpu: 2, cpuLimit: 1 })).errors)).toEqual(['resourceSpec.cpu'])
})

test('effective resources of another workspace’s deployment are not found', async () => {
  expect((await ask({}, app.sibling.keys.admin)).data.deployment).toBeNull()
})
