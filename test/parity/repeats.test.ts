/**
 * Sends every write of REST and GraphQL twice with one Idempotency-Key (docs/api-rules.md#retries): equal answers, one
 * effect. A new operation or mutation must be listed here, or among those with a unique result per call.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { acceptsKey } from '../../src/api/rest/framework/idempotency.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { camel } from '../../src/domain/parsing/naming.ts'
import { LOCAL } from '../oauth/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitBody, gitDeployment, listener } from '../support/factories.ts'
import { type McpServer, SERVER_METADATA, startMcpServer } from '../support/mcp-server.ts'
import { storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'

let app: TestApp
let mcp: McpServer
beforeAll(async () => {
  app = await testApp({ settings: LOCAL })
  mcp = await startMcpServer()
  mcp.answer(SERVER_METADATA, {
    body: {
      issuer: mcp.origin,
      authorization_endpoint: `${mcp.origin}/authorize`,
      token_endpoint: `${mcp.origin}/token`,
      registration_endpoint: `${mcp.origin}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
  })
  mcp.answer('/register', {
    status: 201,
    body: { client_id: 'the-client', client_secret: `${CANARY}-registered`, client_secret_expires_at: 0 },
  })
})
afterAll(async () => {
  await app.close()
  await mcp.close()
})

/** Part of every secret that is sent or stored; must be in no outcome. */
const CANARY = 'canary-4711'

interface Call {
  path?: Record<string, string>
  query?: Record<string, string | string[]>
  body?: object
  /** Default: the admin's. */
  key?: string
}

interface Write {
  /** operationId; absent: it is only in GraphQL. */
  rest?: string
  mutation: string
  /** Selection of the mutation's success. */
  selection: string
  /** Creates its target, separately for each transport. */
  call(): Promise<Call>
}

const DEPLOYMENT = 'deployment { id createdAt secrets { name value } tags { value } listener { id } }'
let installations = 0
const id = () => randomUUID().slice(0, 8)
const secrets = () => [{ name: 'TOKEN', value: `${CANARY}-${id()}` }]
const ofDeployment = async (deployment_id = '') => ({ deployment_id: deployment_id || (await gitDeployment(app)).id })
async function ofRevision({ ended }: { ended: boolean }) {
  const { id: deployment_id, latest_revision_id: revision_id } = await gitDeployment(app)
  const path = `/v2/deployments/${deployment_id}/revisions/${revision_id}/interrupt`
  if (ended) await app.rest('POST', path)
  return { deployment_id, revision_id }
}
async function storedKey(): Promise<string> {
  const { workspaceId, organizationId } = app.tenant
  const data = { workspaceId, organizationId, name: id(), role: 'viewer', prefix: 'x', hash: randomUUID() } as const
  return (await app.app.core.db.apiKey.create({ data })).id
}
const ofListener = async () => ({ listener_id: (await listener(app)).id })
const ofProvider = async () => ({ provider_id: (await storedProvider(app)).providerId })
const mine = async () => storedToken(app, { provider: await storedProvider(app), content: { accessToken: CANARY } })
const person = () => ({ key: app.keys.deployer })
const newProvider = () => ({
  provider_id: `acme-${id()}`,
  name: 'Acme',
  client_id: 'client',
  client_secret: `${CANARY}-client`,
  auth_url: 'https://provider.example/authorize',
  token_url: 'https://provider.example/token',
})

