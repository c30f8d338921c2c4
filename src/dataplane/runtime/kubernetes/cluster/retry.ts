/**
 * Trying again what failed because the API server was not there.
 */
import { backoff, sleep } from '../../../backoff.ts'
import { Unreachable } from './errors.ts'

export interface Patience {
  firstRetry: number
  longestRetry: number
}

/** with the default times: about 4 s of waiting */
const TRIES = 5

/** Does `work` until it gives something else than Unreachable, at most TRIES times. `wanted` is asked before each retry. */
export async function retrying<T>(
  patience: Patience,
  work: () => Promise<T>,
  wanted: () => boolean = () => true,
): Promise<T> {
  for (let retry = 0; ; retry++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unreachable) || retry >= TRIES - 1 || !wanted()) throw error
      await sleep(pause(patience, retry, error))
      if (!wanted()) throw error
    }
  }
}

/** Milliseconds to wait before retry number `retry`: what the server asked for, else longer each time, never the same for all. */
export function pause({ firstRetry, longestRetry }: Patience, retry: number, error: unknown): number {
  if (error instanceof Unreachable && error.retryAfterMs !== null) return error.retryAfterMs
  return backoff(retry, firstRetry, longestRetry) * (0.75 + Math.random() / 2)
}
