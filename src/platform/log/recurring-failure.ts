/** Limits log lines of a failure that repeats: the first time, each different error, and a reminder with the count. */
import type { Log } from './log.ts'

const REMINDER_MS = 300_000

export interface RecurringFailure {
  failed(error: unknown): void
  worked(): void
}

/**
 * `about`: fields of the log lines. `what`: the failure and its consequence, for people. `now`: a monotonic clock in ms.
 */
export function createRecurringFailure(
  log: Log,
  about: object,
  what: string,
  now: () => number = () => performance.now(),
): RecurringFailure {
  let current: { name: string; since: number; told: number; failures: number } | null = null
  return {
    failed(error) {
      const name = groupKey(error)
      const at = now()
      const known = current ?? { name: null, since: at, told: at, failures: 0 }
      const { since } = known
      const failures = known.failures + 1
      const isNews = known.name !== name || at - known.told >= REMINDER_MS
      current = { name, since, told: isNews ? at : known.told, failures }
      if (!isNews) return
      const before = failures === 1 ? {} : { failures, seconds: Math.round((at - since) / 1000) }
      log.error({ err: error, ...about, ...before }, what)
    },
    worked() {
      if (!current) return
      const { failures, since } = current
      current = null
      log.info({ ...about, failures, seconds: Math.round((now() - since) / 1000) }, 'it works again')
    },
  }
}

/** Key that groups failures. Ids and numbers are masked, because they differ from row to row. */
function groupKey(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return `${error.name} ${error.message}`.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+/gi, '#')
}
