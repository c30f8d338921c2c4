/** Properties that hold for every spec and every name that the control plane accepts. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderApplication, renderInfrastructure } from '../../src/dataplane/kubernetes/render/manifests.ts'
import { printableName } from '../../src/domain/parsing/fields.ts'
import { type ResourceSpec, resourceSpec, resourceSpecViolations } from '../../src/domain/values/resource-spec.ts'
import { application, deployment, options, PASSWORD, schemaErrors } from './render-support.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 3 })
const word = fc.string({ minLength: 1, maxLength: 12 })
const free = fc.dictionary(word, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 })
const names = fc.constantFrom('a', 'b', 'c')

const mount = fc.record(
  {
    name: names,
    mountPath: maybe(word),
    subPath: maybe(word),
    mountPropagation: maybe(word),
    subPathExpr: maybe(word),
    readOnly: maybe(fc.boolean()),
  },
  { requiredKeys: ['name'] },
)
const variable = fc.record({ name: word, value: maybe(word), valueFrom: maybe(free) }, { requiredKeys: ['name'] })
const container = fc.record(
  {
    name: word,
    image: maybe(word),
    imagePullPolicy: maybe(word),
    workingDir: maybe(word),
    restartPolicy: maybe(fc.constantFrom('Always', 'Never')),
    command: maybe(fc.array(word)),
    args: maybe(fc.array(word)),
    env: maybe(fc.array(variable, { maxLength: 3 })),
    envFrom: maybe(fc.array(free, { maxLength: 2 })),
    resources: maybe(fc.record({ limits: maybe(free), requests: maybe(free) }, { requiredKeys: [] })),
    volumeMounts: maybe(fc.array(mount, { maxLength: 2 })),
    securityContext: maybe(free),
  },
  { requiredKeys: ['name'] },
)
const KINDS = ['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim', 'nfs', 'projected', 'downwardAPI', 'csi']
const volumes = fc
  .array(fc.record({ kind: fc.constantFrom(...KINDS), source: maybe(free) }), { minLength: 3, maxLength: 3 })
  .map((list) => list.map(({ kind, source }, i) => ({ name: 'abc'[i], [kind]: source })))

const CORES = /cpu/
const COUNTS = /scale$|_mb$|_gi$|_connections$/
const amounts = Object.fromEntries(
  Object.keys(resourceSpec.shape).flatMap((field) => {
    if (CORES.test(field)) return [[field, maybe(fc.double({ min: 0.1, max: 8, noNaN: true }))]]
    return COUNTS.test(field) ? [[field, maybe(fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: 2_147_483_647 })))]] : []
  }),
)

/** Any spec; refused parts are removed until it is accepted. */
const spec: fc.Arbitrary<ResourceSpec> = fc
  .record(
    {
      ...amounts,
      labels: maybe(fc.dictionary(word, word, { maxKeys: 3 })),
      annotations: maybe(fc.dictionary(word, word, { maxKeys: 3 })),
      ingress_annotations: maybe(fc.dictionary(word, word, { maxKeys: 3 })),
      autoscaler: maybe(fc.constantFrom('cpu', 'none')),
      class: maybe(fc.constant('gpu')),
      service_account_name: maybe(word),
      image_pull_secrets: maybe(fc.array(fc.record({ name: word }), { maxLength: 2 })),
      volumes,
      volume_mounts: maybe(fc.array(mount, { maxLength: 3 })),
      init_containers: maybe(fc.array(container, { maxLength: 2 })),
      sidecars: maybe(fc.array(container, { maxLength: 2 })),
    },
    { requiredKeys: ['volumes'] },
  )
  .map((given) => {
    const parsed = resourceSpec.parse(given) as Record<string, unknown>
    for (;;) {
      const [first] = resourceSpecViolations(parsed)
      if (!first) return parsed
      delete parsed[String(first.loc[3])]
    }
  })

/** The free-form parts of a spec: volumes, init containers, sidecars, the agent's mounts. */
const USERS = /^\/spec\/template\/spec\/(volumes\/|initContainers\/|containers\/([1-9]|0\/volumeMounts\/))/

const all = (given: ResourceSpec, by = deployment) => {
  const app = application(given)
  return [
    ...renderInfrastructure(by, { spec: app.spec, secretReferences: [], databasePassword: PASSWORD }, options),
    ...renderApplication(by, app, { ...options, ingressDomain: 'example.com' }, {}),
  ]
}

test('every accepted spec gives valid manifests, except for the user’s own objects', () => {
  fc.assert(
    fc.property(spec, (given) => {
      const errors = all(given).flatMap(schemaErrors)
      expect(errors.filter((error) => !USERS.test(error))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

function freeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

function objectsIn(value: unknown, found = new Set<object>()): Set<object> {
  if (value === null || typeof value !== 'object') return found
  found.add(value)
  for (const member of Object.values(value)) objectsIn(member, found)
  return found
}
const countObjects = (value: unknown): number =>
  value === null || typeof value !== 'object'
    ? 0
    : Object.values(value).reduce<number>((sum, member) => sum + countObjects(member), 1)

test('rendering is repeatable, leaves its input unchanged and shares no object with it', () => {
  fc.assert(
    fc.property(spec, (given) => {
      const app = freeze(application(given))
      const infra = freeze({ spec: app.spec, secretReferences: [], databasePassword: PASSWORD })
      const both = () => [
        ...renderInfrastructure(deployment, infra, options),
        ...renderApplication(deployment, app, options, {}),
      ]
      const manifests = both()
      expect(JSON.stringify(both())).toBe(JSON.stringify(manifests))
      const made = objectsIn(manifests)
      expect([...objectsIn([app, infra])].filter((object) => made.has(object))).toEqual([])
      expect(made.size).toBe(countObjects(manifests))
    }),
    { numRuns: 100 },
  )
})

const hostile = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }),
  fc.constantFrom('../', '😀', 'A'.repeat(128), '1', '-', '.', '{{x}}', '$(PATH)', '--help'),
)

test('every accepted name gives valid object names', () => {
  fc.assert(
    fc.property(hostile, fc.uuid(), (name, deploymentId) => {
      fc.pre(printableName.safeParse(name).success)
      const manifests = all({ max_scale: 2 }, { ...deployment, name, deploymentId })
      expect(manifests.flatMap(schemaErrors)).toEqual([])
      for (const { metadata } of manifests) expect(metadata.name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
      const ingress = manifests.find(({ kind }) => kind === 'Ingress')!.spec as { rules: { host: string }[] }
      expect(ingress.rules[0]!.host).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.example\.com$/)
    }),
    { numRuns: 300 },
  )
})
