/** Lets a start wait for a database that restarts or is not reachable yet. */
import { backoff, retry } from '../platform/async/retry.ts'
import type { Log } from '../platform/log/log.ts'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5_000
const LOG_INTERVAL_MS = 60_000

/** Retries `work` while `isUnavailable` returns true for its error. Rejects with the last error. */
export type DatabaseWait = <T>(work: () => Promise<T>, isUnavailable: (error: unknown) => boolean) => Promise<T>

/** `seconds`: longest wait; 0: no wait. `signal` ends the wait. */
export function createDatabaseWait(log: Log, seconds: number, signal?: AbortSignal): DatabaseWait {
  const until = performance.now() + seconds * 1000
  let saidAt = Number.NEGATIVE_INFINITY
  return (work, isUnavailable) => {
    if (seconds === 0) return work()
    return retry(work, {
      withinMs: until - performance.now(),
      signal,
      pause: (number) => backoff(number, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, 0.5),
      when(error) {
        if (!isUnavailable(error)) return false
        const now = performance.now()
        if (now - saidAt >= LOG_INTERVAL_MS) {
          saidAt = now
          const secondsLeft = Math.round((until - now) / 1000)
          log.warn({ reason: reasonOf(error), secondsLeft }, 'the database is unavailable: the start waits for it')
        }
        return true
      },
    })
  }
}

/** The error as one line. Errors of several addresses have a code but no message; Prisma's have several lines. */
export function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return (message || String(code)).replaceAll(/\s+/g, ' ').trim()
}
