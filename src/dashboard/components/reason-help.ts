/** What a user can do about each reason, next to the server's message. The type requires an entry per reason. */
import type { graphql } from '../api/graphql.ts'

export type ReasonCode = ReturnType<typeof graphql.scalar<'Reason'>>

const RECOVERS = 'This mends itself; there is nothing to do.'
const SEE_BUILD = 'The build log says what went wrong. Mend it in the source, then deploy again.'
const SEE_DEPLOY = 'The deploy log has what the agent printed last.'
const OPERATOR = 'Whoever runs this server has to look at it.'
const CLUSTER = 'Whoever runs the cluster has to look at it.'
const NO_ACTION = 'Nobody has to do anything.'

/** null: the message needs no advice */
export const REASON_HELP: Record<ReasonCode, string | null> = {
  ARTIFACT_LOST: 'Redeploy it: that builds it again.',
  BUILDER_SILENT: 'Start a builder, or look at what keeps it from reaching this server.',
  BUILD_COMMAND_FAILED: SEE_BUILD,
  BUILD_FAILED: SEE_BUILD,
  CHANGED_BY_OTHERS: CLUSTER,
  CLONE_FAILED: 'Check the repository’s address, the branch or tag, and what the integration may reach.',
  CLUSTER_REFUSED: CLUSTER,
  CLUSTER_UNREACHABLE: CLUSTER,
  CONFIG_INVALID: 'Mend what the deployment or its configuration file says, then deploy again.',
  CONTAINER_START_FAILED: 'Mend how the container is started: its command, its image or its resources.',
  CONTENT_MISSING: 'Bring an image or a source, which makes a new revision.',
  CRASHED: SEE_DEPLOY,
  DATABASE_LIMIT: 'Let the agent delete what it doesn’t need, or have APP_DATABASE_MB raised.',
  DATABASE_UNAVAILABLE: OPERATOR,
  DEADLINE: 'Look at what it waited for last, then deploy again.',
  DEPLOYMENT_DELETED: NO_ACTION,
  DEPLOY_FAILED: SEE_DEPLOY,
  DISK_LIMIT: 'Let the agent delete what it doesn’t need, or have APP_DISK_MB raised.',
  FILE_LIMIT: 'Let the agent write smaller files, or have APP_FILE_MB raised.',
  HEALTH_CHECK_TIMED_OUT:
    'The agent has to answer its health path (GET /ok by default) with 200. The deploy log has what it printed.',
  IMAGE_PULL_FAILED: 'Check the image’s name and tag, and the credentials for its registry.',
  INSTALL_FAILED: SEE_BUILD,
  INTEGRATION_UNAVAILABLE: 'Connect the git provider again, or let the integration reach the repository.',
  INTERNAL: 'The log of the server, or of the listener, has the cause.',
  INTERRUPTED_BY_PERSON: NO_ACTION,
  IN_PROGRESS: RECOVERS,
  LISTENER_SILENT: 'Start the listener again, or look at what keeps it from reaching this server.',
  NOBODY_TOOK_IT: OPERATOR,
  NOT_OBSERVED: 'If this lasts, whoever runs this server has to look at it.',
  NOT_READY: null,
  NO_BUILDER: 'Bring an image: where it runs, nothing can be built.',
  NO_ENDPOINTS: OPERATOR,
  NO_RUNTIME: 'Whoever runs this server has to set RUNTIME, or the deployment needs a listener.',
  NO_SPACE: 'Whoever runs this server has to make room on its disk.',
  OUT_OF_MEMORY: 'Give it more memory in its settings, or let the agent use less.',
  PORT_IN_USE: OPERATOR,
  PROCESS_LIMIT: 'Let the agent start fewer processes, or have APP_PIDS raised.',
  PROVISION_FAILED: OPERATOR,
  PULLING_IMAGE: RECOVERS,
  QUEUED_BEHIND: 'It goes on when the revision before it has ended. Interrupt that one to go faster.',
  QUOTA_EXCEEDED: CLUSTER,
  ROLLING_OUT: RECOVERS,
  ROLLOUT_PAUSED: CLUSTER,
  SECRET_MISSING: 'Make the Secret in the cluster, or take the reference out of the settings.',
  SERVER_OVERLOADED: 'This mends itself. If it lasts, the server needs more CPU, or fewer builds at a time.',
  STORAGE_UNAVAILABLE: CLUSTER,
  SUPERSEDED: NO_ACTION,
  TARBALL_INVALID: 'Upload the source again, as a gzip tarball.',
  TARBALL_UNAVAILABLE: 'Upload the source again.',
  TEARDOWN_FAILED: 'It is tried again by itself.',
  TOOL_MISSING: OPERATOR,
  UNSCHEDULABLE: 'Ask for less in its settings, or let the cluster grow.',
  WAITING_FOR_BUILDER: 'A builder has to be running, with a place free.',
  WAITING_FOR_HEALTH:
    'The agent has to answer its health path (GET /ok by default) with 200. The deploy log has what it prints.',
  WAITING_FOR_IMAGE: 'Push or name an image.',
  WAITING_FOR_LISTENER: RECOVERS,
  WAITING_FOR_TARBALL: 'Upload a source.',
  WAITING_FOR_TURN: RECOVERS,
  WAITING_FOR_WORKER: 'A server with WORKER=on and a RUNTIME has to run.',
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
