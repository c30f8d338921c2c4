/**
 * Calls that are made again until the API server is reached or the time is up.
 */
import { backoff, limited, sleep } from '../../backoff.ts'
import { StepFailure } from '../../failure.ts'
import type { OnProgress } from '../runtime.ts'
import { ApiRefused, Unreachable } from './cluster/errors.ts'
import { reasonOfRefusal } from './refusals.ts'

const RETRY_MS = [250, 10_000] as const

/** What `work` gives. `onProgress` is told while the API server is away. A refusal, and an API server that is away until the deadline, are StepFailure. */
export async function reaching<T>(
  signal: AbortSignal,
  deadlineAt: Date,
  onProgress: OnProgress,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = Math.max(0, deadlineAt.getTime() - Date.now())
  let problem = 'it has not answered yet'
  return limited(left, signal, async (inTime) => {
    for (let tries = 0; ; tries++) {
      try {
        return await work(inTime)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ApiRefused) throw new StepFailure(reasonOfRefusal(error.message), error.message)
        if (error instanceof Unreachable) {
          problem = error.message
          onProgress({ reason: 'CLUSTER_UNREACHABLE', message: problem })
        } else if (!inTime.aborted) throw error
      }
      if (!inTime.aborted) await sleep(backoff(tries, ...RETRY_MS), inTime)
      signal.throwIfAborted()
      if (inTime.aborted)
        throw new StepFailure('CLUSTER_UNREACHABLE', `The API server was not reached in time: ${problem}`)
    }
  })
}
