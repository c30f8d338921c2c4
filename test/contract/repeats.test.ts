/**
 * Sends every write of REST and GraphQL twice with one Idempotency-Key (docs/api-rules.md#retries): equal answers, one
 * effect. A new operation or mutation must be listed here, or among those with a unique result per call.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { acceptsKey } from '../../src/api/rest/framework/idempotency.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { sealSecret } from '../../src/domain/webhooks/endpoint.ts'
import { LOCAL } from '../oauth/support.ts'
import { putStatus, useRestApp } from '../rest/support.ts'
import { begunLogin } from '../sessions/login-steps.ts'
import { gitBody, gitDeployment, listener, storedRule } from '../support/factories.ts'
import { type McpServer, SERVER_METADATA, startMcpServer } from '../support/mcp-server.ts'
import { storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { overBoth, restNameOf, type VerbName } from './api.ts'

const app = useRestApp(() => ({ settings: LOCAL }))
let mcp: McpServer
beforeAll(async () => {
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
afterAll(() => mcp.close())

/** Part of every secret that is sent or stored; must be in no outcome. */
const CANARY = 'canary-4711'

let installations = 0
const id = () => randomUUID().slice(0, 8)
const secrets = () => [{ name: 'TOKEN', value: `${CANARY}-${id()}` }]
const ofDeployment = async (more = {}) => ({ deployment_id: (await gitDeployment(app, more)).id })
async function ofRunning() {
  const { id: deployment_id, latest_revision_id } = await gitDeployment(app)
  await putStatus(app.core, latest_revision_id, 'DEPLOYED')
  return { deployment_id }
}
async function ofRevision({ ended }: { ended: boolean }) {
  const { id: deployment_id, latest_revision_id: revision_id } = await gitDeployment(app)
  const path = `/v2/deployments/${deployment_id}/revisions/${revision_id}/interrupt`
  if (ended) await app.rest('POST', path)
  return { deployment_id, revision_id }
}
async function storedKey(): Promise<string> {
  const { workspaceId, organizationId } = app.tenant
  const data = { workspaceId, organizationId, name: id(), role: 'viewer', prefix: 'x', hash: randomUUID() } as const
  return (await app.core.db.apiKey.create({ data })).id
}
const ofListener = async () => ({ listener_id: (await listener(app)).id })
async function ofEndpoint() {
  const { workspaceId } = app.tenant
  const endpoint = randomUUID()
  const secret = sealSecret(app.core.keyring, endpoint, 'whsec_c2VjcmV0')
  const data = {
    id: endpoint,
    workspaceId,
    name: id(),
    url: 'https://hooks.example',
    form: 'standard',
    secret,
    cursor: 0,
  }
  await app.core.db.webhookEndpoint.create({ data: { ...data, enabled: false } })
  const delivery = { endpointId: endpoint, workspaceId, sequence: 1, type: 'x', orderingKey: 'x', deadAt: new Date() }
  await app.core.db.endpointDelivery.create({ data: delivery })
  return { webhook_endpoint_id: endpoint }
}
const ofRule = async () => ({ alert_rule_id: (await storedRule(app)).id })
const ofLogin = async () => ({ login_id: (await begunLogin(app)).id })
const ofProvider = async () => ({ provider_id: (await storedProvider(app)).providerId })
const mine = async () => storedToken(app, { provider: await storedProvider(app), content: { accessToken: CANARY } })
const newProvider = () => ({
  provider_id: `acme-${id()}`,
  name: 'Acme',
  client_id: 'client',
  client_secret: `${CANARY}-client`,
  auth_url: 'https://provider.example/authorize',
  token_url: 'https://provider.example/token',
})

/** Creates the target of each write, separately for each transport, and returns the input. */
const WRITES: Partial<Record<VerbName, () => Promise<object>>> = {
  createDeployment: async () => gitBody(app.tenant, { secrets: secrets() }),
  updateDeployment: async () => ({ ...(await ofDeployment()), secrets: secrets() }),
  restartDeployment: ofRunning,
  setSecrets: async () => ({ ...(await ofDeployment()), set: secrets(), unset: [] }),
  unsetSecrets: async () => ({ ...(await ofDeployment({ secrets: secrets() })), unset: ['TOKEN'] }),
  deleteDeployment: ofDeployment,
  deleteDeployments: async () => ({ deployment_ids: [(await gitDeployment(app)).id, (await gitDeployment(app)).id] }),
  setDeploymentTags: async () => ({ ...(await ofDeployment()), tags: [{ key: 'team', value: id() }] }),
  createRevision: ofDeployment,
  redeployRevision: () => ofRevision({ ended: true }),
  interruptRevision: () => ofRevision({ ended: false }),
  createListener: async () => ({
    ...{ compute_type: 'k8s', compute_id: id(), compute_config: { k8s_namespaces: ['agents'] } },
  }),
  updateListener: async () => ({ ...(await ofListener()), version: id() }),
  deleteListener: ofListener,
  async removeGitIntegration() {
    const { workspaceId } = app.tenant
    const data = { workspaceId, kind: 'app', name: id(), installationId: ++installations } as const
    return { integration_id: (await app.core.db.integration.create({ data })).id }
  },
  createOAuthProvider: async () => newProvider(),
  updateOAuthProvider: async () => ({ ...(await ofProvider()), name: id() }),
  async deleteOAuthProvider() {
    const provider = await storedProvider(app)
    await storedToken(app, { provider, content: { accessToken: CANARY } })
    return { provider_id: provider.providerId, force: true }
  },
  discoverMcpProvider: async () => ({ provider_id: `mcp-${id()}`, name: 'Notes', mcp_server_url: mcp.url }),
  updateOAuthToken: async () => ({ token_id: (await mine()).id, label: id() }),
  deleteOAuthToken: async () => ({ token_id: (await mine()).id }),
  deleteOAuthTokensOfUser: async () => ({ user_id: (await mine()).subject }),
  createConnection: async () => ({ agent_id: id(), oauth_token_id: (await mine()).id }),
  async deleteConnection() {
    const { id, agentId } = await storedConnection(app, await mine())
    return { agent_id: agentId, connection_id: id }
  },
  createWorkspace: async () => ({ name: id() }),
  createApiKey: async () => ({ name: id(), role: 'viewer' }),
  updateApiKey: async () => ({ api_key_id: await storedKey(), owner: id() }),
  revokeApiKey: async () => ({ api_key_id: await storedKey() }),
  createWebhookEndpoint: async () => ({ name: id(), url: 'https://hooks.example' }),
  updateWebhookEndpoint: async () => ({ ...(await ofEndpoint()), name: id() }),
  rotateWebhookEndpointSecret: ofEndpoint,
  replayEndpointDeliveries: ofEndpoint,
  deleteWebhookEndpoint: ofEndpoint,
  createAlertRule: async () => ({ name: id(), kind: 'not_serving' }),
  updateAlertRule: async () => ({ ...(await ofRule()), name: id() }),
  deleteAlertRule: ofRule,
  approveLogin: ofLogin,
  refuseLogin: ofLogin,
  async revokeSession() {
    const times = { openedAt: new Date(), expiresAt: new Date(Date.now() + 60_000) }
    const { organizationId } = app.tenant
    const data = { organizationId, kind: 'person', subject: id(), role: 'viewer', hash: randomUUID() } as const
    return { session_id: (await app.core.db.session.create({ data: { ...data, ...times } })).id }
  },
}
const NAMES = Object.keys(WRITES) as VerbName[]

