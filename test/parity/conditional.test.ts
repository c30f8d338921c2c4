/**
 * docs/api-rules.md#conditional-requests: `If-Match` and `ifVersion` behave the same for every resource that callers
 * edit.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitBody, gitDeployment } from '../support/factories.ts'
import { storedProvider } from '../support/oauth-tokens.ts'

const app = useApp()

interface Outcome {
  /** The error code; null: success. */
  code: string | null
  /** The current version, if the answer has it. */
  version: number | null
}

/** The names of a kind of resource, and a change of it. */
interface Kind {
  /** Of REST. */
  path(id: string): string
  /** Of GraphQL: its mutations, the member that names it, its field in their answers, and that of its version. */
  names: { type: string; id: string; field: string; version: string }
  make(): Promise<string>
  /** In the names of REST, and of GraphQL. */
  edit(n: number): [object, object]
}

const KINDS: Record<string, Kind> = {
  deployment: {
    path: (id) => `/v2/deployments/${id}`,
    names: { type: 'Deployment', id: 'deploymentId', field: 'deployment', version: 'version' },
    make: async () => (await gitDeployment(app)).id,
    edit: (n) => [
      { source_config: { install_command: `npm ci # ${n}` } },
      { sourceConfig: { installCommand: `npm ci # ${n}` } },
    ],
  },
  listener: {
    path: (id) => `/v2/listeners/${id}`,
    names: { type: 'Listener', id: 'listenerId', field: 'listener', version: 'editVersion' },
    make: async () => {
      const body = { compute_type: 'k8s', compute_id: randomUUID(), compute_config: { k8s_namespaces: [] } }
      return (await app.rest('POST', '/v2/listeners', { body })).body.id
    },
    edit: (n) => [{ version: `v${n}` }, { version: `v${n}` }],
  },
  'OAuth provider': {
    path: (id) => `/v2/auth/providers/${id}`,
    names: { type: 'OAuthProvider', id: 'providerId', field: 'oauthProvider', version: 'version' },
    make: async () => (await storedProvider(app)).providerId,
    edit: (n) => [{ name: `n${n}` }, { name: `n${n}` }],
  },
}

interface Driver {
  look(kind: Kind, id: string): Promise<number>
  edit(kind: Kind, id: string, n: number, version?: number): Promise<Outcome>
  remove(kind: Kind, id: string, version: number): Promise<Outcome>
}

