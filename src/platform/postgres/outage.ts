/**
 * Logs a database outage with one line at its begin (with the reason) and one at its end (with its duration), instead of
 * one for each failed statement. Callers still get each error.
 */
import type { Log } from '../log/log.ts'

export interface Outage {
  /** A connection broke or could not be opened. `reason`: one line, without secrets. */
  failed(reason: string): void
  worked(): void
}

/** time without a failure that ends an outage; connections that break one by one count as one outage */
const QUIET_MS = 5_000

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
