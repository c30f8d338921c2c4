/** Reasons for programs; people read `status_message`. Words are stored as text and never removed. */
import type { StepKind } from '../../generated/prisma/enums.ts'

/** Each reason with its cause and remedy. GraphQL publishes these texts. */
export const REASONS = {
  // Waits.
  WAITING_FOR_WORKER:
    'No built-in worker took the step for 10 seconds. The operator should run a server with WORKER=on and a RUNTIME.',
  WAITING_FOR_LISTENER: 'The listener is connected and has not taken the step yet. No action is needed.',
  LISTENER_SILENT: 'The listener did not call for 90 seconds, or never called. Its operator should check it.',
  WAITING_FOR_BUILDER:
    'The build is offered to builders, and none has taken it yet, or its builder was lost. No action is needed.',
  BUILDER_SILENT: 'The build is offered to builders, and none called for 90 seconds. The operator should start one.',
  WAITING_FOR_IMAGE: 'The revision has no image yet. The caller should set source_revision_config.image_uri.',
  WAITING_FOR_TARBALL: 'No source was uploaded yet. The caller should set source_revision_config.source_tarball_path.',
  QUEUED_BEHIND: 'An earlier revision of the deployment is still in progress. No action is needed.',
  WAITING_FOR_TURN: 'The machine already runs the maximum number of steps of this kind. No action is needed.',
  SERVER_OVERLOADED:
    'The server is overloaded and starts one build or preparation at a time. The operator should act if this lasts.',
  IN_PROGRESS: 'The work is in progress or about to start, and nothing blocks it. No action is needed.',
  PULLING_IMAGE: 'The runtime is pulling the image. No action is needed.',
  WAITING_FOR_HEALTH:
    'The agent was started, and its health path (/ok by default) has not answered 200 yet. Check the agent if this lasts.',
  ROLLING_OUT: 'The cluster is replacing the running version. No action is needed.',
  ROLLOUT_PAUSED: 'The rollout is paused in the cluster. The operator of the cluster should resume it.',
  CHANGED_BY_OTHERS:
    'Another program keeps changing Pilothouse’s objects in the cluster. The operator of the cluster should stop it.',

  // No runtime, or the content is not available.
  NO_RUNTIME: 'No runtime is configured. The operator should set RUNTIME, or the caller should use a listener.',
  NO_BUILDER:
    'Nothing here can build it, and no builder is connected. The operator should start a builder, or the caller should bring an image.',
  CONFIG_INVALID: 'The deployment, the revision or the source has an invalid value. The caller should correct it.',
  CLONE_FAILED: 'The repository, the ref or the commit could not be fetched. The caller should check them.',
  INTEGRATION_UNAVAILABLE:
    'The git integration is suspended, removed, or cannot read the repository. The caller should check it.',
  TARBALL_UNAVAILABLE: 'The uploaded source was removed or changed. The caller should upload it again.',
  TARBALL_INVALID: 'The uploaded source could not be unpacked, or was refused. The caller should correct it.',
  TOOL_MISSING:
    'A program is missing on the machine: git, a package manager or a container engine. The operator should install it.',
  SECRET_MISSING:
    'A Secret that the deployment refers to does not exist in the cluster. The caller should create it or change the reference.',
  CONTENT_MISSING: 'Nothing to build or run was provided within 24 hours. The caller should provide it and redeploy.',
  ARTIFACT_LOST: 'The result of the build no longer exists. The caller should redeploy, which builds it again.',

  // The agent's code.
  INSTALL_FAILED: 'The install command failed. Its author should see the build log.',
  BUILD_COMMAND_FAILED: 'The build command failed. Its author should see the build log.',
  HEALTH_CHECK_TIMED_OUT:
    'The health path (/ok by default) did not answer 200 in time. The author of the agent should see the deploy log.',
  CRASHED: 'The agent exited. Its author should see the deploy log.',
  OUT_OF_MEMORY: 'The agent exceeded its memory limit. Use less memory, or raise resource_spec.',
  EVICTED:
    'The cluster moved the agent to another node, such as at a drain or when the node was short of memory. If this repeats, request more in resource_spec.',
  PROCESS_LIMIT: 'The agent reached its limit of processes and threads. Use fewer, or let the operator raise APP_PIDS.',
  FILE_LIMIT: 'A file of the agent reached the size limit. Write less, or let the operator raise APP_FILE_MB.',
  DISK_LIMIT: 'The agent’s folders exceed the disk limit. Write less, or let the operator raise APP_DISK_MB.',
  DATABASE_LIMIT:
    'The agent’s database exceeds its limit and is read-only. Delete data, or let the operator raise APP_DATABASE_MB.',
  QUEUE_STALLED:
    'Runs wait in the queue of the agent, and none was completed for QUEUE_STALL_SECONDS. Its author should check its workers.',

  // The runtime.
  IMAGE_PULL_FAILED:
    'The image could not be pulled or used. The caller should check its name, the registry and the credentials.',
  CONTAINER_START_FAILED: 'The container could not start with this configuration. The caller should correct it.',
  UNSCHEDULABLE:
    'No node of the cluster has room for it. The operator of the cluster should add room, or the caller should lower resource_spec.',
  QUOTA_EXCEEDED: 'A quota or limit of the namespace forbids it. The operator of the cluster should raise it.',
  STORAGE_UNAVAILABLE:
    'A volume could not be created, bound, mounted or grown. The operator of the cluster should check the storage.',
  DATABASE_UNAVAILABLE:
    'The database or cache of the agent is not ready or not reachable. The operator should check it.',
  CLUSTER_UNREACHABLE: 'The API server of the cluster does not answer. The operator of the cluster should check it.',
  CLUSTER_REFUSED:
    'The API server of the cluster refused the change: rights, admission or validation. The operator of the cluster should check it.',
  NO_ENDPOINTS: 'The agent runs, but no request can reach it. The operator should check the network.',
  PORT_IN_USE: 'The port of its address is in use, or no port is free. The operator should free one.',
  NO_SPACE: 'The disk is full. The operator should free space.',

  // Ended by a rule.
  DEADLINE: 'The step exceeded its deadline. The message names what it last waited for.',
  WORKER_LOST: 'Its workers were lost in every try. The operator should check them.',
  NOBODY_TOOK_IT:
    'No worker took the step for 24 hours, or no builder took the build within BUILDER_WAIT_MINUTES. The operator should start one.',
  SUPERSEDED: 'A newer rollout replaced it. No action is needed.',
  INTERRUPTED_BY_PERSON: 'A caller interrupted it. No action is needed.',
  DEPLOYMENT_DELETED: 'Its deployment was deleted. No action is needed.',

  // No more specific reason: one per kind of step.
  PROVISION_FAILED: 'Preparing failed. The message has the cause.',
  BUILD_FAILED: 'The build failed. The message has the cause.',
  DEPLOY_FAILED: 'The deploy failed. The message has the cause.',
  TEARDOWN_FAILED: 'The teardown failed and will be tried again. The message has the cause.',
  NOT_READY: 'The active revision is not ready. The message has the cause.',
  NOT_OBSERVED:
    'No worker reports on it at the moment, so its state is unknown. The operator should act if this lasts.',
  INTERNAL: 'An unexpected error occurred. The log of the server or of the listener has the cause for the operator.',
} as const satisfies Record<string, string>

export type Reason = keyof typeof REASONS

/** The revision waits even if its status is BUILDING or DEPLOYING. dashboard/components/labels.ts has the same list. */
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

export const REASON_WORDS = Object.keys(REASONS) as [Reason, ...Reason[]]

/** The reason of a failed step without a more specific or known one. */
export const FAILED_STEP: Record<StepKind, Reason> = {
  PROVISION: 'PROVISION_FAILED',
  BUILD: 'BUILD_FAILED',
  DEPLOY: 'DEPLOY_FAILED',
  TEARDOWN: 'TEARDOWN_FAILED',
}

/** Returns `otherwise` if only a newer version knows the word. */
export function knownReason<O>(word: string | null | undefined, otherwise: O): Reason | O {
  return word != null && Object.hasOwn(REASONS, word) ? (word as Reason) : otherwise
}
