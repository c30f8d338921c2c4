/** Long poll: repeats a query when a notifier fires and every few seconds, until it finds something. */
import type { Notifier } from './notifier.ts'
import { sleep } from './retry.ts'

/** changes by time alone (an expired lease, an elapsed back-off) send no notification */
const POLL_INTERVAL_MS = 5000
/** limits queries when many notifications arrive in a row */
const MIN_INTERVAL_MS = 100

/**
 * Repeats `look` until it returns a value, for `seconds` at most. Returns null when the time is up, `signal` aborts or the
 * server stops. Without a notifier (command line) it looks once. `enter` reserves a place before the first wait and returns
 * its release; when it returns null, the poll ends without waiting.
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
