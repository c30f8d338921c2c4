/** What is to serve a deployment, and whether a supervisor knows it. */
import { createHash } from 'node:crypto'
import type { AgentPlan, State } from '../supervisor/protocol.ts'

export interface DesiredState {
  /** of its plan */
  key: string
  revisionId: string
  /** It is being deployed anew, which is a new attempt of it already: another one of it may serve until that is done. */
  redeploying: boolean
  /** Makes the plan anew: all that it is made of may have moved. May throw StepFailure. */
  plan: (signal: AbortSignal) => Promise<AgentPlan>
}

/** Whether a redeploy of what serves is not carried out yet. One that a server has recorded and not switched to is a candidate. */
export function isOtherAttempt({ key, revisionId, redeploying }: DesiredState, { serving, candidate }: State): boolean {
  if (serving?.revisionId !== revisionId || serving.key === key) return false
  return redeploying || candidate?.key !== key
}

/** A new agent that is ready but serves nobody yet. See Candidate. */
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

/** Tells one plan from another without keeping its secrets. */
export const hashOf = (plan: AgentPlan) => createHash('sha256').update(JSON.stringify(plan)).digest('hex')
