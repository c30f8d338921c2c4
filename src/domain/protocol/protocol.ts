/** Types of the data-plane protocol (docs/protocol.md). The worker calls it in process, listeners over HTTP. */
import type { z } from 'zod'
import type { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import type { Reason } from '../errors/reasons.ts'
import type { BuildPlanReport } from '../values/build-plan.ts'
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
  metricsRequest,
  Progress,
} from './requests.ts'

export type { BuildPlanReport, EffectiveSpec, LogLevel, LogType, Progress, Reason, SecretReference, Step }

export type RevisionWork = z.output<typeof revisionWork>
export type Run = z.output<typeof run>
export type Assignment = z.output<typeof assignment>
export type Claim = z.output<typeof claim>
export type HeartbeatAnswer = z.output<typeof heartbeatItemAnswer>
export type CompleteAnswer = z.output<typeof completeAnswer>

interface OfClaim {
  claimId: string
}

export type ClaimRequest = z.output<typeof claimRequest> & { holder: string }
export type HeartbeatItem = z.output<typeof heartbeatItem>
export type HeartbeatRequest = z.output<typeof heartbeatRequest>
export type Health = NonNullable<HeartbeatItem['health']>
export type AgentRestart = NonNullable<HeartbeatItem['restarts']>[number]
export type LogEntry = z.output<typeof logEntry>
export type LogsRequest = z.output<typeof logsRequest> & OfClaim

/** Buffered output of agents. In process only: listeners read logs from their clusters. */
export interface OutputRequest extends OfClaim {
  token: string
  /** the source whose lines `from` and `to` number */
  source: string
  /** number of the last line before these; 0: none */
  from: number
  /** number of the last line of these; equal to `from`: only asks where the output ends */
  to: number
  lines: (Omit<LogEntry, 'type'> & { revisionId: string; attempt: number })[]
}

export type MetricsRequest = z.output<typeof metricsRequest>

export type CompleteRequest = z.output<typeof completeRequest> & OfClaim

/**
 * The control plane, as a data plane sees it. All calls except `claim` and `heartbeat` may throw ClaimLostError.
 * `signal` ends a wait: the call returns the current state or rejects.
 */
export interface ControlPlane {
  /**
   * Leases deployments that need a holder and have none, and takes their steps. Returns an empty list if there are
   * none.
   */
  claim(request: ClaimRequest, signal?: AbortSignal): Promise<Claim[]>
  /** One call for all claims of a holder. Extends leases, reports health, returns news and takes new steps. */
  heartbeat(request: HeartbeatRequest, signal?: AbortSignal): Promise<HeartbeatAnswer[]>
  logs(request: LogsRequest): Promise<void>
  /** Appends to deploy logs if the output ends at `from`. Returns where the output ends. Not over HTTP. */
  output?(request: OutputRequest): Promise<number>
  /** Stores samples of deployments. They are lost if it fails. */
  metrics?(request: MetricsRequest): Promise<void>
  complete(request: CompleteRequest): Promise<CompleteAnswer & { over?: boolean }>
  /** Ends the lease. The try of a step in progress is not counted. */
  release(claim: { claimId: string; token: string }): Promise<void>
  /** Releases all claims of a holder that has died (same machine, process gone). */
  releaseHolder(holder: string): Promise<void>
  /**
   * Raises the claim's fencing token above `seen`, a token found at its agents. Returns the new token. In process
   * only.
   */
  raiseToken?(claim: { claimId: string; token: string }, seen: string): Promise<string>
}
