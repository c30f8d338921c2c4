/**
 * Interface of a runtime, where deployments run: this machine (process/) or a cluster (kubernetes/).
 * Every call is idempotent and may follow a crash at any point.
 */
import type {
  AgentRestart,
  BuildPlanReport,
  Claim,
  Health,
  LogLevel,
  LogType,
  Progress,
  Run,
  Step,
} from '../../domain/protocol/protocol.ts'
import type { MetricSample } from '../../domain/values/metrics.ts'
import type { ParentSpan } from '../../platform/tracing/tracing.ts'

/** The build or deploy log of one attempt of a revision. Never blocks, never throws. */
export interface RevisionLog {
  /** writes a line of Pilothouse, which is kept */
  write(type: LogType, message: string, level?: LogLevel): void
  /**
   * writes a line that a process printed. In a burst some lines are dropped and counted. `styles`: its colours
   * (domain/protocol/line-styles.ts)
   */
  print(type: LogType, message: string, styles?: string | null): void
}

/**
 * Reports what a step waits for or what blocks it; null: nothing. Users see it after the next heartbeat.
 * Cheap, never throws. It has no effect after the step has ended. `secondsLeft`: keeps the step's deadline at least this far away.
 */
export type OnProgress = (progress: (Progress & { secondsLeft?: number }) | null) => void

/**
 * Reports the exact commit of a build, 40 or 64 hex digits. `says`: first line of its message and its author's name.
 * Unknown parts are absent.
 */
export type OnCommit = (commit: string, says?: { message?: string; author?: string }) => void

/** Reports the build plan when the source is parsed. */
export type OnPlan = (plan: BuildPlanReport) => void

/** A claim with its lease. The worker passes it to the runtime. */
export interface LeasedClaim extends Claim {
  /** Call it immediately before each write. Uses this process's clock, with a margin. */
  leaseValid(): boolean
  /** Raises `token` above `seen`, the newest token that the agents know. Throws ClaimLostError. */
  raiseToken(seen: string): Promise<void>
}

/** Ends the phase before. `name`: an imperative, such as `fetch the source`. `server`: the host that the phase calls. */
export type OnPhase = (name: string, server?: string) => void

/** A step with a deadline by this process's monotonic clock. */
export interface TimedStep extends Step {
  /** performance.now() when the control plane fails the step */
  deadline: number
  /** begins the next phase of the work, a span of the step's trace; absent: no collector is set */
  phase?: OnPhase | undefined
  /** the work of the current phase; absent: no collector is set */
  span?: ParentSpan | undefined
}

/** A BUILD or DEPLOY step, which always has a revision. */
export type RevisionStep = TimedStep & { revision: NonNullable<Step['revision']> }

export interface Built {
  /** returned later in `RevisionWork.artifact` */
  artifact: string
}

/** A healthy new process without traffic. The caller must call exactly one of `commit` and `discard`. */
export interface Candidate {
  /** the deployment's stable address */
  url: string
  imageVersion?: string
  /**
   * Holds new requests and calls `record`. True: the candidate gets these and all later requests.
   * False or an error (which is rethrown): the old process stays and the candidate ends.
   * If the claim is lost during the call, the next lease holder decides.
   */
  commit(record: () => Promise<boolean>): Promise<void>
  discard(): Promise<void>
}

/** What a revision of a deployment did between two measurements. */
export type Measured = Omit<MetricSample, 'start'>

/**
 * `signal` ends a step. The call rejects only after all work of the step has ended.
 * A StepFailure carries a message for users.
 */
export interface Runtime {
  provision(claim: LeasedClaim, step: TimedStep, signal: AbortSignal, onProgress?: OnProgress): Promise<void>
  /**
   * `onCommit` and `onPlan` are called early, even if the build fails later. Sources without commits have no
   * `onCommit`.
   */
  build(
    claim: LeasedClaim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onCommit?: OnCommit,
    onProgress?: OnProgress,
    onPlan?: OnPlan,
  ): Promise<Built>
  deploy(
    claim: LeasedClaim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<Candidate>
  teardown(claim: LeasedClaim, step: TimedStep, signal: AbortSignal): Promise<void>
  /**
   * Ends a step that ignores its signal: kills processes, closes connections and rejects its call.
   * Throws when part of the step can't be ended.
   */
  destroy(stepId: string): Promise<void>
  /** Level-based: keeps `run` serving in the background; null: nothing runs. */
  ensure(claim: LeasedClaim, run: Run | null, log: RevisionLog | null): void
  /** Removes other artifacts and leftovers of failed tries. Called only while no step runs. */
  prune(deploymentId: string, keepArtifacts: string[]): Promise<void>
  /** Stops managing a deployment without steps. Running agents keep serving until a later lease holder changes them. */
  drop(deploymentId: string): Promise<void>
  /** undefined: nothing should run */
  health(deploymentId: string): Health | undefined
  /** agents of it that ended by themselves and were started again: the newest, oldest first */
  restarts?(deploymentId: string): readonly AgentRestart[]
  /** whether its agent was ended because it got no requests, for runtimes that do that; undefined: not known */
  idle?(deploymentId: string): boolean | undefined
  /** where a deployment that should serve is reached, for runtimes in which that can change without a deploy */
  url?(deploymentId: string): string | undefined
  /** What held deployments did since the last call, for metrics; absent: nothing measures them here. */
  measure?(): Promise<Measured[]>
  /** Registers this holder on its machine. Returns the deregister function. */
  registerHolder(holder: string): Promise<() => Promise<void>>
  /** Calls `release` for each dead holder. */
  releaseDeadHolders(release: (holder: string) => Promise<void>): Promise<void>
  /** Ends helpers. `endAgents` also ends agents on this machine. */
  close(options?: { endAgents: boolean }): Promise<void>
}

/** Builds images from source, for runtimes that only run images. */
export interface SourceBuilder {
  /** Like Runtime.build; the artifact is an image in the registry. */
  build: Runtime['build']
  /** Removes pushed images of the deployment, except `keepArtifacts`. */
  prune(deploymentId: string, keepArtifacts: readonly string[]): Promise<void>
  /** Removes all pushed images of a deleted deployment. Never throws. */
  remove(deploymentId: string): Promise<void>
  /** Ends all processes of a step. Throws when one can't be ended. */
  destroy(stepId: string): Promise<void>
  close(): void
}