const editOf = (headers: Headers) => Number(/^"(\d+)-/.exec(headers.get('etag') ?? '')?.[1])

async function rest(method: string, path: string, version?: number, body?: object): Promise<Outcome> {
  const headers: Record<string, string> = version === undefined ? {} : { 'if-match': `"${version}"` }
  const answer = await app.rest(method, path, { headers, body })
  if (answer.status >= 300) return { code: answer.body.code, version: null }
  return { code: null, version: answer.headers.has('etag') ? editOf(answer.headers) : null }
}

/** `selection`: of the success. */
async function mutate(name: string, input: object, selection: string): Promise<Outcome> {
  const type = name[0]!.toUpperCase() + name.slice(1)
  const { data, errors } = await app.gql(
    `mutation($input: ${type}Input!) { result: ${name}(input: $input) { __typename ... on Error { code }
      ... on PreconditionFailedError { version } ... on ${type}Success { ${selection} } } }`,
    { input },
  )
  expect(errors).toBeUndefined()
  const { code = null, __typename, version, ...success } = data.result
  if (code === 'PRECONDITION_FAILED') expect(__typename).toBe('PreconditionFailedError')
  const row = Object.values(success)[0] as Record<string, number> | undefined
  return { code, version: version ?? row?.version ?? row?.editVersion ?? null }
}

const DRIVERS: Record<string, Driver> = {
  REST: {
    look: async ({ path }, id) => editOf((await app.rest('GET', path(id))).headers),
    edit: ({ path, edit }, id, n, version) => rest('PATCH', path(id), version, edit(n)[0]),
    remove: ({ path }, id, version) => rest('DELETE', path(id), version),
  },
  GraphQL: {
    look: async ({ names: { field, version } }, id) => {
      const { data } = await app.gql(`query($id: ID!) { row: ${field}(id: $id) { ${version} } }`, { id })
      return data.row[version]
    },
    edit: ({ names, edit }, id, n, ifVersion) =>
      mutate(
        `update${names.type}`,
        { [names.id]: id, ...edit(n)[1], ifVersion },
        `${names.field} { ${names.version} }`,
      ),
    remove: ({ names }, id, ifVersion) => mutate(`delete${names.type}`, { [names.id]: id, ifVersion }, names.id),
  },
}

const FAILED = 'PRECONDITION_FAILED'

describe.each(Object.entries(KINDS))('a %s', (_kind, kind) => {
  test.each(Object.entries(DRIVERS))('is edited over %s only at the named version', async (name, driver) => {
    const id = await kind.make()
    const first = await driver.look(kind, id)
    const edited = await driver.edit(kind, id, 1, first)
    expect(edited.code).toBeNull()
    const second = edited.version!
    expect(second).toBeGreaterThan(first)
    // the returned version is the next one, over both transports
    for (const other of Object.values(DRIVERS)) expect(await other.look(kind, id)).toBe(second)
    const stale = await driver.edit(kind, id, 2, first)
    expect(stale).toEqual({ code: FAILED, version: name === 'REST' ? null : second })
    // a call that changes nothing does not change the version
    expect((await driver.edit(kind, id, 1)).version).toBe(second)
    const atOnce = await Promise.all([3, 4, 5].map((n) => driver.edit(kind, id, n, second)))
    expect(atOnce.map(({ code }) => code).sort()).toEqual([FAILED, FAILED, null])
    expect((await driver.remove(kind, id, second)).code).toBe(FAILED)
    expect((await driver.remove(kind, id, await driver.look(kind, id))).code).toBeNull()
  })
})

test('versions from one transport are valid in the other', async () => {
  const kind = KINDS.deployment!
  const id = await kind.make()
  let version = await DRIVERS.REST!.look(kind, id)
  for (const [n, driver] of [DRIVERS.GraphQL!, DRIVERS.REST!, DRIVERS.GraphQL!].entries())
    version = (await driver.edit(kind, id, n, version)).version!
  expect(version).not.toBeNull()
})

test('a new revision, a redeploy and tags are conditional too; a new revision returns the next version', async () => {
  const { id, latest_revision_id: revisionId } = await gitDeployment(app)
  const path = KINDS.deployment!.path(id)
  const stale = 99
  const input = { deploymentId: id, ifVersion: stale }
  const refused = [
    await rest('POST', `${path}/revisions`, stale, {}),
    await rest('POST', `${path}/revisions/${revisionId}/redeploy`, stale),
    await mutate('createRevision', input, 'revision { id }'),
    await mutate('redeployRevision', { ...input, revisionId }, 'revision { id }'),
    await mutate('setDeploymentTags', { ...input, tags: [] }, 'deployment { id }'),
  ]
  expect(refused.map(({ code }) => code)).toEqual(refused.map(() => FAILED))
  const made = await mutate('createRevision', { deploymentId: id, ifVersion: 1 }, 'deployment { version }')
  expect(made.version).toBeGreaterThan(1)
  const tags = [{ key: 'team', value: 'a' }]
  const tagged = await mutate(
    'setDeploymentTags',
    { deploymentId: id, tags, ifVersion: made.version },
    'deployment { version }',
  )
  expect(tagged.version).toBeGreaterThan(made.version!)
  expect((await rest('POST', `${path}/revisions/${revisionId}/redeploy`, tagged.version!)).version).toBeGreaterThan(
    tagged.version!,
  )
})

test('the order of checks is the same: role, shape, 404, version, rules', async () => {
  const { id, name } = await gitDeployment(app)
  const send = async (over: 'REST' | 'GraphQL', id: string, body: object, key?: string) => {
    if (over === 'REST')
      return (await app.rest('PATCH', `/v2/deployments/${id}`, { body, key, headers: { 'if-match': '"99"' } })).body
        .code
    const { data } = await app.gql(
      'mutation($input: UpdateDeploymentInput!) { updateDeployment(input: $input) { ... on Error { code } } }',
      { input: { deploymentId: id, ifVersion: 99, ...body } },
      { key },
    )
    return data.updateDeployment.code
  }
  for (const over of ['REST', 'GraphQL'] as const) {
    expect(await send(over, id, { name }, app.keys.viewer)).toBe('FORBIDDEN')
    expect(await send(over, 'no-uuid', { name })).toBe('VALIDATION_FAILED')
    expect(await send(over, randomUUID(), { name })).toBe('NOT_FOUND')
    expect(await send(over, id, { name }, app.other.keys.admin)).toBe('NOT_FOUND')
    expect(await send(over, id, { name: gitBody(app.tenant).name })).toBe(FAILED)
  }
})

test('GraphQL answers are as private as those of REST', async () => {
  const query = new URLSearchParams({ query: '{ viewer { role } }' })
  const { status, headers } = await app.rest('GET', `/graphql?${query}`, { headers: { accept: 'application/json' } })
  expect(status).toBe(200)
  expect(headers.get('vary')).toContain('X-Api-Key, Authorization, X-Tenant-Id')
  expect(headers.get('cache-control')).toBe('private, no-cache')
})

test('GraphQL refuses the condition headers of HTTP, which it does not support', async () => {
  const headers = { 'if-match': '"1"', 'if-unmodified-since': new Date().toUTCString() }
  const answer = await app.gql('{ viewer { role } }', {}, { headers })
  expect(answer.status).toBe(422)
  expect(answer.errors![0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: [
      { path: ['header', 'If-Match'], code: 'extra_forbidden' },
      { path: ['header', 'If-Unmodified-Since'], code: 'extra_forbidden' },
    ],
  })
})
