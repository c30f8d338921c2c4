/** The same operations through REST and through GraphQL, with outcomes that can be compared. */
import type { TestApp } from '../support/app.ts'

// biome-ignore lint/suspicious/noExplicitAny: a body, snake_case, as REST takes and gives it
type Body = any

export interface Outcome {
  ok: boolean
  /** A code of the error catalogue. */
  code?: string
  message?: string
  /** The violations, `source_config.resource_spec.cpu less_than_equal`, sorted. */
  issues?: string[]
  value?: Body
}

export interface Driver {
  create(body: Body, key?: string): Promise<Outcome>
  update(id: string, body: Body, key?: string): Promise<Outcome>
  createRevision(id: string, body: Body, key?: string): Promise<Outcome>
  redeploy(id: string, revisionId: string, key?: string): Promise<Outcome>
  interrupt(id: string, revisionId: string, key?: string): Promise<Outcome>
  remove(id: string, options?: { force?: boolean }, key?: string): Promise<Outcome>
  get(id: string, key?: string): Promise<Outcome>
  list(filter: Body, key?: string): Promise<Outcome>
  createListener(body: Body, key?: string): Promise<Outcome>
  updateListener(id: string, body: Body, key?: string): Promise<Outcome>
  removeListener(id: string, key?: string): Promise<Outcome>
  getListener(id: string, key?: string): Promise<Outcome>
  listListeners(key?: string): Promise<Outcome>
  createProvider(body: Body, key?: string): Promise<Outcome>
  updateProvider(name: string, body: Body, key?: string): Promise<Outcome>
  removeProvider(name: string, key?: string): Promise<Outcome>
  getProvider(name: string, key?: string): Promise<Outcome>
  listProviders(key?: string): Promise<Outcome>
  connect(agent: string, body: Body, key?: string): Promise<Outcome>
  disconnect(agent: string, id: string, key?: string): Promise<Outcome>
  listConnections(agent: string, key?: string): Promise<Outcome>
}

export function restDriver(app: TestApp): Driver {
  async function call(method: string, path: string, key?: string, body?: unknown): Promise<Outcome> {
    const answer = await app.rest(method, path, { key, body })
    if (answer.status < 300) return { ok: true, value: answer.body }
    const { code, detail } = answer.body
    if (typeof detail === 'string') return { ok: false, code, message: detail }
    return { ok: false, code, issues: detail.map((d: Body) => `${d.loc.slice(1).join('.')} ${d.type}`).sort() }
  }
  const at = (id: string, revisionId?: string) => `/v2/deployments/${id}${revisionId ? `/revisions/${revisionId}` : ''}`
  const connections = (agent: string) => `/v2/auth/agents/${encodeURIComponent(agent)}/connections`
  return {
    create: (body, key) => call('POST', '/v2/deployments', key, body),
    update: (id, body, key) => call('PATCH', at(id), key, body),
    createRevision: (id, body, key) => call('POST', `${at(id)}/revisions`, key, body),
    redeploy: (id, revisionId, key) => call('POST', `${at(id, revisionId)}/redeploy`, key),
    interrupt: (id, revisionId, key) => call('POST', `${at(id, revisionId)}/interrupt`, key),
    remove: (id, options, key) => call('DELETE', `${at(id)}${options?.force ? '?force=true' : ''}`, key),
    get: (id, key) => call('GET', at(id), key),
    list: async (filter, key) => {
      const outcome = await call('GET', `/v2/deployments?${new URLSearchParams(filter)}`, key)
      return outcome.ok ? { ok: true, value: outcome.value.resources } : outcome
    },
    createListener: (body, key) => call('POST', '/v2/listeners', key, body),
    updateListener: (id, body, key) => call('PATCH', `/v2/listeners/${id}`, key, body),
    removeListener: (id, key) => call('DELETE', `/v2/listeners/${id}`, key),
    getListener: (id, key) => call('GET', `/v2/listeners/${id}`, key),
    listListeners: async (key) => {
      const outcome = await call('GET', '/v2/listeners', key)
      return outcome.ok ? { ok: true, value: outcome.value.resources } : outcome
    },
    createProvider: (body, key) => call('POST', '/v2/auth/providers', key, body),
    updateProvider: (name, body, key) => call('PATCH', `/v2/auth/providers/${name}`, key, body),
    removeProvider: (name, key) => call('DELETE', `/v2/auth/providers/${name}`, key),
    getProvider: (name, key) => call('GET', `/v2/auth/providers/${name}`, key),
    listProviders: (key) => call('GET', '/v2/auth/providers', key),
    connect: (agent, body, key) => call('POST', connections(agent), key, body),
    disconnect: (agent, id, key) => call('DELETE', `${connections(agent)}/${id}`, key),
    listConnections: async (agent, key) => {
      const outcome = await call('GET', connections(agent), key)
      return outcome.ok ? { ok: true, value: outcome.value.data } : outcome
    },
  }
}

