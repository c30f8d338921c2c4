/** The health of a deployment, from what its supervisor says or why nothing can be said. */
import type { Health, Progress } from '../../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { QueuedStart } from '../machine/start-queue.ts'
import { type Connection, SupervisorUnavailable } from './connection.ts'

const STARTING: Progress = { reason: 'WAITING_FOR_HEALTH', message: 'starting' }

/** It does not serve, for that reason; null: it is being started. */
export const notServing = (problem: Progress | null): Health => ({ ready: 0, desired: 1, ...(problem ?? STARTING) })

/** It is not started yet. */
export function queuedProgress(turn: QueuedStart): Progress {
  const ahead = turn.ahead()
  const others = ahead === 1 ? '1 other starts' : `${ahead} others start`
  return { reason: 'WAITING_FOR_TURN', message: `Starting: ${others} first.` }
}

/** Of a supervisor that this server does not speak with. */
export function foreignHealth({ welcome }: Connection): Health {
  const message = `It is served by a supervisor of another version (protocol ${welcome.protocol}), which this server does not speak: the next deploy replaces it.`
  return { ready: 1, desired: 1, reason: null, message }
}

/** It was not told yet what is to serve, or that starts. */
export function isStarting(connection: Connection | null): boolean {
  const health = connection?.state.health
  return !!connection && (!health || (health.ready === 0 && health.reason === 'WAITING_FOR_HEALTH'))
}

/** Why what is wanted could not be told. */
export function problemOf(error: unknown): Progress {
  if (error instanceof StepFailure) return { reason: error.reason, message: error.message.split('\n')[0]! }
  const { message } = error as Error
  const shown = error instanceof SupervisorUnavailable ? message : `The agent could not be started: ${message}`
  return { reason: 'INTERNAL', message: shown }
}
