/** Retries calls that failed because the API server was unavailable. */
import { backoff, retry } from '../../../platform/async/retry.ts'
import { Unreachable } from './errors.ts'

export interface RetryTimes {
  firstRetry: number
  longestRetry: number
}

/** waits about 4 s in total with the default times */
const TRIES = 5

/** Retries `work` after Unreachable, at most TRIES times and while `isWanted`. */
export function retrying<T>(times: RetryTimes, work: () => Promise<T>, isWanted = () => true): Promise<T> {
  return retry(work, {
    tries: TRIES,
    isWanted,
    when: (error) => error instanceof Unreachable,
    pause: (retries, error) => pause(times, retries, error),
  })
}

/** ms before retry number `retries`: the server's Retry-After, else growing and random. */
export function pause({ firstRetry, longestRetry }: RetryTimes, retries: number, error: unknown): number {
  if (error instanceof Unreachable && error.retryAfterMs !== null) return error.retryAfterMs
  return backoff(retries, firstRetry, longestRetry, 0.75)
}
