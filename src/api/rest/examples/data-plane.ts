/** Examples of the data-plane calls, by schema id: a listener that deploys a new image, and a builder. */
import { snake } from '../../../domain/parsing/codec.ts'
import { WORK_COLUMNS } from '../../../domain/protocol/answers.ts'
import { ID, UPDATED } from './ids.ts'

/** The work of a claim. */
const EXAMPLE_WORK = {
  ...Object.fromEntries(Object.keys(WORK_COLUMNS).map((column) => [snake(column), null])),
  id: ID.revision,
  number: 7,
  attempt: 1,
  source: 'external_container',
  image_uri: 'registry.example.com/acme/agent:1.4.2',
  secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-…' }],
}

const spec = { min_scale: 1, max_scale: 3, cpu: 1, cpu_limit: 2, memory_mb: 1024, memory_limit_mb: 2048 }
const placed = { spec, secret_references: [], custom_url: null }
const run = { revision: EXAMPLE_WORK, ...placed }

const assignment = {
  generation: 12,
  run: null,
  step: {
    id: ID.step,
    kind: 'DEPLOY',
    tries: 1,
    seconds_left: 600,
    deadline_at: UPDATED,
    revision: EXAMPLE_WORK,
    ...placed,
  },
  stop: false,
  keep_artifacts: [],
}

const COMMIT = '8f14e45fceea167a5a36dedd4bea2543ba8f14e4'
const REPOSITORY = `registry.example.com/${ID.workspace}/${ID.deployment}`
const SOURCE_WORK = {
  ...EXAMPLE_WORK,
  source: 'gitprovider',
  repo_url: 'https://git.example.com/acme/agent',
  repo_ref: 'main',
  graph_config_path: 'graph.json',
  image_uri: null,
}

export const DATA_PLANE_EXAMPLES = {
  ClaimRequest: {
    holder: 'prod-eu-0',
    max: 20,
    lease_seconds: 30,
    wait_seconds: 20,
    version: '0.1.0',
    pod_classes: ['gpu'],
  },
  ClaimAnswer: {
    claims: [
      {
        ...assignment,
        claim_id: ID.claim,
        token: '42',
        deployment: {
          id: ID.deployment,
          workspace_id: ID.workspace,
          name: 'support-agent',
          address_name: null,
          k8s_namespace: 'agents',
          provisioned: true,
        },
        lease_seconds: 30,
      },
    ],
  },
  HeartbeatRequest: {
    lease_seconds: 30,
    wait_seconds: 15,
    claims: [
      {
        claim_id: ID.claim,
        token: '42',
        generation: 12,
        progress: { reason: 'PULLING_IMAGE', message: `Pulling ${EXAMPLE_WORK.image_uri}.` },
        health: { ready: 1, desired: 1, message: null, reason: null },
        idle: false,
      },
    ],
  },
  HeartbeatAnswer: { claims: [{ claim_id: ID.claim, lost: false, assignment: null }] },
  LogsRequest: {
    token: '42',
    revision_id: ID.revision,
    attempt: 1,
    entries: [{ type: 'deploy', level: 'info', message: 'Listening on 0.0.0.0:8000', time: UPDATED }],
  },
  CompleteRequest: {
    token: '42',
    step_id: ID.step,
    outcome: 'succeeded',
    tries: 1,
    url: 'https://support-agent.agents.example.com',
    image_version: '1.4.2',
  },
  CompleteAnswer: { recorded: true, assignment: { ...assignment, generation: 13, run, step: null } },
  ReleaseRequest: { token: '42' },
  BuilderClaimRequest: { holder: 'build-1', max: 2, lease_seconds: 30, wait_seconds: 20 },
  BuilderClaimAnswer: {
    claims: [
      {
        claim_id: ID.claim,
        token: '1',
        lease_seconds: 30,
        deployment: { id: ID.deployment, workspace_id: ID.workspace, name: 'support-agent' },
        step_id: ID.step,
        tries: 1,
        seconds_left: 1800,
        revision: SOURCE_WORK,
      },
    ],
  },
  BuilderHeartbeatRequest: {
    lease_seconds: 30,
    wait_seconds: 15,
    claims: [
      { claim_id: ID.claim, token: '1', progress: { reason: 'IN_PROGRESS', message: 'Fetching refs/heads/main.' } },
    ],
  },
  BuilderHeartbeatAnswer: { claims: [{ claim_id: ID.claim, lost: false }] },
  BuilderAccessRequest: { token: '1' },
  BuilderAccessAnswer: {
    repository: { name: REPOSITORY, insecure: false, username: 'token', password: '…' },
    git: { username: 'x-access-token', password: '…' },
    tarball: false,
    failure: null,
  },
  BuilderLogsRequest: {
    token: '1',
    entries: [{ level: 'info', message: 'STEP 3/9: RUN npm ci', time: UPDATED }],
  },
  BuilderCompleteRequest: {
    token: '1',
    outcome: 'succeeded',
    repo_commit_sha: COMMIT,
    artifact: `image:${REPOSITORY}@sha256:${'0f'.repeat(32)}`,
  },
  BuilderCompleteAnswer: { recorded: true },
  MetricsRequest: {
    process_number: 1234567,
    samples: [
      {
        deployment_id: ID.deployment,
        revision_id: ID.revision,
        start: '2026-11-20T09:30:10.000Z',
        measures: { replicas: 2, restarts: 0, cpu_seconds: 3.5, memory: 412_000_000, memory_limit: 2_147_483_648 },
        latencies: [],
      },
    ],
  },
}
