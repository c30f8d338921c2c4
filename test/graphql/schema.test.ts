/** The schema: schema.graphql, Relay's conventions and naming. */
import { isInterfaceType, isObjectType, isUnionType, lexicographicSortSchema, printSchema } from 'graphql'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toCamelPath } from '../../src/api/graphql/builder/naming.ts'
import { rawOf, shapeOf } from '../../src/api/graphql/builder/shapes.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { camel, snake } from '../../src/domain/parsing/codec.ts'
import { optional, time } from '../../src/domain/parsing/fields.ts'
import { resourceSpec } from '../../src/domain/values/resource-spec.ts'
import { secretReference, sourceConfig } from '../../src/domain/values/shapes.ts'

const types = Object.values(schema.getTypeMap()).filter((type) => !type.name.startsWith('__'))
const objects = types.filter(isObjectType)

test('schema.graphql is the schema of the server', async () => {
  await expect(`${printSchema(lexicographicSortSchema(schema))}\n`).toMatchFileSnapshot('../../schema.graphql')
})

describe('Relay', () => {
  test('Node has an id, and every type that can be looked up by id is a Node', () => {
    const node = schema.getType('Node')
    expect(isInterfaceType(node) && String(node.getFields().id?.type)).toBe('ID!')
    // a log line is only read with its log, a delivery with its endpoint, an alert in a list, and a login by its code
    const parts = ['LogLine', 'EndpointDelivery', 'Alert', 'Login']
    for (const type of objects.filter((one) => one.getFields().id && !parts.includes(one.name)))
      expect([type.name, type.getInterfaces().map(String)]).toEqual([type.name, ['Node']])
  })

  test.each(objects.filter((type) => type.name.endsWith('Connection')).map((type) => [type.name, type] as const))(
    '%s has edges, nodes and page info',
    (_name, type) => {
      const fields = type.getFields()
      expect(String(fields.pageInfo?.type)).toBe('PageInfo!')
      expect(String(fields.edges?.type)).toMatch(/^\[\w+Edge!]!$/)
      const edge = schema.getType(String(fields.edges?.type).replace(/\W/g, ''))
      expect(isObjectType(edge) && Object.keys(edge.getFields()).sort()).toEqual(['cursor', 'node'])
      expect(fields.nodes).toBeDefined()
    },
  )
})

test('every mutation has one argument, input, and answers with a union of its success and errors', () => {
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    const name = field.name[0]!.toUpperCase() + field.name.slice(1)
    // starting an installation needs no input
    const input = field.name === 'startGitIntegration' ? [] : [`input: ${name}Input!`]
    expect(field.args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual(input)
    expect(String(field.type)).toBe(`${name}Result!`)
    const result = schema.getType(`${name}Result`)
    if (!isUnionType(result)) throw new Error(`${name}Result is no union`)
    const [success, ...errors] = [...result.getTypes()].sort(
      (a, b) => Number(b.name.endsWith('Success')) - Number(a.name.endsWith('Success')),
    )
    expect(success!.name).toBe(`${name}Success`)
    expect(errors.map((type) => type.name)).toEqual(expect.arrayContaining(['ValidationError', 'ForbiddenError']))
    for (const error of errors) expect(error.getInterfaces().map(String)).toEqual(['Error'])
  }
})

test('every root field has a description', () => {
  const roots = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!]
  const fields = roots.flatMap((root) => Object.values(root.getFields()))
  expect(fields.filter((field) => !field.description).map((field) => field.name)).toEqual([])
})

test('obsolete resource fields are deprecated in input and output', () => {
  for (const name of ['ResourceSpec', 'ResourceSpecInput']) {
    const fields = Object.values((schema.getType(name) as (typeof objects)[number]).getFields())
    const deprecated = fields.filter((field) => field.deprecationReason).map((field) => field.name)
    expect(deprecated).toHaveLength(10)
    expect(deprecated.every((field) => /^(orchestrator|executor)/.test(field))).toBe(true)
    expect(fields).toHaveLength(Object.keys(resourceSpec.shape).length)
  }
})

describe('names', () => {
  test('convert to snake_case and back for every field of a ResourceSpec', () => {
    for (const key of Object.keys(resourceSpec.shape)) expect(snake(camel(key))).toBe(key)
    expect(camel('k8s_namespace')).toBe('k8sNamespace')
    expect(snake('k8sNamespaces')).toBe('k8s_namespaces')
  })

  test('are converted at every depth, but not inside maps and Kubernetes objects', () => {
    const shape = shapeOf(
      'Input',
      z.object({
        source_config: sourceConfig,
        secret_references: z.array(secretReference),
        expires_at: time,
        nothing: optional(sourceConfig),
        absent: optional(z.string()),
      }),
    )
    const input = {
      sourceConfig: {
        resourceSpec: { cpuLimit: 1, labels: { myKey: 'aB' }, volumes: [{ configMap: { defaultMode: 1 } }] },
      },
      secretReferences: [{ secretName: 'a', secretKey: 'bC' }],
      expiresAt: new Date(0),
      nothing: null,
    }
    expect(rawOf(shape, input)).toStrictEqual({
      source_config: {
        resource_spec: { cpu_limit: 1, labels: { myKey: 'aB' }, volumes: [{ configMap: { defaultMode: 1 } }] },
      },
      secret_references: [{ secret_name: 'a', secret_key: 'bC' }],
      expires_at: '1970-01-01T00:00:00.000Z',
      nothing: null,
    })
  })

  test('in the path of a violation are GraphQL’s, and the user’s own keys stay unchanged', () => {
    expect(toCamelPath(['source_config', 'resource_spec', 'cpu_limit'])).toEqual([
      'sourceConfig',
      'resourceSpec',
      'cpuLimit',
    ])
    expect(toCamelPath(['secret_references', 0, 'secret_key'])).toEqual(['secretReferences', 0, 'secretKey'])
    expect(toCamelPath(['resource_spec', 'labels', 'my_key'])).toEqual(['resourceSpec', 'labels', 'my_key'])
  })
})
