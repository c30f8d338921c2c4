/**
 * The one list of reasons: why something waits, failed or ended, in a word for machines. A reason stands beside every
 * `status_message`, which is for people and is never compared with anything. REST, GraphQL, events, metrics and the
 * data-plane protocol all take their words from here. The same reason can be of something that waits (it may still
 * mend itself) and of something that has failed: the status tells which.
 *
 * Words are only ever added. They are stored as text, so that a server that goes back a version can read a newer one's.
 */
import type { StepKind } from '../../generated/prisma/enums.ts'

/** Each with when it is given, and who can mend it. */
export const REASONS = {
  // Waits.
  WAITING_FOR_WORKER:
    'No built-in worker has taken the step for 10 seconds. Operator: a server with WORKER=on and a RUNTIME.',
  WAITING_FOR_LISTENER: 'Its listener is there and has not taken the step yet. Mends itself.',
  LISTENER_SILENT: 'Its listener was not heard from for 90 seconds, or never. Operator of the listener.',
  WAITING_FOR_BUILDER: 'It is offered to builders, and none has taken it yet, or who had it was lost. Mends itself.',
  BUILDER_SILENT: 'It is offered to builders, and none was heard from for 90 seconds. Operator: start one.',
  WAITING_FOR_IMAGE: 'There is no image_uri yet. Caller: set source_revision_config.image_uri.',
  WAITING_FOR_TARBALL: 'No source was uploaded yet. Caller: set source_revision_config.source_tarball_path.',
  QUEUED_BEHIND: 'An earlier revision of the deployment is still being worked on. Mends itself.',
  WAITING_FOR_TURN: 'The machine already does as many steps of this kind as it may at a time. Mends itself.',
  SERVER_OVERLOADED:
    'The server begins one build or preparation at a time, until its overload has passed. Mends itself; operator, if it lasts.',
  IN_PROGRESS: 'Somebody works on it or is about to, and nothing is in the way. Mends itself.',
  PULLING_IMAGE: 'The image is on its way to where it will run. Mends itself.',
  WAITING_FOR_HEALTH:
    'The agent was started, and its health path (/ok by default) has not answered 200 yet. Agent, if it lasts.',
  ROLLING_OUT: 'The cluster is replacing what runs. Mends itself.',
  ROLLOUT_PAUSED: 'Somebody has paused the rollout in the cluster. Operator of the cluster.',
  CHANGED_BY_OTHERS: 'Something else keeps changing what is ours in the cluster. Operator of the cluster.',

  // Nothing can run it, or what it is made from can't be had.
  NO_RUNTIME: 'No runtime is configured for it. Operator: set RUNTIME, or use a listener.',
  NO_BUILDER: 'Nothing here can build it, and no builder is there. Operator, or caller: bring an image.',
  CONFIG_INVALID: 'What the deployment, the revision or its source says can’t be used. Caller.',
  CLONE_FAILED: 'The repository, the ref or the commit could not be fetched. Caller.',
  INTEGRATION_UNAVAILABLE: 'The git integration is suspended, removed, or does not reach the repository. Caller.',
  TARBALL_UNAVAILABLE: 'The uploaded source is not there any more, or was changed. Caller: upload it again.',
  TARBALL_INVALID: 'The uploaded source can’t be unpacked, or was refused. Caller.',
  TOOL_MISSING: 'A program is missing on the machine: git, a package manager, a container engine. Operator.',
  SECRET_MISSING: 'A Secret that the deployment refers to is not in the cluster. Caller.',
  CONTENT_MISSING: 'Nothing to build or run came within 24 hours. Caller.',
  ARTIFACT_LOST: 'What was built is not there any more. Caller: redeploy, which builds it again.',

  // Its own code.
  INSTALL_FAILED: 'The install command failed. Agent: see the build log.',
  BUILD_COMMAND_FAILED: 'The build command failed. Agent: see the build log.',
  HEALTH_CHECK_TIMED_OUT: 'The health path (/ok by default) did not answer 200 in time. Agent: see the deploy log.',
  CRASHED: 'The agent ended by itself. Agent: see the deploy log.',
  OUT_OF_MEMORY: 'It used more memory than it may. Agent, or caller: resource_spec.',
  PROCESS_LIMIT: 'It has as many processes and threads as it may. Agent, or operator: APP_PIDS.',
  FILE_LIMIT: 'One of its files is as large as a file may be. Agent, or operator: APP_FILE_MB.',
  DISK_LIMIT: 'Its folders hold more than they may. Agent, or operator: APP_DISK_MB.',
  DATABASE_LIMIT: 'Its database is larger than it may be, and can only be read. Agent, or operator: APP_DATABASE_MB.',

  // Where it runs.
  IMAGE_PULL_FAILED: 'The image can’t be pulled or used: its name, the registry or the credentials. Caller.',
  CONTAINER_START_FAILED: 'The container can’t be started with this configuration. Caller.',
  UNSCHEDULABLE: 'No node of the cluster has room for it. Operator of the cluster, or caller: resource_spec.',
  QUOTA_EXCEEDED: 'A quota or limit of the namespace forbids it. Operator of the cluster.',
  STORAGE_UNAVAILABLE: 'A volume can’t be made, bound, mounted or grown. Operator of the cluster.',
  DATABASE_UNAVAILABLE: 'Its database or cache is not ready, or not reached. Operator.',
  CLUSTER_UNREACHABLE: 'The API server of the cluster does not answer. Operator of the cluster.',
  CLUSTER_REFUSED: 'The API server refuses what is applied: rights, admission, validation. Operator of the cluster.',
  NO_ENDPOINTS: 'It runs, and no request can reach it. Operator.',
  PORT_IN_USE: 'The port of its address is taken, or none is free. Operator.',
  NO_SPACE: 'The disk is full. Operator.',

  // The rules ended it.
  DEADLINE: 'It passed its deadline. Whatever it last waited for.',
  WORKER_LOST: 'Those who worked on it were lost, as often as it is tried. Operator.',
  NOBODY_TOOK_IT: 'Nobody took the step for 24 hours, or no builder a build for BUILDER_WAIT_MINUTES. Operator.',
  SUPERSEDED: 'A newer rollout took its place. Nobody has to.',
  INTERRUPTED_BY_PERSON: 'Somebody interrupted it. Nobody has to.',
  DEPLOYMENT_DELETED: 'Its deployment was deleted. Nobody has to.',

  // No better word: of a step, as its kind.
  PROVISION_FAILED: 'Preparing failed; the message says more.',
  BUILD_FAILED: 'The build failed; the message says more.',
  DEPLOY_FAILED: 'The deploy failed; the message says more.',
  TEARDOWN_FAILED: 'The teardown failed and is tried again; the message says more.',
  NOT_READY: 'What should serve is not ready; the message says more.',
  NOT_OBSERVED: 'Nobody reports on it at the moment, so that nobody knows. Operator, if it lasts.',
  INTERNAL: 'Something unexpected: the log of the server, or of the listener, has the cause. Operator.',
} as const satisfies Record<string, string>

