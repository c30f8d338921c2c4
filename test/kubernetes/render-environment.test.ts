/** The environment of an agent in a cluster. Secret values occur only in Secrets. */
import { expect, test } from 'vitest'
import type { Manifest } from '../../src/dataplane/kubernetes/objects/types.ts'
import { renderApplication } from '../../src/dataplane/kubernetes/render/manifests.ts'
import { databasePasswordOf } from '../../src/dataplane/kubernetes/render/secrets.ts'
import { referenceViolations } from '../../src/domain/deployments/source-rules.ts'
import { RESERVED_NAMES } from '../../src/domain/secrets/rules.ts'
import { application, deployment, find, options, PASSWORD, render, revision, schemaErrors } from './render-support.ts'

interface Variable {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } }
}
const environmentOf = (manifests: Manifest[], role: 'server' | 'queue'): Variable[] =>
  find(manifests, `Deployment/${role}`).spec.template.spec.containers[0].env

/** A variable as the pod has it. */
function valueAt(manifests: Manifest[], { value, valueFrom }: Variable): string | undefined {
  if (!valueFrom) return value
  const { name, key } = valueFrom.secretKeyRef
  const secret = manifests.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === name)
  const data = secret?.data as Record<string, string> | undefined
  return data?.[key] === undefined ? undefined : Buffer.from(data[key], 'base64').toString('utf8')
}

test('an agent’s environment contains its secrets, database, cache and deployment', () => {
  const manifests = render()
  const values = Object.fromEntries(environmentOf(manifests, 'server').map((v) => [v.name, valueAt(manifests, v)]))
  expect(values).toEqual({
    API_KEY: 'the-value-of-the-secret',
    PORT: '8000',
    HOST: '0.0.0.0',
    DATABASE_URI: expect.any(String),
    POSTGRES_URI: values.DATABASE_URI,
    REDIS_URI: expect.any(String),
    AGENT_SERVER_ROLE: 'server',
    PILOTHOUSE_DEPLOYMENT_ID: deployment.deploymentId,
    PILOTHOUSE_REVISION_ID: revision.id,
  })
  const database = new URL(values.DATABASE_URI!)
  expect(decodeURIComponent(database.password)).toBe(PASSWORD)
  expect(find(manifests, 'Service/database')).toMatchObject({
    metadata: { name: database.hostname },
    spec: { ports: [{ port: Number(database.port) }] },
  })
  const cache = new URL(values.REDIS_URI!)
  expect(cache.password).toMatch(/^[0-9a-f]{64}$/)
  expect(find(manifests, 'Service/cache')).toMatchObject({
    metadata: { name: cache.hostname },
    spec: { ports: [{ port: Number(cache.port) }] },
  })
})

test('the queue’s environment differs from the server’s only in its role', () => {
  const manifests = render()
  const [server, queue] = [environmentOf(manifests, 'server'), environmentOf(manifests, 'queue')]
  expect(
    queue.filter((variable) => !server.some((other) => JSON.stringify(other) === JSON.stringify(variable))),
  ).toEqual([{ name: 'AGENT_SERVER_ROLE', value: 'queue' }])
  expect(queue.map(({ name }) => name)).toEqual(server.map(({ name }) => name))
})

test('database, cache and agent use the same passwords', () => {
  const manifests = render()
  const postgres = find(manifests, 'StatefulSet/database').spec.template.spec.containers[0].env as Variable[]
  const variable = (list: Variable[], name: string) => valueAt(manifests, list.find((v) => v.name === name)!)
  expect(variable(postgres, 'POSTGRES_PASSWORD')).toBe(PASSWORD)
  const redis = find(manifests, 'Deployment/cache').spec.template.spec.containers[0].env as Variable[]
  const uri = new URL(variable(environmentOf(manifests, 'server'), 'REDIS_URI')!)
  expect(variable(redis, 'REDIS_PASSWORD')).toBe(uri.password)
  expect(variable(redis, 'REDISCLI_AUTH')).toBe(uri.password)
  expect(uri.password).not.toContain(PASSWORD)
})

test('a database’s password is read from its Secret, and a Secret that lost it gives none', () => {
  const secret = find(render(), 'Secret/database')
  expect(databasePasswordOf(secret)).toBe(PASSWORD)
  expect(databasePasswordOf({ data: {} })).toBeUndefined()
  expect(databasePasswordOf({})).toBeUndefined()
})

