/** The desired state of a deployment, its comparison with the state that a supervisor reports, and the health from both. */
import { createHash } from 'node:crypto'
import type { Health, Progress } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { Candidate, RevisionLog } from '../../runtimes/runtime.ts'
import type { QueuedStart } from '../machine/start-queue.ts'
import type { AgentPlan, State } from '../supervisor/protocol.ts'
import { type Connection, SupervisorUnavailable } from './connection.ts'

export interface DesiredState {
  /** key of its plan */
  key: string
  revisionId: string
  /** limit of its memory, for metrics; null or absent: none, or not known */
  memoryMb?: number | null
  /** A redeploy of this revision is in progress. An earlier attempt of it may serve until that is done. */
  redeploying: boolean
  /** the restart that its key names; absent: not restarted since its deploy. `log`: the revision's deploy log */
  restart?: { at: string; log: Pick<RevisionLog, 'write'> } | undefined
  /** its agent sleeps after this time without a request; absent: never. `wakeMs`: longest wait of a request for its start */
  idleMs?: number
  wakeMs?: number
  /** Makes the plan again, because its parts may have moved. May throw StepFailure. */
  plan: (signal: AbortSignal) => Promise<AgentPlan>
}

/** Whether an earlier attempt serves and must not be replaced yet. A recorded attempt that was not switched to is a candidate. */
export function isOtherAttempt({ key, revisionId, redeploying }: DesiredState, { serving, candidate }: State): boolean {
  if (serving?.revisionId !== revisionId || serving.key === key) return false
  return redeploying || candidate?.key !== key
}

const restartPartOf = (key: string): string | undefined => key.split('.')[2]

/** Whether the serving agent is of an earlier restart, or of none. */
export function isRestartDue({ key, revisionId, restart }: DesiredState, { serving }: State): boolean {
  if (!restart || serving?.revisionId !== revisionId) return false
  return restartPartOf(serving.key) !== restartPartOf(key)
}

/** Whether the agent serves, and nothing else of the deployment runs. */
export function isSettled({ key }: DesiredState, { serving, candidate, retired, health }: State): boolean {
  return serving?.key === key && !candidate && retired.length === 0 && !!health && health.ready > 0
}

/** A ready agent that gets no requests yet. */
export type Prepared = Pick<Candidate, 'commit' | 'discard'>

/** Names of the artifacts and containers that a supervisor uses. */
export function usedIn({ serving, candidate, retired }: State): { artifacts: string[]; containers: string[] } {
  const all = [serving, candidate, ...retired].flatMap((one) => one ?? [])
  return {
    artifacts: all.flatMap(({ artifact }) => artifact || []),
    containers: all.flatMap(({ container }) => container ?? []),
  }
}

export const containerOf = ({ program }: AgentPlan): string | null =>
  program.kind === 'image' ? program.container : null

/** Compares plans without keeping their secrets in memory. */
export const hashOf = (plan: AgentPlan) => createHash('sha256').update(JSON.stringify(plan)).digest('hex')

const STARTING: Progress = { reason: 'WAITING_FOR_HEALTH', message: 'starting' }

/** `problem`: why the deployment does not serve; null: it is starting. */
export const notServing = (problem: Progress | null): Health => ({ ready: 0, desired: 1, ...(problem ?? STARTING) })

/** The start waits in the queue. */
export function queuedProgress(turn: QueuedStart): Progress {
  const ahead = turn.ahead()
  const others = ahead === 1 ? '1 other agent starts' : `${ahead} other agents start`
  return { reason: 'WAITING_FOR_TURN', message: `Waiting to start: ${others} first.` }
}

/** Health of a deployment whose supervisor speaks an unknown protocol version. */
export function foreignHealth({ welcome }: Connection): Health {
  const message = `This server does not speak the protocol of the running supervisor (version ${welcome.protocol}). The agent keeps serving, and the next deploy replaces the supervisor.`
  return { ready: 1, desired: 1, reason: null, message }
}

/** Health of the serving agent, with the restart that is done, or with why the due one fails. */
export function withRestart(health: Health, desired: DesiredState, state: State, problem: Progress | null): Health {
  const { restart } = desired
  if (!restart) return health
  if (!isRestartDue(desired, state)) return health.ready > 0 ? { ...health, restartedAt: restart.at } : health
  if (!problem || health.message !== null) return health
  return { ...health, reason: problem.reason, message: `The restart failed and is tried again: ${problem.message}` }
}

/** Adds the number of replaced agents that finish their requests and runs. */
export function withDraining(health: Health, { retired }: State): Health {
  return retired.length === 0 ? health : { ...health, draining: retired.length }
}

/** True before the supervisor gets the desired state, and while its agent starts. */
export function isStarting(connection: Connection | null): boolean {
  const health = connection?.state.health
  return !!connection && (!health || (health.ready === 0 && health.reason === 'WAITING_FOR_HEALTH'))
}

/** Why the desired state could not be sent. */
export function problemOf(error: unknown): Progress {
  if (error instanceof StepFailure) return { reason: error.reason, message: error.message.split('\n')[0]! }
  const { message } = error as Error
  const shown = error instanceof SupervisorUnavailable ? message : `The agent could not be started: ${message}`
  return { reason: 'INTERNAL', message: shown }
}
