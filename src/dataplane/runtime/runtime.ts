/**
 * What a runtime is to the worker: the place where deployments live. The process runtime (this machine)
 * implements it; a cluster's would stand beside it. Every call is idempotent and may follow a crash at any point.
 */
import type { Claim, Health, Progress, Run, Step } from '../../domain/work/protocol.ts'
import type { LogLevel, LogType } from '../../generated/prisma/enums.ts'

/** Where lines for people go: the build or deploy log of one attempt of a revision. Never blocks, never throws. */
export interface RevisionLog {
  /** a line of our own, which is kept */
  write(type: LogType, message: string, level?: LogLevel): void
  /** a line that a process has printed; of very many in a short time some are left out, and it is said how many */
  print(type: LogType, message: string, level?: LogLevel): void
}

/**
 * Told what a step waits for or what is in its way, whenever that changes; null: nothing. It is on its way to people
 * with the next heartbeat: cheap, never throws. What is told once the step is over is not heard.
 */
export type OnProgress = (progress: Progress | null) => void

/** A claim as the worker hands it to the runtime. */
export interface HeldClaim extends Claim {
  /** Whether the lease holds by this process's own clock, with a margin: to be asked right before each write. */
  held(): boolean
}

/** A step whose time is told by this process's own clock. */
export interface TimedStep extends Step {
  /** when the control plane will fail it by itself */
  deadlineAt: Date
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
   * candidate; on false (or an error, which is passed on) the old process stays and the candidate is ended.
   */
  commit(record: () => Promise<boolean>): Promise<void>
  discard(): Promise<void>
}

/**
 * `signal` ends a step: the call then rejects, but only when everything the step had started is over.
 * A failure for people is a StepFailure.
 */
export interface Runtime {
  provision(claim: HeldClaim, step: TimedStep, signal: AbortSignal, onProgress?: OnProgress): Promise<void>
  /**
   * `onCommit` is told the exact commit, 40 or 64 hex digits, as soon as it is known and whatever becomes of the build;
   * a source without commits has none to tell.
   */
  build(
    claim: HeldClaim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onCommit?: (commit: string) => void,
    onProgress?: OnProgress,
  ): Promise<Built>
  deploy(
    claim: HeldClaim,
    step: RevisionStep,
    log: RevisionLog,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<Candidate>
  teardown(claim: HeldClaim, step: TimedStep, signal: AbortSignal): Promise<void>
  /**
   * For a step that does not heed its signal: kills its processes, cuts its connections and lets its call reject.
   * Throws when something of it can't be ended.
   */
  destroy(stepId: string): Promise<void>
  /** Level-based: makes `run` what serves, in the background and for as long as it is wanted; null: nothing. */
  ensure(claim: HeldClaim, run: Run | null, log: RevisionLog | null): void
  /** Removes artifacts other than these, and what broken tries left. Only called while no step is under way. */
  prune(deploymentId: string, keepArtifacts: string[]): Promise<void>
  /** Ends whatever runs for this deployment here: at once, or after requests in flight had `drainMs`. Resolves when it is over. */
  drop(deploymentId: string, drainMs?: number): Promise<void>
  /** undefined: nothing is supposed to run */
  health(deploymentId: string): Health | undefined
  /** Makes this holder known to others that share the machine; returns how to take that back. */
  enlist(holder: string): Promise<() => Promise<void>>
  /** Calls `release` for each holder that is known to be dead. */
  recoverHolders(release: (holder: string) => Promise<void>): Promise<void>
  /** Ends everything, also the runtime's own helpers. */
  close(): Promise<void>
}
