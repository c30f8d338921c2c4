/**
 * The verbs of the API over both transports: one table names REST's operation and GraphQL's field of each verb. A rule
 * of a verb is tested once, with the names of REST, and runs over both.
 */
import { describe, expect } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { CATALOGUE, type ErrorCode } from '../../src/domain/errors/errors.ts'
import { camel, snake } from '../../src/domain/parsing/codec.ts'
import type { RestApp } from '../rest/support.ts'
import type { Answer } from '../support/app.ts'

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
type Any = any

export interface How {
  /** An API key, or null for none; default: the admin of workspace A. */
  key?: string | null
  /** The `X-Tenant-Id` header. */
  tenant?: string
  /** `If-Match`, or `ifVersion`. */
  version?: number
  headers?: Record<string, string>
}

export interface Outcome {
  ok: boolean
  /** The resource in the form of REST, or the items of a list. */
  value: Any
  /** The version of the resource: of REST's tag, or the field. GraphQL also has it in a failed precondition. */
  version: number | null
  /** The revision that a write created or rolled out. */
  revision: string | null
  code?: ErrorCode
  message?: string
  /** The violations, `source_config.cpu less_than_equal`, sorted. Null: GraphQL's types refuse the input. */
  issues?: string[] | null
  answer: Answer
}

interface Verb {
  /** operationId; default: the name of the verb; null: REST does not have it. */
  rest?: string | null
  /** Root field of GraphQL; default: the name of the verb. */
  field?: string
  /** Selection of the field, or of the mutation's success. Aliases are REST's names. */
  shows: string
  /** GraphQL's argument for a member of the input; null: it has none. */
  args?: Record<string, string | null>
  /** Types of the variables that \`shows\` uses, by member of the input. */
  inner?: Record<string, string>
  /** Makes the value from REST's body. */
  read?: (body: Any) => Any
}

const ACTOR = 'kind name id: subject'
const DEPLOYMENT = `id tenantId name source access idleMinutes status serving statusMessage reason reasonSince whyNotLive url
  imageVersion restartedAt restarting restartCount lastRestart { at reason message } createdAt updatedAt version latest_revision_id: latestRevision { id }
  active_revision_id: activeRevision { id }
  lastChange { at what actor { ${ACTOR} } changed revisionId } health { ready desired draining message reason observedAt }
  secrets { name value } secretReferences { name secretName secretKey }
  sourceRevisionConfig { repoRef graphConfigPath imageUri sourceTarballPath repoCommitSha }
  sourceConfig { integrationId repoUrl deploymentType buildOnPush customUrl listenerId installCommand buildCommand
    listenerConfig { k8sNamespace } resourceSpec { cpu cpuLimit memoryMb minScale maxScale class labels } }`
const WRITTEN = `deployment { ${DEPLOYMENT} } revision { id deployment { secrets { value } } }`
const REVISION = `id deployment_id: deployment { id } status statusMessage reason reasonSince source attempt number
  sourceRevisionConfig { repoRef graphConfigPath imageUri sourceTarballPath repoCommitSha } commitMessage commitAuthor
  trigger created_by: createdByActor { ${ACTOR} } rolloutAt rolloutBy { ${ACTOR} }
  superseded_by_id: supersededBy { id } traceId createdAt updatedAt`
const LISTENER = `id computeType computeId computeConfig { k8sNamespaces } version podClasses status lastSeenAt createdAt
  updatedAt edit: editVersion`
const PROVIDER = `id organizationId providerId name clientId authUrl tokenUrl usesPkce codeChallengeMethod providerType
  mcpServerUrl tokenEndpointAuthMethod isDynamicClient createdAt updatedAt version`
const TOKEN = `id provider_id: provider { providerId } providerAccountLabel scopes isDefault status statusMessage
  expiresAt createdAt updatedAt`
const CONNECTION = `id agentId oauth_token_id: token { id } provider_id: provider { providerId } providerAccountLabel
  scopes expiresAt createdBy createdAt`
const API_KEY = `id name owner role secretsRead listenerId agentId prefix organizationWide createdBy createdAt
  lastUsedAt expiresAt revokedAt`
const ENDPOINT = 'id name url form eventTypes enabled silentSince createdBy createdAt updatedAt version'
const RULE = 'id name kind deploymentId threshold minutes enabled createdBy createdAt updatedAt version'
const DELIVERY = `id eventType sequence deploymentId state tries answer error createdAt triedAt deliveredAt deadAt`
const WORKSPACE = 'id organization_id: organization { id } name createdAt'

