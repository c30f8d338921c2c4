/** Counts calls and tracks availability. Before the first response no call waits for news, to detect a return early. */
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { ClaimLostError } from '../domain/errors/errors.ts'
import type { Assignment, ControlPlane, Step } from '../domain/protocol/protocol.ts'
import { ControlPlaneRefused } from './errors.ts'
import type { ProgramMetrics } from './metrics.ts'

export interface Instrumented extends ControlPlane {
  /** Problem of the control plane, for users; null: the last call succeeded. */
  problem(): string | null
}

/** more than the steps that one program runs at a time. Steps of lost claims are never reported. */
const MAX_STEPS = 10_000

/** `name`: program name for users. The log gets one line per change of the availability. */
export function instrumented(
  plane: ControlPlane,
  metrics: Pick<ProgramMetrics, 'steps' | 'calls'>,
  log: Logger,
  name: string,
): Instrumented {
  let problem: string | null = 'The control plane has not answered yet'
  /** kinds of the assigned steps, by id */
  const kinds = new LRUCache<string, Step['kind']>({ max: MAX_STEPS })

  function answered(): void {
    if (problem !== null) log.info('The control plane answers')
    problem = null
  }

  function failed(reason: string): void {
    if (reason !== problem) log.error({ reason }, `The ${name} can’t work without the control plane`)
    problem = reason
  }

  async function watch<T>(call: string, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const end = metrics.calls.startTimer({ call })
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

  function assigned(assignments: readonly (Assignment | null)[]): void {
    for (const assignment of assignments) {
      const { step } = assignment ?? {}
      if (step) kinds.set(step.id, step.kind)
    }
  }

  return {
    problem: () => problem,
    async claim(request, signal) {
      const claims = await watch('claim', plane.claim(patient(request), signal), signal)
      assigned(claims)
      return claims
    },
    async heartbeat(request, signal) {
      const answers = await watch('heartbeat', plane.heartbeat(patient(request), signal), signal)
      assigned(answers.map(({ assignment }) => assignment))
      return answers
    },
    logs: (request) => watch('logs', plane.logs(request)),
    async complete(request) {
      const { stepId, outcome } = request
      const answer = await watch('complete', plane.complete(request))
      const kind = kinds.get(stepId)
      // a withdrawn step is already closed when its end is reported
      const counts = answer.recorded || outcome === 'stopped'
      if (kind) metrics.steps.inc({ kind, outcome: counts ? outcome : 'too_late' })
      kinds.delete(stepId)
      assigned([answer.assignment])
      return answer
    },
    release: (claim) => watch('release', plane.release(claim)),
    releaseHolder: (holder) => plane.releaseHolder(holder),
  }
}