const WRITES: readonly Write[] = [
  {
    rest: 'createDeployment',
    mutation: 'createDeployment',
    selection: `${DEPLOYMENT} revision { id number }`,
    call: async () => ({ body: gitBody(app.tenant, { secrets: secrets() }) }),
  },
  {
    rest: 'updateDeployment',
    mutation: 'updateDeployment',
    selection: `${DEPLOYMENT} revision { id ${DEPLOYMENT} }`,
    call: async () => ({ path: await ofDeployment(), body: { secrets: secrets() } }),
  },
  {
    rest: 'setSecrets',
    mutation: 'setSecrets',
    selection: `${DEPLOYMENT} revision { id ${DEPLOYMENT} }`,
    call: async () => ({ path: await ofDeployment(), body: { set: secrets(), unset: [] } }),
  },
  {
    mutation: 'unsetSecrets',
    selection: `${DEPLOYMENT} revision { id }`,
    call: async () => ({
      path: await ofDeployment((await gitDeployment(app, { secrets: secrets() })).id),
      body: { unset: ['TOKEN'] },
    }),
  },
  {
    rest: 'deleteDeployment',
    mutation: 'deleteDeployment',
    selection: 'deploymentId',
    call: async () => ({ path: await ofDeployment() }),
  },
  {
    rest: 'deleteDeployments',
    mutation: 'deleteDeployments',
    selection: 'results { deploymentId deleted }',
    call: async () => ({
      query: { deployment_ids: [(await gitDeployment(app)).id, (await gitDeployment(app)).id] },
    }),
  },
  {
    mutation: 'setDeploymentTags',
    selection: DEPLOYMENT,
    call: async () => ({ path: await ofDeployment(), body: { tags: [{ key: 'team', value: id() }] } }),
  },
  {
    rest: 'createRevision',
    mutation: 'createRevision',
    selection: `${DEPLOYMENT} revision { id number }`,
    call: async () => ({ path: await ofDeployment(), body: {} }),
  },
  {
    rest: 'redeployRevision',
    mutation: 'redeployRevision',
    selection: 'revision { id attempt status }',
    call: async () => ({ path: await ofRevision({ ended: true }) }),
  },
  {
    rest: 'interruptRevision',
    mutation: 'interruptRevision',
    selection: 'revision { id attempt status }',
    call: async () => ({ path: await ofRevision({ ended: false }) }),
  },
  {
    rest: 'createListener',
    mutation: 'createListener',
    selection: 'listener { id computeId }',
    call: async () => ({
      body: { compute_type: 'k8s', compute_id: id(), compute_config: { k8s_namespaces: ['agents'] } },
    }),
  },
  {
    rest: 'updateListener',
    mutation: 'updateListener',
    selection: 'listener { id version updatedAt }',
    call: async () => ({ path: await ofListener(), body: { version: id() } }),
  },
  {
    rest: 'deleteListener',
    mutation: 'deleteListener',
    selection: 'listenerId',
    call: async () => ({ path: await ofListener() }),
  },
  {
    rest: 'removeIntegration',
    mutation: 'removeGitIntegration',
    selection: 'integrationId',
    async call() {
      const { workspaceId } = app.tenant
      const data = { workspaceId, kind: 'app', name: id(), installationId: ++installations } as const
      return { path: { integration_id: (await app.app.core.db.integration.create({ data })).id } }
    },
  },
  {
    rest: 'createOAuthProvider',
    mutation: 'createOAuthProvider',
    selection: 'oauthProvider { id createdAt }',
    call: async () => ({ body: newProvider() }),
  },
  {
    rest: 'updateOAuthProvider',
    mutation: 'updateOAuthProvider',
    selection: 'oauthProvider { id name updatedAt }',
    call: async () => ({ path: await ofProvider(), body: { name: id() } }),
  },
  {
    rest: 'deleteOAuthProvider',
    mutation: 'deleteOAuthProvider',
    selection: 'oauthProviderId providerId',
    async call() {
      const provider = await storedProvider(app)
      await storedToken(app, { provider, content: { accessToken: CANARY } })
      return { path: { provider_id: provider.providerId }, query: { force: 'true' }, key: app.keys.organization }
    },
  },
  {
    rest: 'discoverMcpProvider',
    mutation: 'discoverMcpProvider',
    selection: 'oauthProvider { id clientId }',
    call: async () => ({ body: { provider_id: `mcp-${id()}`, name: 'Notes', mcp_server_url: mcp.url } }),
  },
  {
    rest: 'updateOAuthTokenMetadata',
    mutation: 'updateOAuthToken',
    selection: 'token { id providerAccountLabel provider { name } }',
    call: async () => ({ path: { token_id: (await mine()).id }, body: { label: id() }, ...person() }),
  },
  {
    rest: 'deleteOAuthToken',
    mutation: 'deleteOAuthToken',
    selection: 'tokenId',
    call: async () => ({ path: { token_id: (await mine()).id }, ...person() }),
  },
  {
    rest: 'deleteOAuthTokensOfUser',
    mutation: 'deleteOAuthTokensOfUser',
    selection: 'deleted',
    call: async () => ({ query: { user_id: (await mine()).subject } }),
  },
  {
    rest: 'createConnection',
    mutation: 'createConnection',
    selection: 'connection { id token { scopes } }',
    call: async () => ({ path: { agent_id: id() }, body: { oauth_token_id: (await mine()).id }, ...person() }),
  },
  {
    rest: 'deleteConnection',
    mutation: 'deleteConnection',
    selection: 'connectionId',
    async call() {
      const { id, agentId } = await storedConnection(app, await mine())
      return { path: { agent_id: agentId, connection_id: id }, ...person() }
    },
  },
  {
    rest: 'createWorkspace',
    mutation: 'createWorkspace',
    selection: 'workspace { id name createdAt }',
    call: async () => ({ body: { name: id() }, key: app.keys.organization }),
  },
  {
    mutation: 'createApiKey',
    selection: 'apiKey { id createdAt prefix }',
    call: async () => ({ body: { name: id(), role: 'viewer' } }),
  },
  {
    mutation: 'updateApiKey',
    selection: 'apiKey { id owner }',
    call: async () => ({ path: { api_key_id: await storedKey() }, body: { owner: id() } }),
  },
  {
    mutation: 'revokeApiKey',
    selection: 'apiKey { id revokedAt }',
    call: async () => ({ path: { api_key_id: await storedKey() } }),
  },
  {
    rest: 'revokeSession',
    mutation: 'revokeSession',
    selection: 'session { id endedAt }',
    async call() {
      const { organizationId } = app.tenant
      const data = {
        organizationId,
        kind: 'person',
        subject: id(),
        role: 'viewer',
        hash: randomUUID(),
        openedAt: new Date(),
        expiresAt: new Date(Date.now() + 60_000),
      } as const
      return { path: { session_id: (await app.app.core.db.session.create({ data })).id }, key: app.keys.organization }
    },
  },
]

