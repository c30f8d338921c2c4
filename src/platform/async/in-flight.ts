/**
 * Work that must not be cut short once it has begun: a request that can be sent to a provider only once, whose answer has to
 * be stored even if its caller has left. The server's stop waits for it, for a while.
 */
import { AbortScope, resultWithin } from './time-limit.ts'

export interface InFlight {
  /** The work on this key that is in flight in this process. It never rejects. */
  pending(key: string): Promise<void> | undefined
  /** Begins work on a key. It must not throw. */
  begin(key: string, work: () => Promise<void>): void
  /**
   * The server stops: callers begin nothing new. Resolves when all that was begun is over, at the latest after `ms`.
   */
  close(ms: number): Promise<void>
  readonly closed: boolean
}

export function createInFlight(): InFlight {
  const all = new Set<Promise<void>>()
  const newest = new Map<string, Promise<void>>()
  let closed = false

  return {
    pending: (key) => newest.get(key),
    begin(key, work) {
      const over = work()
        .catch(() => {})
        .finally(() => {
          all.delete(over)
          if (newest.get(key) === over) newest.delete(key)
        })
      all.add(over)
      newest.set(key, over)
    },
    async close(ms) {
      closed = true
      // what was about to begin as the server's stop began may still come
      const begun = async () => {
        while (all.size > 0) await Promise.all(all)
      }
      await resultWithin(ms, begun())
    },
    get closed() {
      return closed
    },
  }
}

/** Resolves when `work`, which never rejects, is over, or `signal` aborts: then it goes on by itself. */
export async function doneOrAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const scope = new AbortScope(signal)
  await scope.unlessAborted(work).catch(() => undefined)
  scope.end()
}
