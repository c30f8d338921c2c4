/**
 * Trying again what failed because the API server was not there.
 */
import { backoff, retry } from '../../../../platform/async/retry.ts'
import { Unreachable } from './errors.ts'

export interface RetryTimes {
  firstRetry: number
  longestRetry: number
}

/** with the default times: about 4 s of waiting */
const TRIES = 5

/** Does `work` until it gives something else than Unreachable, at most TRIES times. `wanted`: whether it is still to be tried again. */
export function retrying<T>(times: RetryTimes, work: () => Promise<T>, wanted = () => true): Promise<T> {
  return retry(work, {
    tries: TRIES,
    isWanted: wanted,
    when: (error) => error instanceof Unreachable,
    pause: (retries, error) => pause(times, retries, error),
  })
}

/** Milliseconds to wait before retry number `retries`: what the server asked for, else longer each time, never the same for all. */
export function pause({ firstRetry, longestRetry }: RetryTimes, retries: number, error: unknown): number {
  if (error instanceof Unreachable && error.retryAfterMs !== null) return error.retryAfterMs
  return backoff(retries, firstRetry, longestRetry, 0.75)
}
