/** Tracks whether the control plane is available, for `/readyz` and the log (one line per change). */
import type { Logger } from 'pino'

export interface Status {
  answered(): void
  /** `reason`: for users. */
  failed(reason: string): void
  /** Problem of the control plane; null: the last call succeeded. */
  problem(): string | null
}

/** `name`: program name for users. */
export function createStatus(log: Logger, name: string): Status {
  let problem: string | null = 'The control plane has not answered yet'
  return {
    answered() {
      if (problem !== null) log.info('The control plane answers')
      problem = null
    },
    failed(reason) {
      if (reason !== problem) log.error({ reason }, `The ${name} can’t work without the control plane`)
      problem = reason
    },
    problem: () => problem,
  }
}
