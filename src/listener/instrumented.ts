/** Counts calls and tracks availability. Before the first response no call waits for news, to detect a return early. */
import type { Logger } from 'pino'
import { ClaimLostError } from '../domain/errors/errors.ts'
import type { ControlPlane } from '../domain/protocol/protocol.ts'
import { ControlPlaneRefused } from './errors.ts'
import type { ProgramMetrics } from './metrics.ts'

export interface Instrumented extends ControlPlane {
  /** Problem of the control plane, for users; null: the last call succeeded. */
  problem(): string | null
}

/** `name`: program name for users. The log gets one line per change of the availability. */
export function instrumented(
  plane: ControlPlane,
  calls: ProgramMetrics['calls'],
  log: Logger,
  name: string,
): Instrumented {
  let problem: string | null = 'The control plane has not answered yet'

  function answered(): void {
    if (problem !== null) log.info('The control plane answers')
    problem = null
  }

  function failed(reason: string): void {
    if (reason !== problem) log.error({ reason }, `The ${name} can’t work without the control plane`)
    problem = reason
  }

  async function watch<T>(call: string, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const end = calls.startTimer({ call })
    try {
      const answer = await work
      end({ outcome: 'ok' })
      answered()
      return answer
    } catch (error) {
      if (error instanceof ClaimLostError) {
        end({ outcome: 'claim_lost' })
        answered()
      } else if (signal?.aborted && (error as Error).name === 'AbortError') end({ outcome: 'given_up' })
      else {
        end({ outcome: error instanceof ControlPlaneRefused ? 'refused' : 'unreachable' })
        failed((error as Error).message)
      }
      throw error
    }
  }

  const patient = <R extends { waitSeconds?: number }>(request: R): R =>
    problem === null ? request : { ...request, waitSeconds: 0 }

  return {
    problem: () => problem,
    claim: (request, signal) => watch('claim', plane.claim(patient(request), signal), signal),
    heartbeat: (request, signal) => watch('heartbeat', plane.heartbeat(patient(request), signal), signal),
    logs: (request) => watch('logs', plane.logs(request)),
    complete: (request) => watch('complete', plane.complete(request)),
    release: (claim) => watch('release', plane.release(claim)),
    releaseHolder: (holder) => plane.releaseHolder(holder),
  }
}
