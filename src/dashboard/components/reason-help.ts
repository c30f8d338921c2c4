/** What a user can do about each reason, next to the server's message. The type requires an entry per reason. */
import type { graphql } from '../api/graphql.ts'

export type ReasonCode = ReturnType<typeof graphql.scalar<'Reason'>>

const RECOVERS = 'This resolves by itself; no action is needed.'
const SEE_BUILD = 'The build log has the error. Fix the source, then deploy again.'
const SEE_DEPLOY = 'The deploy log has the agent’s last output.'
const OPERATOR = 'Ask the server’s operator to check it.'
const CLUSTER = 'Ask the cluster’s operator to check it.'
const NO_ACTION = 'No action is needed.'

/** null: the message needs no advice */
export const REASON_HELP: Record<ReasonCode, string | null> = {
  ARTIFACT_LOST: 'Redeploy the revision to build it again.',
  BUILDER_SILENT: 'Start a builder, or check why it can’t reach this server.',
  BUILD_COMMAND_FAILED: SEE_BUILD,
  BUILD_FAILED: SEE_BUILD,
  CHANGED_BY_OTHERS: CLUSTER,
  CLONE_FAILED: 'Check the repository’s address, the branch or tag, and what the integration may reach.',
  CLUSTER_REFUSED: CLUSTER,
  CLUSTER_UNREACHABLE: CLUSTER,
  CONFIG_INVALID: 'Fix the deployment’s settings or its configuration file, then deploy again.',
  CONTAINER_START_FAILED: 'Fix the container’s command, image or resources.',
  CONTENT_MISSING: 'Add an image or a source to create a new revision.',
  CRASHED: SEE_DEPLOY,
  DATABASE_LIMIT: 'Let the agent delete what it doesn’t need, or have APP_DATABASE_MB raised.',
  DATABASE_UNAVAILABLE: OPERATOR,
  DEADLINE: 'Check what the revision waited for last, then deploy again.',
  DEPLOYMENT_DELETED: NO_ACTION,
  DEPLOY_FAILED: SEE_DEPLOY,
  DISK_LIMIT: 'Let the agent delete what it doesn’t need, or have APP_DISK_MB raised.',
  EVICTED: 'If this repeats, request more memory in the settings, or ask the cluster’s operator about its nodes.',
  FILE_LIMIT: 'Let the agent write smaller files, or have APP_FILE_MB raised.',
  HEALTH_CHECK_TIMED_OUT:
    'The agent has to answer its health path (GET /ok by default) with 200. The deploy log has what it printed.',
  IMAGE_PULL_FAILED: 'Check the image’s name and tag, and the credentials for its registry.',
  INSTALL_FAILED: SEE_BUILD,
  INTEGRATION_UNAVAILABLE: 'Connect the git provider again, or let the integration reach the repository.',
  INTERNAL: 'The log of the server, or of the listener, has the cause.',
  INTERRUPTED_BY_PERSON: NO_ACTION,
  IN_PROGRESS: RECOVERS,
  LISTENER_SILENT: 'Restart the listener, or check why it can’t reach this server.',
  NOBODY_TOOK_IT: OPERATOR,
  NOT_OBSERVED: 'If this lasts, ask the server’s operator to check it.',
  NOT_READY: null,
  NO_BUILDER: 'Use an image: this runtime can’t build sources.',
  NO_ENDPOINTS: OPERATOR,
  NO_RUNTIME: 'Ask the server’s operator to set RUNTIME, or give the deployment a listener.',
  NO_SPACE: 'Ask the server’s operator to free disk space.',
  OUT_OF_MEMORY: 'Raise the memory in the settings, or let the agent use less.',
  PORT_IN_USE: OPERATOR,
  PROCESS_LIMIT: 'Let the agent start fewer processes, or have APP_PIDS raised.',
  PROVISION_FAILED: OPERATOR,
  PULLING_IMAGE: RECOVERS,
  QUEUED_BEHIND: 'This revision starts when the previous one ends. Interrupt that one to start sooner.',
  QUEUE_STALLED: 'Check that its workers run and can reach its database and cache, or restart it.',
  QUOTA_EXCEEDED: CLUSTER,
  ROLLING_OUT: RECOVERS,
  ROLLOUT_PAUSED: CLUSTER,
  SECRET_MISSING: 'Create the Secret in the cluster, or remove the reference from the settings.',
  SERVER_OVERLOADED: 'This resolves by itself. If it lasts, the server needs more CPU or fewer concurrent builds.',
  STORAGE_UNAVAILABLE: CLUSTER,
  SUPERSEDED: NO_ACTION,
  TARBALL_INVALID: 'Upload the source again, as a gzip tarball.',
  TARBALL_UNAVAILABLE: 'Upload the source again.',
  TEARDOWN_FAILED: 'The server retries automatically.',
  TOOL_MISSING: OPERATOR,
  UNSCHEDULABLE: 'Request fewer resources in the settings, or add nodes to the cluster.',
  WAITING_FOR_BUILDER: 'Start a builder, or wait until one has a free slot.',
  WAITING_FOR_HEALTH:
    'The agent has to answer its health path (GET /ok by default) with 200. The deploy log has what it prints.',
  WAITING_FOR_IMAGE: 'Push or name an image.',
  WAITING_FOR_LISTENER: RECOVERS,
  WAITING_FOR_TARBALL: 'Upload a source.',
  WAITING_FOR_TURN: RECOVERS,
  WAITING_FOR_WORKER: 'Start a server with WORKER=on and a RUNTIME.',
  WORKER_LOST: OPERATOR,
}

/** Reasons that the deployment's settings can fix. */
export const FIXED_IN_SETTINGS: ReadonlySet<ReasonCode> = new Set([
  'CLONE_FAILED',
  'CONFIG_INVALID',
  'CONTAINER_START_FAILED',
  'CONTENT_MISSING',
  'IMAGE_PULL_FAILED',
  'NO_BUILDER',
  'OUT_OF_MEMORY',
  'QUOTA_EXCEEDED',
  'SECRET_MISSING',
  'TARBALL_INVALID',
  'TARBALL_UNAVAILABLE',
  'UNSCHEDULABLE',
  'WAITING_FOR_IMAGE',
  'WAITING_FOR_TARBALL',
])