const DEPLOYMENT = `id tenantId name source status serving statusMessage reason reasonSince imageVersion createdAt updatedAt
  health { ready desired message reason observedAt }
  secrets { name value } secretReferences { name secretName secretKey }
  sourceRevisionConfig { repoRef graphConfigPath imageUri sourceTarballPath repoCommitSha }
  sourceConfig { integrationId repoUrl deploymentType buildOnPush customUrl listenerId installCommand buildCommand
    listenerConfig { k8sNamespace } resourceSpec { cpu cpuLimit memoryMb minScale maxScale labels } }
  latestRevision { id } activeRevision { id }`
const LISTENER =
  'id computeType computeId computeConfig { k8sNamespaces } version podClasses status lastSeenAt createdAt updatedAt'
const PROVIDER = `id organizationId providerId name clientId authUrl tokenUrl usesPkce codeChallengeMethod providerType
  mcpServerUrl tokenEndpointAuthMethod isDynamicClient createdAt updatedAt`
const CONNECTION = `id agentId token { id } provider { providerId } providerAccountLabel scopes expiresAt createdBy createdAt`
const REVISION = 'id status statusMessage reason reasonSince source attempt deployment { id }'

export function graphqlDriver(app: TestApp): Driver {
  async function ask(query: string, variables: object, key?: string): Promise<Outcome> {
    const { data, errors } = await app.gql(query, camel(variables) as Record<string, unknown>, { key })
    if (errors) return failure(errors[0].extensions.code, errors[0].message, errors[0].extensions.issues)
    return { ok: true, value: Object.values(data)[0] }
  }
  async function change(name: string, input: object, selection: string, key?: string): Promise<Outcome> {
    const type = name[0]!.toUpperCase() + name.slice(1)
    const outcome = await ask(
      `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename ... on Error { message code }
        ... on ValidationError { issues { path code } } ... on ${type}Success { ${selection} } } }`,
      { input },
      key,
    )
    const { __typename, code, message, issues, ...success } = outcome.value ?? {}
    if (!outcome.ok || __typename === `${type}Success`)
      return outcome.ok ? { ok: true, value: snake(Object.values(success)[0]) } : outcome
    return failure(code, message, issues)
  }
  return {
    create: (body, key) => change('createDeployment', body, `deployment { ${DEPLOYMENT} }`, key),
    update: (id, body, key) =>
      change('updateDeployment', { deployment_id: id, ...body }, `deployment { ${DEPLOYMENT} }`, key),
    createRevision: (id, body, key) =>
      change('createRevision', { deployment_id: id, ...body }, `revision { ${REVISION} }`, key),
    // REST returns the deployment; GraphQL the revision, which leads to the deployment
    redeploy: async (id, revision_id, key) => {
      const outcome = await change(
        'redeployRevision',
        { deployment_id: id, revision_id },
        `revision { deployment { ${DEPLOYMENT} } }`,
        key,
      )
      return outcome.ok ? { ok: true, value: outcome.value.deployment } : outcome
    },
    interrupt: (id, revision_id, key) =>
      change('interruptRevision', { deployment_id: id, revision_id }, `revision { ${REVISION} }`, key),
    remove: (id, options, key) => change('deleteDeployment', { deployment_id: id, ...options }, 'deploymentId', key),
    get: async (id, key) => {
      const outcome = await ask(`query($id: ID!) { deployment(id: $id) { ${DEPLOYMENT} } }`, { id }, key)
      return outcome.ok ? { ok: true, value: snake(outcome.value) } : outcome
    },
    list: async (filter, key) => {
      const outcome = await ask(
        `query($filter: DeploymentFilter) { deployments(filter: $filter) { nodes { ${DEPLOYMENT} } } }`,
        { filter },
        key,
      )
      return outcome.ok ? { ok: true, value: snake(outcome.value.nodes) } : outcome
    },
    createListener: (body, key) => change('createListener', body, `listener { ${LISTENER} }`, key),
    updateListener: (listener_id, body, key) =>
      change('updateListener', { listener_id, ...body }, `listener { ${LISTENER} }`, key),
    removeListener: (listener_id, key) => change('deleteListener', { listener_id }, 'listenerId', key),
    getListener: async (id, key) => {
      const outcome = await ask(`query($id: ID!) { listener(id: $id) { ${LISTENER} } }`, { id }, key)
      return outcome.ok ? { ok: true, value: snake(outcome.value) } : outcome
    },
    listListeners: async (key) => {
      const outcome = await ask(`query { listeners { nodes { ${LISTENER} } } }`, {}, key)
      return outcome.ok ? { ok: true, value: snake(outcome.value.nodes) } : outcome
    },
    createProvider: (body, key) => change('createOAuthProvider', body, `oauthProvider { ${PROVIDER} }`, key),
    updateProvider: (provider_id, body, key) =>
      change('updateOAuthProvider', { provider_id, ...body }, `oauthProvider { ${PROVIDER} }`, key),
    removeProvider: (provider_id, key) => change('deleteOAuthProvider', { provider_id }, 'providerId', key),
    getProvider: async (id, key) => {
      const outcome = await ask(`query($id: ID!) { oauthProvider(id: $id) { ${PROVIDER} } }`, { id }, key)
      return outcome.ok ? { ok: true, value: snake(outcome.value) } : outcome
    },
    listProviders: async (key) => {
      const outcome = await ask(`query { oauthProviders { nodes { ${PROVIDER} } } }`, {}, key)
      return outcome.ok ? { ok: true, value: snake(outcome.value.nodes) } : outcome
    },
    connect: async (agent_id, body, key) =>
      asRest(await change('createConnection', { agent_id, ...body }, `connection { ${CONNECTION} }`, key)),
    disconnect: (agent_id, connection_id, key) =>
      change('deleteConnection', { agent_id, connection_id }, 'connectionId', key),
    listConnections: async (agent, key) => {
      const query = `query($agent: ID!) { connections(agentId: $agent) { nodes { ${CONNECTION} } } }`
      const outcome = await ask(query, { agent }, key)
      return outcome.ok ? { ok: true, value: outcome.value.nodes.map(flat) } : outcome
    },
  }
}

/** REST has the ids of a connection's token and provider where GraphQL has the objects. */
function flat(connection: Body): Body {
  const { token, provider, ...own } = snake(connection) as Body
  return { ...own, oauth_token_id: token.id, provider_id: provider.provider_id }
}
const asRest = (outcome: Outcome): Outcome => (outcome.ok ? { ok: true, value: flat(outcome.value) } : outcome)

function failure(code: string, message: string, issues?: { path: string[]; code: string }[]): Outcome {
  if (code !== 'VALIDATION_FAILED') return { ok: false, code, message }
  return {
    ok: false,
    code,
    issues: issues?.map((issue) => `${snakeName(issue.path.slice(1).join('.'))} ${issue.code}`).sort(),
  }
}

const camelName = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
const snakeName = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** `labels` is the user's map, so its keys stay unchanged. */
function rename(value: unknown, name: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, name))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [name(key), key === 'labels' ? item : rename(item, name)]),
  )
}
const camel = (value: unknown) => rename(value, camelName)
const snake = (value: unknown) => rename(value, snakeName)
