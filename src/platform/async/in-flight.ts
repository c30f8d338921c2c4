/**
 * Tracks work that must finish once it has started: a request that can be sent to a provider only once. Its response is
 * stored even when the caller has left. The server's stop waits for it, up to a limit.
 */
import { resultWithin } from './time-limit.ts'

export interface InFlight {
  /** The work in flight for this key in this process. It never rejects. */
  pending(key: string): Promise<void> | undefined
  /** Starts work for a key. `work` must not throw synchronously. */
  begin(key: string, work: () => Promise<void>): void
  /** Call it when the server stops: callers must start nothing new. Resolves when all work has ended, or after `ms`. */
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
      // work that was about to start may still be added
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
