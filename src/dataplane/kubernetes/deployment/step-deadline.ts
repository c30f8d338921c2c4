/** A step's own deadline, before the control plane's: the step retries outages until then and reports the cause. */
import { backoff, retry } from '../../../platform/async/retry.ts'
import { withTimeout } from '../../../platform/async/time-limit.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { OnProgress, TimedStep } from '../../runtimes/runtime.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import { reasonOfRefusal } from '../api-server/messages.ts'

/** ms before the control plane's deadline, at most a quarter of the remaining time */
const MARGIN_MS = 10_000
const RETRY_MS = [250, 10_000] as const

/** performance.now() when the step ends itself. */
export function ownDeadline({ deadline }: TimedStep): number {
  const left = deadline - performance.now()
  return deadline - Math.max(0, Math.min(MARGIN_MS, left / 4))
}

/**
 * Retries `work` until it reaches the API server; `onProgress` reports an outage. Throws StepFailure when refused
 * or at the deadline, a performance.now().
 */
export async function untilReached<T>(
  signal: AbortSignal,
  deadline: number,
  onProgress: OnProgress,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = Math.max(0, deadline - performance.now())
  let problem = 'it has not answered yet'
  return withTimeout(left, signal, async (inTime) => {
    try {
      return await retry(() => work(inTime), {
        signal: inTime,
        when: (error) => {
          if (!(error instanceof Unreachable) || signal.aborted) return false
          problem = error.message
          onProgress({ reason: 'CLUSTER_UNREACHABLE', message: problem })
          return true
        },
        pause: (retries) => backoff(retries, ...RETRY_MS),
      })
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ApiRefused) throw new StepFailure(reasonOfRefusal(error.message), error.message)
      if (!inTime.aborted) throw error
      throw new StepFailure('CLUSTER_UNREACHABLE', `The API server was not reached before the deadline: ${problem}`)
    }
  })
}
