/**
 * News for holders within this server: counts what was heard for each scope (NOTIFY's payload), so that whoever
 * looked before it waits misses nothing, and wakes only those whom it concerns.
 */
import type { WorkNews } from '../domain/work/news.ts'

export interface Wakeup extends WorkNews {
  /** There is news for this scope: a listener's id, or null for the built-in worker. */
  ring(listenerId: string | null): void
  /** Whatever was said for a while was missed: there may be news for everybody. */
  ringAll(): void
  /** The server stops: every wait ends now, and none begins. */
  close(): void
}

export function createWakeup(): Wakeup {
  /** rings by scope; those for everybody count in each */
  const rings = new Map<string | null, number>()
  let forAll = 0
  const waiting = new Map<string | null, Set<() => void>>()
  let closed = false

  const mark = (listenerId: string | null) => forAll + (rings.get(listenerId) ?? 0)
  const wake = (those: Set<() => void> | undefined) => {
    for (const one of [...(those ?? [])]) one()
  }
  const wakeAll = () => {
    for (const those of [...waiting.values()]) wake(those)
  }

  return {
    mark,
    wait(listenerId, seen, ms, signal) {
      if (closed || signal?.aborted || mark(listenerId) !== seen) return Promise.resolve()
      return new Promise((resolve) => {
        const those = waiting.get(listenerId) ?? new Set()
        const done = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', done)
          those.delete(done)
          if (those.size === 0) waiting.delete(listenerId)
          resolve()
        }
        const timer = setTimeout(done, ms)
        signal?.addEventListener('abort', done)
        waiting.set(listenerId, those.add(done))
      })
    },
    get closed() {
      return closed
    },
    ring(listenerId) {
      rings.set(listenerId, (rings.get(listenerId) ?? 0) + 1)
      wake(waiting.get(listenerId))
    },
    ringAll() {
      forAll++
      wakeAll()
    },
    close() {
      closed = true
      wakeAll()
    },
  }
}
