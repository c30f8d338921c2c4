/** The desired state of a deployment, and its comparison with the state that a supervisor reports. */
import { createHash } from 'node:crypto'
import type { AgentPlan, State } from '../supervisor/protocol.ts'

export interface DesiredState {
  /** key of its plan */
  key: string
  revisionId: string
  /** A redeploy of this revision is in progress. An earlier attempt of it may serve until that is done. */
  redeploying: boolean
  /** Makes the plan again, because its parts may have moved. May throw StepFailure. */
  plan: (signal: AbortSignal) => Promise<AgentPlan>
}

/** Whether an earlier attempt serves and must not be replaced yet. A recorded attempt that was not switched to is a candidate. */
export function isOtherAttempt({ key, revisionId, redeploying }: DesiredState, { serving, candidate }: State): boolean {
  if (serving?.revisionId !== revisionId || serving.key === key) return false
  return redeploying || candidate?.key !== key
}

/** A ready agent that gets no requests yet. See Candidate. */
export interface Prepared {
  commit: (record: () => Promise<boolean>) => Promise<void>
  discard: () => Promise<void>
}

/** Names of the artifacts and containers that a supervisor uses. */
export function usedIn({ serving, candidate, retired }: State): { artifacts: string[]; containers: string[] } {
  const all = [serving, candidate, ...retired].flatMap((one) => one ?? [])
  return {
    artifacts: all.flatMap(({ artifact }) => artifact || []),
    containers: all.flatMap(({ container }) => container ?? []),
  }
}

/** Compares plans without keeping their secrets in memory. */
export const hashOf = (plan: AgentPlan) => createHash('sha256').update(JSON.stringify(plan)).digest('hex')
