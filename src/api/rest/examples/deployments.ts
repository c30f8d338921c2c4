/** Examples of deployments, revisions, logs, git integrations and listeners, by schema id. */
import { snake } from '../../../domain/parsing/naming.ts'
import { WORK_COLUMNS } from '../../../domain/protocol/answers.ts'
import { COMMIT, CREATED, ID, UPDATED } from './ids.ts'

const MASKED = '••••••••'
const IMAGE = 'registry.example.com/acme/agent:1.4.2'
const OBJECT_PATH = `uploads/${ID.deployment}/0198c5a0-0000-7000-8000-000000000060.tar.gz`

const sourceConfig = {
  integration_id: ID.integration,
  repo_url: 'https://github.com/acme/agent',
  deployment_type: 'prod',
  build_on_push: true,
  custom_url: 'https://agents.example.com:3100',
  resource_spec: { min_scale: 1, max_scale: 3, cpu: 1, memory_mb: 1024 },
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
}

const sourceRevisionConfig = {
  repo_ref: 'main',
  graph_config_path: 'graph.json',
  image_uri: null,
  source_tarball_path: null,
  repo_commit_sha: COMMIT,
}

const deployment = {
  id: ID.deployment,
  tenant_id: ID.workspace,
  name: 'support-agent',
  source: 'gitprovider',
  source_config: sourceConfig,
  source_revision_config: sourceRevisionConfig,
  secrets: [{ name: 'OPENAI_API_KEY', value: MASKED }],
  secret_references: null,
  access: 'workspace',
  idle_minutes: null,
  status: 'READY',
  serving: true,
  status_message: null,
  reason: null,
  reason_since: null,
  why_not_live: 'npm ci failed with exit code 1.',
  last_change: {
    at: UPDATED,
    what: 'UPDATED',
    actor: { kind: 'api_key', name: 'ci', id: ID.key },
    changed: ['repo_ref'],
    revision_id: null,
  },
  health: { ready: 1, desired: 1, message: null, reason: null, observed_at: UPDATED },
  url: 'https://agents.example.com:3100',
  image_version: '1.4.2',
  latest_revision_id: ID.revision,
  active_revision_id: ID.active,
  restarted_at: null,
  restarting: false,
  created_at: CREATED,
  updated_at: UPDATED,
}

const namedSecret = {
  name: 'OPENAI_API_KEY',
  set_at: CREATED,
  set_by: { kind: 'api_key', name: 'ci', id: ID.key },
}

const tag = { id: ID.tag, key: 'team', value: 'search', created_at: CREATED }

const revision = {
  id: ID.revision,
  deployment_id: ID.deployment,
  number: 7,
  status: 'BUILD_FAILED',
  status_message: 'npm ci failed with exit code 1.\nnpm error 404 Not Found: left-pad@99',
  reason: 'INSTALL_FAILED',
  reason_since: UPDATED,
  source: 'gitprovider',
  source_revision_config: sourceRevisionConfig,
  attempt: 1,
  commit_message: 'Answer in the language of the question',
  commit_author: 'Ada Lovelace',
  trigger: 'push',
  created_by: { kind: 'git_provider', name: null, id: null },
  rollout_at: CREATED,
  rollout_by: { kind: 'git_provider', name: null, id: null },
  superseded_by_id: null,
  created_at: CREATED,
  updated_at: UPDATED,
}

const revisionDetails = {
  revision_id: ID.revision,
  is_active: false,
  can_redeploy: true,
  why_not_redeployable: null,
  queue_position: null,
  steps: [
    {
      kind: 'BUILD',
      created_at: CREATED,
      started_at: CREATED,
      ended_at: UPDATED,
      tries: 1,
      outcome: 'failed',
      reason: 'INSTALL_FAILED',
      is_current: true,
    },
  ],
  durations: { waited: 0.2, provision: null, build: 41.5, deploy: null, total: 41.7 },
  secret_fingerprints: [{ name: 'OPENAI_API_KEY', fingerprint: '5f0c2f0a9d1be7a4' }],
  effective_resources: { min_scale: 1, max_scale: 3, cpu: 1, cpu_limit: 2, memory_mb: 1024, memory_limit_mb: 2048 },
  secret_references: [],
  build_plan: {
    kind: 'node',
    server: 'own',
    sentence: 'Node, installed by "npm ci", started by "node server.js" (the start script of "package.json").',
    install: ['npm ci'],
    build: null,
    start: 'node server.js',
  },
}

