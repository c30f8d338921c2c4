/** Timeouts of calls, and retries of those that failed because the API server was unavailable. */
import { backoff, retry } from '../../../platform/async/retry.ts'
import { Unreachable } from './errors.ts'

type RetryTimes = Pick<ClusterTimes, 'firstRetry' | 'longestRetry'>

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

export interface ClusterTimes {
  /** timeout of one call with its whole response. Default: 15 s */
  call: number
  /** longest duration of one watch. Default: 2 min */
  watch: number
  /** a watch that is this late is closed, and TCP keep-alive probes a connection after this silence. Default: 10 s */
  silence: number
  /** interval of full lists. Default: 10 min */
  relist: number
  /** first and longest wait between retries. Default: 250 ms and 10 s */
  firstRetry: number
  longestRetry: number
}

export const DEFAULT_TIMES: ClusterTimes = {
  call: 15_000,
  watch: 120_000,
  silence: 10_000,
  relist: 600_000,
  firstRetry: 250,
  longestRetry: 10_000,
}
