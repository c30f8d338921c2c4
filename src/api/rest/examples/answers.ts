/** Makes examples of answers from their schemas and from the values below. */
import { COMMIT, CREATED, ID, UPDATED } from './ids.ts'

const FAILURE = 'npm ci failed with exit code 1.'
const OBJECT_PATH = `uploads/${ID.deployment}/0198c5a0-0000-7000-8000-000000000060.tar.gz`
const LOGIN_EXPIRES = '2026-11-20T09:40:00.000Z'
const cursor = (...position: string[]) => Buffer.from(JSON.stringify(position)).toString('base64url')

/** By name of the member. A member of one schema is `Schema.name`. */
const VALUES: Record<string, unknown> = {
  active_revision_id: ID.active,
  added: [],
  address: '192.0.2.7',
  agent_id: 'support-bot',
  api_key_id: ID.key,
  auth_id: ID.authorization,
  auth_url: 'https://login.acme.example.com/authorize',
  build_on_push: true,
  can_redeploy: true,
  changed: ['OPENAI_API_KEY'],
  client_id: 'pilothouse',
  code: 'BCDF-GHJK',
  code_challenge_method: 'S256',
  commit_author: 'Ada Lovelace',
  commit_message: 'Answer in the language of the question',
  compute_id: 'prod-eu',
  connection_id: ID.connection,
  current: true,
  cursor: cursor(ID.workspace, '42'),
  custom_url: 'https://agents.example.com:3100',
  default_branch: 'main',
  deployment_id: ID.deployment,
  deployment_type: 'prod',
  expires_at: UPDATED,
  field: 'memory_mb',
  fingerprint: '5f0c2f0a9d1be7a4',
  graph_config_path: 'graph.json',
  host_integration_id: ID.integration,
  image_version: '1.4.2',
  install_url: 'https://github.com/apps/pilothouse/installations/new?state=…',
  installation_id: '51234567',
  integration_id: ID.integration,
  is_current: true,
  is_default: true,
  k8s_namespaces: ['agents'],
  last_seen_at: UPDATED,
  last_used_at: UPDATED,
  latest_revision_id: ID.revision,
  level: 'error',
  listener_config: null,
  name: 'support-agent',
  next_cursor: cursor(ID.workspace, '42'),
  next_offset: '0000000000000000412',
  number: 7,
  oauth_token_id: ID.token,
  object_path: OBJECT_PATH,
  observed_at: UPDATED,
  oidc: null,
  organization_id: ID.organization,
  owner: 'Platform team',
  part: 'resources',
  plan: 'self_hosted_enterprise',
  pod_classes: ['gpu'],
  prefix: 'cpk_3vXn0Q9a',
  provider_account_label: 'jane@acme.example.com',
  provider_id: 'acme',
  reason_since: UPDATED,
  registry_url: `registry.example.com/${ID.workspace}/${ID.deployment}`,
  removed: [],
  repo_commit_sha: COMMIT,
  repo_ref: 'main',
  repo_url: 'https://github.com/acme/agent',
  resource_spec: { min_scale: 1, max_scale: 3, cpu: 1, memory_mb: 1024 },
  resources_known: true,
  revision_id: ID.revision,
  role: 'deployer',
  rollout_at: CREATED,
  scopes: ['mail.read'],
  serving: true,
  set_at: CREATED,
  started_at: CREATED,
  status_message: FAILURE,
  tenant_id: ID.workspace,
  token: 'eyJhbGciOiJFUzI1NiIs…',
  token_endpoint_auth_method: 'client_secret_post',
  token_type: 'Bearer',
  token_url: 'https://login.acme.example.com/token',
  trigger: 'push',
  updated_at: UPDATED,
  upload_url: `https://pilothouse.example.com/v1/${OBJECT_PATH}?expires=1763632800&signature=5d41402abc4b2a76b9719d911017c592`,
  url: 'https://agents.example.com:3100',
  uses_pkce: true,
  version: '0.1.0',
  webhook_endpoint_id: ID.webhookEndpoint,
  workspace_id: ID.workspace,

  'Actor.id': ID.key,
  'Actor.name': 'release',
  'ApiKey.agent_id': null,
  'ApiKey.created_by': ID.admin,
  'ApiKey.expires_at': null,
  'ApiKey.id': ID.key,
  'ApiKey.name': 'release',
  'Authorization.oauth_token_id': null,
  'Authorization.status': 'pending',
  'Authorization.url': 'https://login.acme.example.com/authorize?client_id=pilothouse&state=…',
  'BegunLogin.expires_at': LOGIN_EXPIRES,
  'BegunLogin.id': ID.login,
  'BegunLogin.url': 'https://control.example.com/connect#BCDF-GHJK',
  'BulkDeletion.status': 204,
  'Connection.created_by': ID.key,
  'Connection.id': ID.connection,
  'CreatedApiKey.key': 'cpk_3vXn0Q9a…',
  'Deployment.reason_since': null,
  'Deployment.status': 'READY',
  'Deployment.status_message': null,
  'DeploymentChange.changed': ['repo_ref'],
  'DeploymentChange.revision_id': null,
  'DeploymentChange.what': 'UPDATED',
  'DeploymentLink.url': 'https://support-agent.apps.example.com/docs?pilothouse_link=eyJhbGciOiJFZERTQSIs…',
  'DeploymentsChange.cursor': cursor('changes', ID.workspace, '7'),
  'Event.changed': [],
  'Event.from': 'AWAITING_BUILD',
  'Event.to': 'BUILDING',
  'Event.type': 'revision.status',
  'Integration.id': ID.integration,
  'Integration.name': 'acme',
  'KeySet.keys': [{ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA', kid: ID.key, x: '11qYAYKx…' }],
  'DeploymentMetrics.step': 60,
  'Listener.id': ID.listener,
  'Login.expires_at': LOGIN_EXPIRES,
  'Login.id': ID.login,
  'Login.name': 'ada-laptop',
  'Login.role': null,
  'LoginOutcome.key': 'cpk_…',
  'LoginOutcome.status': 'approved',
  'LogPage.id': '0000000000000000412',
  'LogPage.message': 'npm error 404 Not Found: left-pad@99',
  'MetricSeries.name': 'latency_p95',
  'MetricSeries.points': [
    [1764230400, 0.412],
    [1764230460, 0.395],
  ],
  'MetricSeries.unit': 'seconds',
  'NamedSecret.name': 'OPENAI_API_KEY',
  'Me.session': null,
  'OAuthProvider.id': ID.provider,
  'OAuthProvider.name': 'Acme',
  'OAuthToken.id': ID.token,
  'OAuthToken.status_message': null,
  'Organization.id': ID.organization,
  'Organization.name': 'Acme',
  'Repository.name': 'agent',
  'Repository.owner': 'acme',
  'Repository.url': 'https://github.com/acme/agent',
  'RevealedSecret.name': 'OPENAI_API_KEY',
  'RevealedSecret.value': 'sk-…',
  'Revision.id': ID.revision,
  'Revision.reason': 'INSTALL_FAILED',
  'Revision.status': 'BUILD_FAILED',
  'RevisionDetails.build_plan': {
    kind: 'node',
    server: 'own',
    sentence: 'Node, installed by "npm ci", started by "node server.js" (the start script of "package.json").',
    install: ['npm ci'],
    build: null,
    start: 'node server.js',
  },
  'RevisionDetails.effective_resources': {
    min_scale: 1,
    max_scale: 3,
    cpu: 1,
    cpu_limit: 2,
    memory_mb: 1024,
    memory_limit_mb: 2048,
  },
  'RevisionDetails.durations': { waited: 0.2, provision: null, build: 41.5, deploy: null, total: 41.7 },
  'RevisionDetails.name': 'OPENAI_API_KEY',
  'RevisionDifference.from': '512',
  'RevisionDifference.to': '1024',
  'RevisionStep.ended_at': UPDATED,
  'RevisionStep.kind': 'BUILD',
  'RevisionStep.outcome': 'failed',
  'RevisionStep.reason': 'INSTALL_FAILED',
  'Secret.name': 'OPENAI_API_KEY',
  'Secret.value': '••••••••',
  'Session.id': ID.session,
  'SignInMethods.api_key': true,
  'Tag.id': ID.tag,
  'Tag.key': 'team',
  'Tag.value': 'search',
  'Workspace.id': ID.workspace,
  'Workspace.name': 'staging',
}

export interface Schema {
  $ref?: string
  anyOf?: Schema[]
  type?: string | string[]
  enum?: unknown[]
  format?: string
  items?: Schema
  properties?: Record<string, Schema>
}

const BY_TYPE: Record<string, unknown> = { boolean: false, integer: 1, number: 1, string: '…', null: null }
const BY_FORMAT: Record<string, unknown> = { 'date-time': CREATED, uuid: ID.deployment }

/** `owner`: the component that has the schema as a part. */
export function exampleAnswer(schema: Schema, components: Record<string, Schema>, owner = ''): unknown {
  const { $ref, anyOf, type = 'object', enum: values, format = '', items, properties = {} } = schema
  if ($ref) return exampleAnswer(components[nameOf($ref)]!, components, nameOf($ref))
  // of a value that may be null only objects are shown
  if (anyOf)
    return exampleAnswer(anyOf.find((one) => one.$ref || one.properties) ?? { type: 'null' }, components, owner)
  if (Array.isArray(type)) return null
  if (values) return values[0]
  if (items) return [exampleAnswer(items, components, owner)]
  if (type !== 'object') return BY_FORMAT[format] ?? BY_TYPE[type]
  const members = Object.entries(properties).map(([name, member]) => {
    const value = [VALUES[`${owner}.${name}`], VALUES[name]].find((known) => known !== undefined)
    return [name, value === undefined ? exampleAnswer(member, components, owner) : value]
  })
  return Object.fromEntries(members)
}

/** The name of the component that a reference points to. */
export const nameOf = ($ref: string) => $ref.split('/').at(-1)!