export type Reason = keyof typeof REASONS

/**
 * With one of these an open revision waits: nobody works on it. Its status may already be that of the work, such as BUILDING
 * of a build that waits for its turn on a machine. The dashboard has the same list (dashboard/components/words.ts).
 */
export const WAITING_REASONS = [
  'WAITING_FOR_WORKER',
  'WAITING_FOR_LISTENER',
  'LISTENER_SILENT',
  'WAITING_FOR_BUILDER',
  'BUILDER_SILENT',
  'WAITING_FOR_IMAGE',
  'WAITING_FOR_TARBALL',
  'QUEUED_BEHIND',
  'WAITING_FOR_TURN',
  'SERVER_OVERLOADED',
] as const satisfies Reason[]

/** All of them, in the order of the list. */
export const REASON_WORDS = Object.keys(REASONS) as [Reason, ...Reason[]]

/** What is said of a failed step by whoever has no better word, or one that is not known here. */
export const FAILED_STEP: Record<StepKind, Reason> = {
  PROVISION: 'PROVISION_FAILED',
  BUILD: 'BUILD_FAILED',
  DEPLOY: 'DEPLOY_FAILED',
  TEARDOWN: 'TEARDOWN_FAILED',
}

/** A word from a listener or from the database: `otherwise` for one of a newer version. */
export function knownReason<O>(word: string | null | undefined, otherwise: O): Reason | O {
  return word != null && Object.hasOwn(REASONS, word) ? (word as Reason) : otherwise
}
