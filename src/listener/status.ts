/** Whether the control plane is there, for `/readyz`, for whoever calls it and, once for each change, for the log. */
import type { Logger } from 'pino'

export interface Status {
  answered(): void
  /** `reason`: for people. */
  failed(reason: string): void
  /** Why the control plane can't be worked with, null: its last answer was one. */
  problem(): string | null
}

/** `name`: of the program, for people. */
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
