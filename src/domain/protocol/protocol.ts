/**
 * The data-plane protocol (docs/protocol.md) as types: what a lease holder sends (requests.ts) and gets (answers.ts).
 * The built-in worker uses it in process, listeners over HTTP.
 */
import type { z } from 'zod'
import type { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import type { BuildPlanReport } from '../values/build-plan.ts'
import type { Reason } from '../values/reasons.ts'
import type { EffectiveSpec } from '../values/resource-spec.ts'
import type { SecretReference } from '../values/shapes.ts'
import type { assignment, claim, completeAnswer, heartbeatItemAnswer, revisionWork, run, Step } from './answers.ts'
import type {
  claimRequest,
  completeRequest,
  heartbeatItem,
  heartbeatRequest,
  logEntry,
  logsRequest,
  Progress,
} from './requests.ts'

export type { BuildPlanReport, EffectiveSpec, LogLevel, LogType, Progress, Reason, SecretReference, Step }

export type RevisionWork = z.output<typeof revisionWork>
export type Run = z.output<typeof run>
export type Assignment = z.output<typeof assignment>
export type Claim = z.output<typeof claim>
export type HeartbeatAnswer = z.output<typeof heartbeatItemAnswer>
export type CompleteAnswer = z.output<typeof completeAnswer>

/** Every call about one claim names it; over HTTP its path does. */
interface OfClaim {
  claimId: string
}

export type ClaimRequest = z.output<typeof claimRequest> & { holder: string }
export type HeartbeatItem = z.output<typeof heartbeatItem>
export type HeartbeatRequest = z.output<typeof heartbeatRequest>
export type Health = NonNullable<HeartbeatItem['health']>
export type LogEntry = z.output<typeof logEntry>
export type LogsRequest = z.output<typeof logsRequest> & OfClaim

/** Lines of agents from where their output was kept meanwhile. Only in process: listeners have clusters for that. */
export interface OutputRequest extends OfClaim {
  token: string
  /** whose numbers `from` and `to` are */
  source: string
  /** number of the last line that was appended before; 0: none */
  from: number
  /** number of the last one of these; `from`: nothing is appended, and it is answered where the output ends */
  to: number
  lines: (Omit<LogEntry, 'type'> & { revisionId: string; attempt: number })[]
}

export type CompleteRequest = z.output<typeof completeRequest> & OfClaim

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
  /** Appends to the deploy logs if `from` is where they end; returns where they end now. Not over HTTP. */
  output?(request: OutputRequest): Promise<number>
  /** `over`: the claim has ended with the report. */
  complete(request: CompleteRequest): Promise<CompleteAnswer & { over?: boolean }>
  /** Gives the lease back; the try of a step under way is not counted. */
  release(claim: { claimId: string; token: string }): Promise<void>
  /** Releases every claim of a holder that is known to be dead (same machine, process gone). */
  releaseHolder(holder: string): Promise<void>
  /** Raises the token of a claim above one that was `seen` where its agents are; answers the new one. Only in process. */
  raiseToken?(claim: { claimId: string; token: string }, seen: string): Promise<string>
}
