/**
 * One line in the log for one outage of the database, however many statements fail in it: when it begins, with the
 * reason, and when it is over, with how long it took. Each caller gets the error in its own answer.
 */
import type { Log } from '../log/log.ts'

export interface Outage {
  /** A connection could not be had, or broke. `reason`: one line, without secrets. */
  failed(reason: string): void
  /** A statement was answered. */
  worked(): void
}

/** ms without a failure after which it is over: connections that break one by one are one outage */
const QUIET_MS = 5_000

/** `log` absent: nothing is logged. */
export function createOutage(log: Log | undefined): Outage {
  let current: { begun: number; last: number; failures: number } | null = null
  return {
    failed(reason) {
      const now = performance.now()
      if (!current) log?.warn({ reason }, 'the database cannot be used')
      current = { begun: current?.begun ?? now, last: now, failures: (current?.failures ?? 0) + 1 }
    },
    worked() {
      if (!current || performance.now() - current.last < QUIET_MS) return
      const { begun, last, failures } = current
      current = null
      log?.info({ seconds: Math.round((last - begun) / 100) / 10, failures }, 'the database can be used again')
    },
  }
}
