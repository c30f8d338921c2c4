/**
 * The time that a step has here: it ends by itself before the control plane would end it, so that it can say what was
 * wrong, and what it begins with is tried until then.
 */
import { backoff, retry } from '../../../../platform/async/retry.ts'
import { withTimeout } from '../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { OnProgress, TimedStep } from '../../runtime.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import { reasonOfRefusal } from '../api-server/messages.ts'

/** ms before the step's deadline, at most a quarter of the time that is left */
const MARGIN_MS = 10_000
const RETRY_MS = [250, 10_000] as const

/** performance.now() of when it ends by itself. */
export function ownDeadline({ deadline }: TimedStep): number {
  const left = deadline - performance.now()
  return deadline - Math.max(0, Math.min(MARGIN_MS, left / 4))
}

/**
 * What `work` gives, which is tried again until the API server is reached. `deadline`: of performance.now(). `onProgress` is called while it is away. A
 * refusal, and an API server that is away until the deadline, are StepFailure.
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
      throw new StepFailure('CLUSTER_UNREACHABLE', `The API server was not reached in time: ${problem}`)
    }
  })
}