/** Default: the admin. */
const callerOf = (verb: VerbName) => {
  if (/^(deleteOAuthProvider|createWorkspace|revokeSession)$/.test(verb)) return app.keys.organization
  // the owner of the token
  return /^(update|delete)OAuthToken$|Connection$/.test(verb) ? app.keys.deployer : undefined
}

/** The text of a new API key or secret in REST: a repeat answers null. */
const SHOWN_ONCE = /(?<="(key|secret)":)"(cpk|whsec)_[^"]*"/

/** Writes whose result is unique per call, and a read by POST. */
const ANEW = [
  ...['createUploadUrl', 'createUploadUrlUnversioned', 'createPushToken', 'startInstallation', 'authenticate'],
  ...['issueAccessToken', 'revealSecret', 'lookUpLogin', 'createDeploymentLink', 'testWebhookEndpoint'],
]
const ANEW_MUTATIONS = [
  ...['createUploadUrl', 'createPushToken', 'startGitIntegration', 'authenticate', 'issueAccessToken'],
  'revealSecret',
  'createDeploymentLink',
  'testWebhookEndpoint',
]

test('every write is listed', () => {
  const named = NAMES.map((verb): [string | null, string] => [restNameOf(verb), verb])
  const keyed = operations.filter(acceptsKey).map(({ operationId }) => operationId)
  expect(keyed.sort()).toEqual(named.flatMap(([rest]) => rest ?? []).sort())
  const anew = operations.filter(({ idempotency }) => idempotency === 'no-effect').map(({ operationId }) => operationId)
  expect(anew.sort()).toEqual(ANEW.sort())
  const ignored = operations.filter(({ idempotency }) => idempotency === 'not-documented')
  expect(ignored.every(({ tag }) => tag === 'Data plane' || tag === 'Builders')).toBe(true)
  const mutations = [...NAMES, ...ANEW_MUTATIONS]
  expect(Object.keys(schema.getMutationType()!.getFields()).sort()).toEqual(mutations.sort())
})

/** Number of changes, by any caller. A decision about a login has no event. */
async function done() {
  const counters = await app.core.db.eventCounter.aggregate({ _sum: { sequence: true } })
  const decided = await app.core.db.login.count({ where: { approved: { not: null } } })
  return {
    changes: Number(counters._sum.sequence) + decided,
    registered: mcp.requests.filter(({ path }) => path === '/register').length,
  }
}

overBoth(app, (api) => {
  test.each(NAMES.filter((verb) => api.over === 'GraphQL' || restNameOf(verb)))('%s has one effect', async (verb) => {
    const input = { ...(await WRITES[verb]!()) }
    const headers = { 'idempotency-key': randomUUID() }
    const send = async () => {
      const { ok, answer } = await api.call(verb, input, {
        ...{ key: callerOf(verb), tenant: app.tenant.workspaceId, headers },
      })
      expect(ok, answer.text).toBe(true)
      const text = answer.text.replace(SHOWN_ONCE, 'null')
      const said = [answer.status, text, answer.headers.get('etag'), answer.headers.get('x-revision-id')]
      return { said, replayed: answer.headers.get('idempotency-replayed') }
    }
    const before = await done()
    const first = await send()
    const after = await done()
    expect(after.changes).toBeGreaterThan(before.changes)
    expect([first.replayed, await send()]).toEqual([null, { said: first.said, replayed: 'true' }])
    expect(await done()).toEqual(after)
  })
})

test('no stored outcome contains a secret', async () => {
  const stored = JSON.stringify(await app.core.db.idempotencyEntry.findMany())
  expect(stored.length).toBeGreaterThan(10_000)
  for (const secret of [CANARY, 'ciphertext', 'wrappedKey', 'clientSecret', '"sealed"', '"hash"', 'whsec_'])
    expect(stored).not.toContain(secret)
})