test('secret values are only in Secrets', () => {
  const secrets = [
    { name: 'A', value: 'first-confidential' },
    { name: 'B', value: 'zweites – vertraulich 🙈\n' },
  ]
  const manifests = render({ sidecars: [{ name: 's' }] }, { revision: { ...revision, secrets } })
  const held = manifests.filter(({ kind }) => kind === 'Secret').flatMap((it) => Object.values(it.data as object))
  const inClear = held.map((encoded) => Buffer.from(encoded, 'base64').toString('utf8'))
  expect(inClear).toEqual(expect.arrayContaining([...secrets.map(({ value }) => value), PASSWORD]))
  const others = JSON.stringify(
    manifests.map((manifest) => (manifest.kind === 'Secret' ? { ...manifest, data: null } : manifest)),
  )
  for (const value of [...held, ...inClear]) expect(others).not.toContain(JSON.stringify(value).slice(1, -1))
})

test('a secret reference names the cluster’s Secret', () => {
  const secretReferences = [{ name: 'TOKEN', secret_name: 'theirs', secret_key: 'the.key' }]
  for (const role of ['server', 'queue'] as const)
    expect(environmentOf(render({}, { secretReferences }), role)).toContainEqual({
      name: 'TOKEN',
      valueFrom: { secretKeyRef: { name: 'theirs', key: 'the.key' } },
    })
})

test('a variable occurs once: a server variable overrides all others, and a secret reference overrides a secret of an older revision', () => {
  const manifests = render(
    {},
    {
      revision: { ...revision, secrets: ['PORT', 'REDIS_URI', 'BOTH'].map((name) => ({ name, value: 'theirs' })) },
      secretReferences: ['PORT', 'DATABASE_URI', 'BOTH'].map((name) => ({ name, secret_name: 's', secret_key: 'k' })),
    },
  )
  const variables = environmentOf(manifests, 'server')
  expect(new Set(variables.map(({ name }) => name)).size).toBe(variables.length)
  const find = (name: string) => variables.find((variable) => variable.name === name)!
  expect(find('PORT')).toEqual({ name: 'PORT', value: '8000' })
  expect(find('DATABASE_URI').valueFrom!.secretKeyRef.name).toBe(`ph-${deployment.deploymentId}-database`)
  expect(find('REDIS_URI').valueFrom!.secretKeyRef.name).toBe(`ph-${deployment.deploymentId}-database`)
  expect(find('BOTH').valueFrom!.secretKeyRef.name).toBe('s')
})

test('a secret or secret reference can’t have the name of a server variable', () => {
  const ours = environmentOf(render({}, { revision: { ...revision, secrets: [] } }), 'server').map(({ name }) => name)
  expect(ours.filter((name) => !RESERVED_NAMES.has(name))).toEqual([])
  for (const name of RESERVED_NAMES)
    expect(referenceViolations([{ name, secret_name: 's', secret_key: 'k' }], [])).toMatchObject([
      { loc: ['body', 'secret_references', 0, 'name'] },
    ])
})

test('secrets with the longest allowed names reach the agent', () => {
  const names = ['A'.repeat(253), 'A'.repeat(254), `${'A'.repeat(255)}B`, `${'A'.repeat(255)}C`]
  const secrets = names.map((name, i) => ({ name, value: `value ${i}` }))
  const manifests = render({}, { revision: { ...revision, secrets } })
  const keys = Object.keys(find(manifests, 'Secret/r4').data)
  expect(keys).toHaveLength(4)
  for (const key of keys) expect(key).toMatch(/^[-._a-zA-Z0-9]{1,253}$/)
  const variables = environmentOf(manifests, 'server')
  for (const [i, name] of names.entries())
    expect(valueAt(manifests, variables.find((v) => v.name === name)!)).toBe(`value ${i}`)
  expect(manifests.flatMap(schemaErrors)).toEqual([])
})

test('a revision that was built for another runtime is refused with a readable message', () => {
  const app = application({}, { revision: { ...revision, imageUri: null } })
  expect(() => renderApplication(deployment, app, options, {})).toThrow('The revision has no container image')
})