const LOGIN = 'id name address status role createdAt expiresAt'

const VERBS = {
  createDeployment: { shows: WRITTEN },
  updateDeployment: { shows: WRITTEN },
  restartDeployment: { shows: `deployment { ${DEPLOYMENT} }` },
  deleteDeployment: { shows: 'deploymentId' },
  deleteDeployments: {
    shows: 'results { deploymentId deleted message }',
    read: ({ results }) =>
      results.map(({ deployment_id, status, detail }: Any) => ({
        deployment_id,
        deleted: status === 204,
        message: detail,
      })),
  },
  getDeployment: { field: 'deployment', shows: DEPLOYMENT, args: { deployment_id: 'id' } },
  listDeployments: { field: 'deployments', shows: 'nodes { id name status }' },
  setDeploymentTags: {
    shows: 'deployment { tags { key value } version }',
    read: ({ resources }) => ({ tags: resources.map(({ key, value }: Any) => ({ key, value })) }),
  },
  listDeploymentTags: {
    field: 'deployment',
    shows: 'resources: tags { id key value createdAt }',
    args: { deployment_id: 'id' },
  },
  readMetrics: {
    field: 'deployment',
    shows: `resources: metrics(names: $names, from: $from, to: $to, step: $step) {
      from to step series { name unit revisionId points } }`,
    args: { deployment_id: 'id' },
    inner: { names: '[MetricName!]', from: 'DateTime', to: 'DateTime', step: 'Int' },
  },
  listTags: { field: 'tags', shows: 'nodes { id key value createdAt }', args: { limit: 'first' } },
  setSecrets: { shows: WRITTEN },
  unsetSecrets: { rest: null, shows: WRITTEN },
  listSecrets: {
    field: 'deployment',
    shows: `resources: secrets { name setAt setBy { ${ACTOR} } }`,
    args: { deployment_id: 'id' },
  },
  revealSecret: { shows: 'name value' },
  createRevision: { shows: `revision { ${REVISION} } deployment { version }` },
  redeployRevision: { shows: WRITTEN },
  interruptRevision: { shows: `revision { ${REVISION} }` },
  getRevision: { field: 'revision', shows: REVISION, args: { revision_id: 'id', deployment_id: null } },
  listRevisions: {
    field: 'deployment',
    shows: `resources: revisions { nodes { ${REVISION} } }`,
    args: { deployment_id: 'id' },
  },
  createUploadUrl: { shows: 'uploadUrl objectPath' },
  createDeploymentLink: { shows: 'url expiresAt' },
  createPushToken: { shows: 'token registryUrl' },
  createListener: { shows: `listener { ${LISTENER} }` },
  updateListener: { shows: `listener { ${LISTENER} }` },
  deleteListener: { shows: 'listenerId' },
  getListener: { field: 'listener', shows: LISTENER, args: { listener_id: 'id' } },
  listListeners: { field: 'listeners', shows: `nodes { ${LISTENER} }` },
  createOAuthProvider: { shows: `oauthProvider { ${PROVIDER} }` },
  updateOAuthProvider: { shows: `oauthProvider { ${PROVIDER} }` },
  deleteOAuthProvider: { shows: 'id: oauthProviderId providerId' },
  getOAuthProvider: { field: 'oauthProvider', shows: PROVIDER, args: { provider_id: 'id' } },
  listOAuthProviders: { field: 'oauthProviders', shows: `nodes { ${PROVIDER} }` },
  discoverMcpProvider: { shows: `oauthProvider { ${PROVIDER} }` },
  authenticate: { shows: 'authorization { status url authId oauthTokenId }' },
  waitForAuthorization: {
    field: 'authorization',
    shows: 'status url authId oauthTokenId',
    args: { auth_id: 'id', timeout: 'timeoutSeconds' },
  },
  issueAccessToken: { shows: 'accessToken tokenType expiresAt scopes connectionId providerAccountLabel' },
  updateOAuthToken: { rest: 'updateOAuthTokenMetadata', shows: `token { ${TOKEN} }` },
  deleteOAuthToken: { shows: 'tokenId' },
  deleteOAuthTokensOfUser: { shows: 'deleted', read: ({ deleted }) => deleted },
  listOAuthTokens: { field: 'oauthTokens', shows: `nodes { ${TOKEN} }` },
  createConnection: { shows: `connection { ${CONNECTION} }` },
  deleteConnection: { shows: 'connectionId' },
  listConnections: { field: 'connections', shows: `nodes { ${CONNECTION} }` },
  removeGitIntegration: { rest: 'removeIntegration', shows: 'integrationId' },
  createApiKey: { shows: `apiKey { ${API_KEY} }`, read: ({ api_key }) => api_key },
  updateApiKey: { shows: `apiKey { ${API_KEY} }` },
  revokeApiKey: { shows: 'apiKey { id revokedAt }' },
  listApiKeys: { field: 'apiKeys', shows: `nodes { ${API_KEY} }`, args: { limit: 'first' } },
  createAlertRule: { shows: `alertRule { ${RULE} }` },
  updateAlertRule: { shows: `alertRule { ${RULE} }` },
  deleteAlertRule: { shows: 'alertRuleId' },
  getAlertRule: { field: 'alertRule', shows: RULE, args: { alert_rule_id: 'id' } },
  listAlertRules: { field: 'alertRules', shows: `nodes { ${RULE} }`, args: { limit: 'first' } },
  listAlerts: {
    field: 'alerts',
    shows: 'nodes { id ruleId deploymentId state value createdAt firedAt resolvedAt }',
    args: { limit: 'first' },
  },
  createWebhookEndpoint: { shows: `webhookEndpoint { ${ENDPOINT} }`, read: ({ webhook_endpoint }) => webhook_endpoint },
  updateWebhookEndpoint: { shows: `webhookEndpoint { ${ENDPOINT} }` },
  deleteWebhookEndpoint: { shows: 'webhookEndpointId' },
  rotateWebhookEndpointSecret: { shows: 'webhookEndpoint { id }' },
  testWebhookEndpoint: { shows: 'delivered answer error' },
  replayEndpointDeliveries: { shows: 'replayed', read: ({ replayed }) => replayed },
  getWebhookEndpoint: { field: 'webhookEndpoint', shows: ENDPOINT, args: { webhook_endpoint_id: 'id' } },
  listWebhookEndpoints: { field: 'webhookEndpoints', shows: `nodes { ${ENDPOINT} }`, args: { limit: 'first' } },
  listEndpointDeliveries: { field: 'endpointDeliveries', shows: `nodes { ${DELIVERY} }`, args: { limit: 'first' } },
  revokeSession: { shows: 'session { id endedAt }' },
  createWorkspace: { shows: `workspace { ${WORKSPACE} }` },
  listWorkspaces: { field: 'workspaces', shows: `nodes { ${WORKSPACE} }`, args: { limit: 'first' } },
  getMe: {
    field: 'me',
    shows: `actor { ${ACTOR} } role secretsRead organizationWide apiKey { ${API_KEY} } session { id }
      workspace { ${WORKSPACE} } organization { id name plan createdAt } server { version }`,
  },
  lookUpLogin: { field: 'login', shows: LOGIN },
  approveLogin: { shows: `login { ${LOGIN} }` },
  refuseLogin: { shows: `login { ${LOGIN} }` },
} satisfies Record<string, Verb>