const revisionComparison = {
  from: { ...revision, id: ID.active, number: 6 },
  to: revision,
  is_same: false,
  differences: [{ part: 'resources', field: 'memory_mb', from: '512', to: '1024' }],
  secrets: { added: [], removed: [], changed: ['OPENAI_API_KEY'] },
  secret_references: { added: [], removed: [], changed: [] },
  resources_known: true,
}

const listener = {
  id: ID.listener,
  compute_type: 'k8s',
  compute_id: 'prod-eu',
  compute_config: { k8s_namespaces: ['agents'] },
  version: '0.1.0',
  pod_classes: ['gpu'],
  status: 'ONLINE',
  last_seen_at: UPDATED,
  created_at: CREATED,
  updated_at: CREATED,
}

export const DEPLOYMENT_EXAMPLES = {
  DeploymentCreate: {
    name: 'support-agent',
    source: 'gitprovider',
    source_config: {
      integration_id: ID.integration,
      repo_url: 'https://github.com/acme/agent',
      deployment_type: 'prod',
      build_on_push: true,
      resource_spec: { min_scale: 1, max_scale: 3, cpu: 1, memory_mb: 1024 },
    },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }],
  },
  DeploymentUpdate: {
    source_revision_config: { repo_ref: 'main' },
    secrets: [{ name: 'OPENAI_API_KEY', value: MASKED }],
  },
  SecretsChange: { set: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }], unset: ['ANTHROPIC_API_KEY'] },
  NamedSecretList: { resources: [namedSecret] },
  RevealedSecret: { name: 'OPENAI_API_KEY', value: 'sk-…' },
  DeploymentTagsUpdate: { tags: [{ key: 'team', value: 'search' }] },
  DeploymentTags: { resources: [tag] },
  TagList: { resources: [tag], offset: 1 },
  Deployment: deployment,
  DeploymentList: { resources: [deployment], offset: 1 },
  BulkDeletion: {
    results: [
      { deployment_id: ID.deployment, status: 204, detail: null },
      { deployment_id: ID.active, status: 404, detail: `Deployment ID ${ID.active} not found.` },
    ],
  },
  Revision: revision,
  RevisionDetails: revisionDetails,
  RevisionComparison: revisionComparison,
  RevisionList: { resources: [revision], offset: 1 },
  LogPage: {
    logs: [
      {
        id: '0000000000000000412',
        revision_id: ID.revision,
        timestamp: UPDATED,
        level: 'error',
        message: 'npm error 404 Not Found: left-pad@99',
        ansi: null,
        attempt: 1,
      },
    ],
    next_offset: '0000000000000000412',
  },
  UploadUrl: {
    upload_url: `https://pilothouse.example.com/v1/${OBJECT_PATH}?expires=1763632800&signature=5d41402abc4b2a76b9719d911017c592`,
    object_path: OBJECT_PATH,
  },
  DeploymentLinkCreate: { expires_in: 3600, path: '/docs' },
  DeploymentLink: {
    url: 'https://support-agent.apps.example.com/docs?pilothouse_link=eyJhbGciOiJFZERTQSIs…',
    expires_at: UPDATED,
  },
  KeySet: {
    keys: [
      {
        kty: 'OKP',
        crv: 'Ed25519',
        use: 'sig',
        alg: 'EdDSA',
        kid: ID.key,
        x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      },
    ],
  },
  PushToken: { token: 'eyJhbGciOiJFUzI1NiIs…', registry_url: `registry.example.com/${ID.workspace}/${ID.deployment}` },
  Integration: { id: ID.integration, installation_id: '51234567', name: 'acme' },
  Repository: {
    host_integration_id: ID.integration,
    id: 712345678,
    name: 'agent',
    owner: 'acme',
    url: 'https://github.com/acme/agent',
    default_branch: 'main',
  },
  Installation: { install_url: 'https://github.com/apps/pilothouse/installations/new?state=…', expires_at: UPDATED },
  ListenerCreate: { compute_type: 'k8s', compute_id: 'prod-eu', compute_config: { k8s_namespaces: ['agents'] } },
  ListenerUpdate: { compute_config: { k8s_namespaces: ['agents', 'agents-staging'] } },
  Listener: listener,
  ListenerList: { resources: [listener], offset: 1 },
}

/** The work of a claim. */
export const EXAMPLE_WORK = {
  ...Object.fromEntries(Object.keys(WORK_COLUMNS).map((column) => [snake(column), null])),
  id: ID.revision,
  number: 7,
  attempt: 1,
  source: 'external_container',
  image_uri: IMAGE,
  secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }],
}
