/**
 * What the worker asks of a runtime, the place where deployments live: this machine (process/) or a cluster (kubernetes/).
 * Every call is idempotent and may follow a crash at any point.
 */

import type {
  BuildPlanReport,
  Claim,
  Health,
  LogLevel,
  LogType,
  Progress,
  Run,
  Step,
} from '../../domain/protocol/protocol.ts'

/** Where lines for people go: the build or deploy log of one attempt of a revision. Never blocks, never throws. */
export interface RevisionLog {
  /** a line of our own, which is kept */
  write(type: LogType, message: string, level?: LogLevel): void
  /**
   * a line that a process has printed; of very many in a short time some are left out, and it is said how many. `styles`: its
   * colours (domain/protocol/line-styles.ts)
   */
  print(type: LogType, message: string, styles?: string | null): void
}

/**
 * Called with what a step waits for or what is in its way, whenever that changes; null: nothing. People see it after the
 * next heartbeat. Cheap, never throws; without effect once the step is over.
 */
export type OnProgress = (progress: Progress | null) => void

/**
 * Called with the exact commit of a build, 40 or 64 hex digits; `says`: the first line of its message, and the name of its author.
 * What of them nobody can tell is absent.
 */
export type OnCommit = (commit: string, says?: { message?: string; author?: string }) => void

/** Called with what a build does, as soon as its source says so. */
export type OnPlan = (plan: BuildPlanReport) => void

/** A claim with its lease, as the worker hands it to the runtime. */
export interface LeasedClaim extends Claim {
  /** By this process's own clock, with a margin: to be asked right before each write. */
  leaseValid(): boolean
  /** Raises `token` above one that was `seen` where its agents are. Throws ClaimLostError. */
  raiseToken(seen: string): Promise<void>
}

/** A step whose deadline is by a clock of this process that nobody sets. */
export interface TimedStep extends Step {
  /** performance.now() of when the control plane will fail it by itself */
  deadline: number
}

/** A step with the revision that BUILD and DEPLOY are about. */
export type RevisionStep = TimedStep & { revision: NonNullable<Step['revision']> }

export interface Built {
  /** handed back in `RevisionWork.artifact` */
  artifact: string
}

/** A new process that is healthy and serves nobody yet. Exactly one of `commit` and `discard` has to be called. */
export interface Candidate {
  /** the deployment's stable address */
  url: string
  imageVersion?: string
  /**
   * Hands over: holds new requests, calls `record`, and on true sends them, and all that follow, to the
   * candidate; on false (or an error, which is passed on) the old process stays and the candidate is ended. Where that
   * can't be known any more, since the claim is lost, the next holder decides.
   */
  commit(record: () => Promise<boolean>): Promise<void>
  discard(): Promise<void>
}

/**
 * `signal` ends a step: the call then rejects, but only when everything the step had started is over.
 * A failure for people is a StepFailure.
 */
export interface Runtime {
  provision(claim: LeasedClaim, step: TimedStep, signal: AbortSignal, onProgress?: OnProgress): Promise<void>
  /**
   * `onCommit` and `onPlan` are called as soon as that is known and whatever becomes of the build; a source without commits has none.
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
   * For a step that does not heed its signal: kills its processes, cuts its connections and lets its call reject.
   * Throws when something of it can't be ended.
   */
  destroy(stepId: string): Promise<void>
  /** Level-based: makes `run` what serves, in the background and for as long as it is wanted; null: nothing. */
  ensure(claim: LeasedClaim, run: Run | null, log: RevisionLog | null): void
  /** Removes artifacts other than these, and what broken tries left. Only called while no step is under way. */
  prune(deploymentId: string, keepArtifacts: string[]): Promise<void>
  /** Lets go of the deployment, whose steps are over: what serves goes on until a later holder says otherwise. */
  drop(deploymentId: string): Promise<void>
  /** undefined: nothing is supposed to run */
  health(deploymentId: string): Health | undefined
  /** Makes this holder known to others that share the machine; returns how to deregister. */
  registerHolder(holder: string): Promise<() => Promise<void>>
  /** Calls `release` for each holder that is known to be dead. */
  releaseDeadHolders(release: (holder: string) => Promise<void>): Promise<void>
  /** Ends the runtime's own helpers, and what serves only with `endAgents`, where agents are of this machine. */
  close(options?: { endAgents: boolean }): Promise<void>
}