/** Mutations whose result is unique per call. */
const ANEW = [
  ...['createUploadUrl', 'createUploadUrlUnversioned', 'createPushToken', 'startInstallation', 'authenticate'],
  ...['issueAccessToken', 'revealSecret'],
]
const ANEW_MUTATIONS = [
  ...['createUploadUrl', 'createPushToken', 'startGitIntegration', 'authenticate', 'issueAccessToken'],
  'revealSecret',
]

test('every write is listed', () => {
  const named = WRITES.flatMap(({ rest }) => rest ?? [])
  expect(
    operations
      .filter(acceptsKey)
      .map(({ operationId }) => operationId)
      .sort(),
  ).toEqual(named.sort())
  const anew = operations.filter(({ idempotency }) => idempotency === 'no-effect').map(({ operationId }) => operationId)
  expect(anew.sort()).toEqual(ANEW.sort())
  const ignored = operations.filter(({ idempotency }) => idempotency === 'not-documented')
  expect(ignored.every(({ tag }) => tag === 'Data plane' || tag === 'Builders')).toBe(true)
  const mutations = [...WRITES.map(({ mutation }) => mutation), ...ANEW_MUTATIONS]
  expect(Object.keys(schema.getMutationType()!.getFields()).sort()).toEqual(mutations.sort())
})

/** Number of changes, by any caller. */
async function done() {
  const counters = await app.app.core.db.eventCounter.aggregate({ _sum: { sequence: true } })
  return { events: counters._sum.sequence, registered: mcp.requests.filter(({ path }) => path === '/register').length }
}

async function twice(send: () => Promise<unknown>) {
  const before = await done()
  const first = await send()
  const after = await done()
  expect(after.events).toBeGreaterThan(Number(before.events))
  expect(await send()).toEqual(first)
  expect(await done()).toEqual(after)
}

const tenant = () => ({ 'x-tenant-id': app.tenant.workspaceId })

describe('a write that is sent twice in REST has one effect:', () => {
  test.each(WRITES.filter(({ rest }) => rest).map((write) => [write.rest!, write] as const))(
    '%s',
    async (name, write) => {
      const { method, path: template } = operations.find(({ operationId }) => operationId === name)!
      const { path = {}, query = {}, body, key } = await write.call()
      const params = new URLSearchParams(
        Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
      )
      const target = `${template.replace(/\{(\w+)\}/g, (_, part: string) => path[part]!)}${params.size ? `?${params}` : ''}`
      const headers = { ...tenant(), 'idempotency-key': randomUUID() }
      const replayed: (string | null)[] = []
      await twice(async () => {
        const answer = await app.rest(method, target, { body, key, headers })
        expect(answer.status, answer.text).toBeLessThan(300)
        replayed.push(answer.headers.get('idempotency-replayed'))
        return [answer.status, answer.text, answer.headers.get('etag'), answer.headers.get('x-revision-id')]
      })
      expect(replayed).toEqual([null, 'true'])
    },
  )
})

describe('a write that is sent twice in GraphQL has one effect:', () => {
  test.each(WRITES.map((write) => [write.mutation, write] as const))('%s', async (name, { call, selection }) => {
    const { path, query, body, key } = await call()
    const input = inCamelCase({ ...path, ...query, ...body }, name === 'deleteOAuthProvider' ? { force: true } : {})
    const type = name[0]!.toUpperCase() + name.slice(1)
    const document = `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename
      ... on ${type}Success { ${selection} } ... on Error { code message } } }`
    const headers = { ...tenant(), 'idempotency-key': randomUUID() }
    const replayed: (string | null)[] = []
    await twice(async () => {
      const answer = await app.gql(document, { input }, { key, headers })
      expect(answer.errors).toBeUndefined()
      expect(answer.data[name].__typename, answer.text).toBe(`${type}Success`)
      replayed.push(answer.headers.get('idempotency-replayed'))
      return answer.body
    })
    expect(replayed).toEqual([null, 'true'])
  })
})

test('no stored outcome contains a secret', async () => {
  const stored = JSON.stringify(await app.app.core.db.idempotencyEntry.findMany())
  expect(stored.length).toBeGreaterThan(10_000)
  for (const secret of [CANARY, 'ciphertext', 'wrappedKey', 'clientSecret', '"sealed"', '"hash"'])
    expect(stored).not.toContain(secret)
})

function inCamelCase(value: unknown, more: object = {}): unknown {
  if (Array.isArray(value)) return value.map((item) => inCamelCase(item))
  if (value === null || typeof value !== 'object') return value
  return { ...Object.fromEntries(Object.entries(value).map(([name, one]) => [camel(name), inCamelCase(one)])), ...more }
}
