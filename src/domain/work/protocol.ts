/**
 * The data-plane protocol (contract 7): what a holder of claims is told and what it says. The built-in
 * worker speaks it in process, listeners the same over HTTP (wire.ts has its JSON).
 *
 * A claim is a lease on a deployment. It tells its holder two things: `run`, what must be serving now, and
 * `step`, what moves the deployment on. The holder compares and acts, again and again (level-based), so a
 * restart needs no special case. Every call carries the fencing token; an old one is ClaimLostError.
 */
import type { LogLevel, LogType, Source, StepKind } from '../../generated/prisma/enums.ts'
import type { EffectiveSpec } from '../deployments/resource-spec.ts'
import type { SecretReference } from '../deployments/schemas.ts'
import type { Reason } from '../reasons.ts'

export type { EffectiveSpec, Reason, SecretReference }

/** A revision with all that is needed to build or run it. `secrets` are in clear: never log this. */
export interface RevisionWork {
  id: string
  number: number
  attempt: number
  source: Source
  repoUrl: string | null
  repoRef: string | null
  /** the exact commit of an earlier build, however that ended; a rebuild uses it instead of `repoRef` */
  repoCommitSha: string | null
  graphConfigPath: string | null
  imageUri: string | null
  sourceTarballPath: string | null
  installCommand: string | null
  buildCommand: string | null
  /** what BUILD reported, null before it */
  artifact: string | null
  secrets: { name: string; value: string }[]
}

/** What must be serving now. */
export interface Run {
  revision: RevisionWork
  spec: EffectiveSpec
  secretReferences: SecretReference[]
  customUrl: string | null
}

/** What moves the deployment on. `revision` is there for BUILD and DEPLOY, which also carry the current spec. */
export interface Step {
  id: string
  kind: StepKind
  /** 1 at the first try */
  tries: number
  /** seconds, as of this answer, until the control plane fails the step by itself: whoever does it has a clock of its own */
  secondsLeft: number
  revision: RevisionWork | null
  spec: EffectiveSpec
  secretReferences: SecretReference[]
  customUrl: string | null
}

/** What the holder has to do as of `generation`. */
export interface Assignment {
  /** grows with every change of run or step; hand it back in the heartbeat to be told only of news */
  generation: number
  run: Run | null
  /** null: nothing to do, or the step given earlier was withdrawn and has to be stopped first (`stop`) */
  step: Step | null
  /** the step being worked on was withdrawn (interrupted, superseded, past its deadline): stop it, then `complete` it as `stopped` */
  stop: boolean
  /** artifacts that must stay: of the active revision, the last five deployed and any in progress. Others may be removed. */
  keepArtifacts: string[]
}

export interface Claim extends Assignment {
  claimId: string
  /** fencing token: only grows, per deployment. Decimal digits of a 64-bit integer. */
  token: string
  deployment: { id: string; workspaceId: string; name: string; k8sNamespace: string | null; provisioned: boolean }
  /** how long the lease lasts from this answer on, unless a heartbeat extends it */
  leaseSeconds: number
}

export interface ClaimRequest {
  /** who asks: one id for each process of a worker */
  holder: string
  /** 1 to 1,000 */
  max: number
  /** 1 to 600 */
  leaseSeconds: number
  /** when there is nothing to claim: waits up to so long for something, 0 to 60. Default: 0 */
  waitSeconds?: number
  /** of the program that asks; a listener shows it */
  version?: string
}

export interface Health {
  /** replicas that serve */
  ready: number
  /** replicas that should */
  desired: number
  /** why not all of them serve, for people; null: they do, or nobody knows */
  message: string | null
  /** the same for machines, with the message */
  reason?: Reason | null
}

/**
 * What the step under way waits for, or what is in its way: told with each heartbeat for as long as the step lasts, so
 * that `status_message` and `reason` never say nothing while somebody waits. Nobody's decision depends on it.
 */
export interface Progress {
  /** a word of domain/reasons.ts; one that would be a failure's is right here too, as long as it may still mend itself */
  reason: Reason
  /** for people; may have several lines (what was printed last), secrets masked. At most 2,000 characters are kept */
  message: string
}

export interface HeartbeatItem {
  claimId: string
  token: string
  /** the newest generation this holder has been told; absent: tell everything */
  generation?: number
  /**
   * Of the step that this holder works on. Becomes `status_message` and `reason` of its revision while that is CREATING,
   * BUILDING or DEPLOYING; makes no event. null: nothing is in its way. Absent: as it was.
   */
  progress?: Progress | null
  health?: Health
  /** serves nobody */
  idle?: boolean
}

export interface HeartbeatAnswer {
  claimId: string
  /** the lease is gone: stop everything of this claim at once */
  lost: boolean
  /** only when something changed since the generation that was named */
  assignment: Assignment | null
}

export interface HeartbeatRequest {
  leaseSeconds: number
  /** when there is no news of any claim: waits up to so long for some, 0 to 60; the leases run meanwhile. Default: 0 */
  waitSeconds?: number
  /** at most 1,000 */
  claims: HeartbeatItem[]
}

export interface LogEntry {
  type: LogType
  level?: LogLevel
  /** one line, without its newline */
  message: string
  time: Date
}

export interface LogsRequest {
  claimId: string
  token: string
  revisionId: string
  attempt: number
  entries: LogEntry[]
}

export interface CompleteRequest {
  claimId: string
  token: string
  stepId: string
  /**
   * `stopped`: nothing of it is under way any more. It was withdrawn, or (with a message) what broke it is not its own
   * fault: then it is taken again, and fails with the message only if that was its last try
   */
  outcome: 'succeeded' | 'failed' | 'stopped'
  /** which try it is about: a report of another one changes nothing. Absent: an older holder; it is of the current one */
  tries?: number
  /** why it failed, for machines. Absent: an older holder, which has only the message; the step's kind then says so */
  reason?: Reason
  /** why it failed, for people; becomes `status_message` */
  message?: string
  /** BUILD, whatever its outcome: the exact commit, if it got so far. Kept where the revision has none yet. */
  repoCommitSha?: string
  /** BUILD */
  artifact?: string
  /** DEPLOY, failed: the artifact is gone, so that the next attempt has to build again */
  artifactLost?: boolean
  /** DEPLOY: the deployment's address, becomes its `url`, and the `custom_url` of a `gitprovider` or `internal_*` source */
  url?: string
  /** DEPLOY */
  imageVersion?: string
}

export interface CompleteAnswer {
  /** false: the step had been closed in the meantime (deadline, interrupt); of a build, only its commit was recorded */
  recorded: boolean
  /** what to do next */
  assignment: Assignment
}

/**
 * The control plane as a data plane sees it. Any call may throw ClaimLostError, except `claim` and `heartbeat`.
 * `signal` ends a wait: the call then answers what there is, or rejects.
 */
export interface ControlPlane {
  /** Leases deployments that have no holder and need one; an empty list when there are none. Takes their steps. */
  claim(request: ClaimRequest, signal?: AbortSignal): Promise<Claim[]>
  /** One call for all of a holder's claims: extends leases, reports health, answers what is new. Takes new steps. */
  heartbeat(request: HeartbeatRequest, signal?: AbortSignal): Promise<HeartbeatAnswer[]>
  logs(request: LogsRequest): Promise<void>
  complete(request: CompleteRequest): Promise<CompleteAnswer>
  /** Gives the lease back; the try of a step under way is not counted. */
  release(claim: { claimId: string; token: string }): Promise<void>
  /** Releases every claim of a holder that is known to be dead (same machine, process gone). */
  releaseHolder(holder: string): Promise<void>
}