export type VerbName = keyof typeof VERBS
type Input = Record<string, unknown>

/** The verb's operationId; null: REST does not have it. */
export function restNameOf(name: VerbName): string | null {
  const { rest = name }: Verb = VERBS[name]
  return rest
}

export interface Api {
  over: 'REST' | 'GraphQL'
  call(verb: VerbName, input?: Input, how?: How): Promise<Outcome>
  /** The value of a call that must succeed. */
  get(verb: VerbName, input?: Input, how?: How): Promise<Any>
  /** Expects these violations. Types that GraphQL has refuse some inputs before the verb reads them. */
  refuses(verb: VerbName, input: Input, issues: string[], how?: How): Promise<Outcome>
  /** Expects this error. */
  fails(verb: VerbName, input: Input, code: ErrorCode, how?: How): Promise<Outcome>
}

/** Runs the suite over each transport. `app` may start later. */
export function overBoth(app: RestApp, suite: (api: Api) => void): void {
  describe.each([apiOf('REST', restOf(app)), apiOf('GraphQL', graphqlOf(app))])('over $over', suite)
}

/** Both transports, for a test that uses them together. */
export const bothOf = (app: RestApp): Api[] => [apiOf('REST', restOf(app)), apiOf('GraphQL', graphqlOf(app))]

