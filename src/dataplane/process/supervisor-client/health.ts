/** The health of a deployment, from its supervisor's state or from the reason why there is none. */
import type { Health, Progress } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { QueuedStart } from '../machine/start-queue.ts'
import { type Connection, SupervisorUnavailable } from './connection.ts'

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
