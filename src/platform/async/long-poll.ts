/** Looks again and again until there is something: whenever a notifier says so, and every few seconds besides. */
import type { Notifier } from './notifier.ts'
import { sleep } from './retry.ts'

/** ms between two looks: of what becomes due by time alone (a lease that ends, a back-off that is over) nobody is notified */
const POLL_INTERVAL_MS = 5000
/** ms: of many changes in a row not each is looked at by itself */
const MIN_INTERVAL_MS = 100

/**
 * Looks until there is something, for `seconds` at most. Null: there was nothing until the time was up, `signal` aborted or
 * the server stopped. Without a notifier (the command line) it looks just once. `enter`: before it waits it takes a place to
 * wait in; where that answers null it does not wait.
 */
export async function longPoll<T>(
  notifier: Notifier | undefined,
  key: string | null,
  seconds: number,
  signal: AbortSignal | undefined,
  look: () => Promise<T | null>,
  enter: () => (() => void) | null = () => () => {},
): Promise<T | null> {
  const until = performance.now() + seconds * 1000
  let leave: (() => void) | null = null
  try {
    for (;;) {
      const mark = notifier?.mark(key) ?? 0
      const lookedAt = performance.now()
      const found = await look()
      if (found !== null) return found
      const left = () => until - performance.now()
      const over = () => !notifier || notifier.closed || signal?.aborted || left() <= 0
      if (over()) return null
      leave ??= enter()
      if (!leave) return null
      await notifier?.wait(key, mark, Math.min(left(), POLL_INTERVAL_MS), signal)
      const early = Math.min(left(), lookedAt + MIN_INTERVAL_MS - performance.now())
      if (early > 0 && !over()) await sleep(early, signal)
      if (over()) return null
    }
  } finally {
    leave?.()
  }
}