function apiOf(over: Api['over'], call: Api['call']): Api {
  return {
    over,
    call,
    async get(verb, input, how) {
      const { ok, value, answer } = await call(verb, input, how)
      expect(ok, answer.text).toBe(true)
      return value
    },
    async refuses(verb, input, issues, how) {
      const outcome = await call(verb, input, how)
      expect(outcome, outcome.answer.text).toMatchObject({ ok: false, code: 'VALIDATION_FAILED' })
      if (outcome.issues) expect(outcome.issues).toEqual([...issues].sort())
      else expect(issues.some((issue) => /(_type|missing|enum)$/.test(issue))).toBe(true)
      return outcome
    },
    async fails(verb, input, code, how) {
      const outcome = await call(verb, input, how)
      expect(outcome, outcome.answer.text).toMatchObject({ ok: false, code })
      return outcome
    },
  }
}

const NOTHING = { value: null, version: null, revision: null }

/** A violation's place without its part of the request. */
const issue = (path: (string | number)[], type: string) => `${snake(path.join('.'))} ${type}`

function restOf(app: RestApp): Api['call'] {
  return async (name, input = {}, { version, ...how } = {}) => {
    const verb: Verb = VERBS[name]
    const { method, path: template, input: declared } = operations.find((one) => one.operationId === restNameOf(name))!
    const { path = {}, query = {} } = partsOf(declared.shape)
    const own = Object.entries(input).filter(([member]) => !(member in path) && !(member in query))
    const params = new URLSearchParams(
      Object.entries(input).flatMap(([member, value]) =>
        member in query && value !== undefined ? [value].flat().map((one) => [member, String(one)]) : [],
      ),
    )
    const target = template.replace(/\{(\w+)\}/g, (_, member: string) => encodeURIComponent(String(input[member])))
    const answer = await app.call(method, target, {
      ...how,
      headers: { ...how.headers, ...(version === undefined ? {} : { 'if-match': `"${version}"` }) },
      query: Object.fromEntries([...new Set(params.keys())].map((member) => [member, params.getAll(member)])),
      ...('body' in declared.shape && { body: Object.fromEntries(own) }),
    })
    const { status, body, headers } = answer
    if (status < 300)
      return {
        ok: true,
        value: verb.read ? verb.read(body) : (body?.resources ?? body?.data ?? body ?? null),
        version: Number(/^"(\d+)-/.exec(headers.get('etag') ?? '')?.[1] ?? Number.NaN) || null,
        revision: headers.get('x-revision-id'),
        answer,
      }
    const { code, detail } = body
    expect(status).toBe(CATALOGUE[code as ErrorCode].status)
    if (typeof detail === 'string') return { ok: false, ...NOTHING, code, message: detail, answer }
    const issues = detail.map(({ loc, type }: Any) => issue(loc.slice(1), type)).sort()
    return { ok: false, ...NOTHING, code, issues, message: detail.map(({ msg }: Any) => msg).join(' '), answer }
  }
}

const partsOf = (shape: Any): Record<'path' | 'query', object | undefined> => ({
  path: shape.path?.shape,
  query: shape.query?.shape,
})

function graphqlOf(app: RestApp): Api['call'] {
  return async (name, input = {}, { version, ...how } = {}) => {
    const verb: Verb = VERBS[name]
    const field = verb.field ?? name
    const isMutation = verb.field === undefined
    const { text, variables, argsBack } = isMutation ? mutation(field, verb, input, version) : query(field, verb, input)
    const answer = await app.gql(text, variables, how)
    const fail = (code: ErrorCode, message: string, issues?: Any[], version = null): Outcome => ({
      ok: false,
      ...NOTHING,
      version,
      code,
      message: code === 'VALIDATION_FAILED' ? (issues ?? []).map((one) => one.message).join(' ') : message,
      ...(code === 'VALIDATION_FAILED' && {
        issues: issues?.map((one) => issue(argsBack(one.path), one.code)).sort() ?? null,
      }),
      answer,
    })
    if (answer.errors) {
      const { message, extensions } = answer.errors[0]
      return fail(extensions.code, message, extensions.issues)
    }
    const found = answer.data[field]
    if (!isMutation) {
      const part = found?.resources ?? found
      return { ok: true, ...NOTHING, ...versioned(snakeKeys(part?.nodes ?? part)), answer }
    }
    const { __typename, code, message, issues, ...success } = found
    if (code) {
      expect(__typename).toBe(TYPE_OF_STATUS[CATALOGUE[code as ErrorCode].status] ?? __typename)
      return fail(code, message, issues, success.version)
    }
    const first = success[/^\w+/.exec(verb.shows)![0]]
    const value =
      first !== null && typeof first === 'object' ? first : Object.keys(success).length > 1 ? success : first
    const shown = versioned(snakeKeys(value))
    return {
      ok: true,
      ...shown,
      version: shown.version ?? success.deployment?.version ?? null,
      revision: success.revision?.id ?? null,
      answer,
    }
  }
}

const TYPE_OF_STATUS: Record<number, string> = {
  400: 'NotRedeployableError',
  403: 'ForbiddenError',
  404: 'NotFoundError',
  409: 'ConflictError',
  412: 'PreconditionFailedError',
  422: 'ValidationError',
  502: 'OAuthProviderUnavailableError',
}

function mutation(field: string, { shows }: Verb, input: Input, ifVersion?: number) {
  const type = field[0]!.toUpperCase() + field.slice(1)
  return {
    text: `mutation ($input: ${type}Input!) { ${field}(input: $input) { __typename ... on ${type}Success { ${shows} }
      ... on Error { code message } ... on ValidationError { issues { path code message } }
      ${ifVersion === undefined ? '' : '... on PreconditionFailedError { version }'} } }`,
    variables: { input: { ...(camelKeys(input) as object), ...(ifVersion === undefined ? {} : { ifVersion }) } },
    // without `input`
    argsBack: (path: (string | number)[]) => path.slice(1),
  }
}

/** Members that the field has no argument for belong to its filter. */
function query(field: string, { shows, args = {}, inner = {} }: Verb, input: Input) {
  const declared = schema.getQueryType()!.getFields()[field]!.args
  const given: Record<string, unknown> = {}
  const filter: Input = {}
  for (const [member, value] of Object.entries(input)) {
    const name = member in args ? args[member] : camel(member)
    if (name === null || value === undefined) continue
    if (member in inner || declared.some((arg) => arg.name === name)) given[name!] = camelKeys(value)
    else filter[member] = value
  }
  if (Object.keys(filter).length > 0) given.filter = camelKeys(filter)
  const used = declared.filter(({ name }) => name in given)
  const [head, passed] = [
    [
      ...used.map(({ name, type }) => `$${name}: ${type}`),
      ...Object.entries(inner).map(([name, type]) => `$${name}: ${type}`),
    ],
    used.map(({ name }) => `${name}: $${name}`),
  ].map((list) => (list.length > 0 ? `(${list.join(', ')})` : ''))
  return {
    text: `query ${head} { ${field}${passed} { ${shows} } }`,
    variables: given,
    argsBack([first, ...rest]: (string | number)[]) {
      if (first === 'filter') return rest
      const member = Object.keys(args).find((one) => args[one] === first)
      return [member ?? first!, ...rest]
    },
  }
}

/** Takes the version out of the value, which has none in REST. */
function versioned(value: Any): Pick<Outcome, 'value' | 'version'> {
  if (Array.isArray(value)) return { value: value.map((one) => versioned(one).value), version: null }
  if (value === null || typeof value !== 'object') return { value, version: null }
  const { edit, ...rest } = value
  if (edit !== undefined) return { value: rest, version: edit }
  if (!('version' in value) || typeof value.version !== 'number') return { value, version: null }
  const { version, ...own } = value
  return { value: own, version }
}

/** `labels` is the user's map. */
const camelKeys = (value: unknown): unknown => renamed(value, camel)

/** An id that stands for a resource, and the set members of a resource spec, as in REST. */
function snakeKeys(value: unknown): Any {
  return renamed(value, snake, (name, member) => {
    if (name.endsWith('_id') && member !== null && typeof member === 'object') return Object.values(member)[0]
    if (name === 'resource_spec' && member !== null)
      return Object.fromEntries(Object.entries(member as object).filter(([, one]) => one !== null))
    return (member as { nodes?: unknown } | null)?.nodes ?? member
  })
}

function renamed(
  value: unknown,
  rename: (name: string) => string,
  member: (name: string, value: unknown) => unknown = (_, one) => one,
): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename, member))
  if (value === null || typeof value !== 'object' || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      rename(key),
      key === 'labels' ? item : member(rename(key), renamed(item, rename, member)),
    ]),
  )
}
