/**
 * News within this server: counts what was heard for each key (NOTIFY's payload), so that whoever looked before it
 * waits misses nothing, and wakes only those whom it concerns.
 */
import type { News } from '../domain/news.ts'

export interface Wakeup extends News {
  /** There is news for this key. */
  ring(key: string | null): void
  /** Whatever was said for a while was missed: there may be news for everybody. */
  ringAll(): void
  /** The server stops: every wait ends now, and none begins. */
  close(): void
}

/** Keys whose last ring is remembered by itself; there are as many as tokens and authorizations over the years. */
const MOST_KEYS = 10_000

export function createWakeup(): Wakeup {
  let rings = 0
  /** the number of each key's last ring; of all others it may have been `forAll` */
  const last = new Map<string | null, number>()
  let forAll = 0
  const waiting = new Map<string | null, Set<() => void>>()
  let closed = false

  const mark = (key: string | null) => last.get(key) ?? forAll
  // whoever looked before this looks again, at worst for nothing
  const forget = () => {
    last.clear()
    forAll = ++rings
  }
  const wake = (those: Set<() => void> | undefined) => {
    for (const one of [...(those ?? [])]) one()
  }
  const wakeAll = () => {
    for (const those of [...waiting.values()]) wake(those)
  }

  return {
    mark,
    wait(key, seen, ms, signal) {
      if (closed || signal?.aborted || mark(key) !== seen) return Promise.resolve()
      return new Promise((resolve) => {
        const those = waiting.get(key) ?? new Set()
        const done = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', done)
          those.delete(done)
          if (those.size === 0) waiting.delete(key)
          resolve()
        }
        const timer = setTimeout(done, ms)
        signal?.addEventListener('abort', done)
        waiting.set(key, those.add(done))
      })
    },
    get closed() {
      return closed
    },
    ring(key) {
      if (last.size >= MOST_KEYS) forget()
      last.set(key, ++rings)
      wake(waiting.get(key))
    },
    ringAll() {
      forget()
      wakeAll()
    },
    close() {
      closed = true
      wakeAll()
    },
  }
}
