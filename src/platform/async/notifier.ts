/**
 * Wakes waiting callers. A notification is only a hint (a NOTIFY can get lost): every wait has a timeout, then the caller
 * looks again. Keys are ids of listeners, authorizations and tokens; null is the built-in worker.
 */

/** The part that waiting callers need. */
export interface Notifier {
  /**
   * Counter of this key. It changes with each notification, and sometimes without one. Read it before you look, then pass
   * it to `wait`, so no notification between the two is missed.
   */
  mark(key: string | null): number
  /**
   * Resolves after a notification later than `mark`, or after `ms`. Resolves immediately when `signal` aborts or the server
   * stops.
   */
  wait(key: string | null, mark: number, ms: number, signal?: AbortSignal): Promise<void>
  /** True when the server stops: callers must not wait any more. */
  readonly closed: boolean
}

export interface NotifierControl extends Notifier {
  notify(key: string | null): void
  /** Wakes all keys, because notifications may have been missed. */
  notifyAll(): void
  /** Ends every wait; later waits return immediately. */
  close(): void
}

/** Keys tracked individually; over the years there are as many as tokens and authorizations. */
const MAX_KEYS = 10_000

export function createNotifier(): NotifierControl {
  let count = 0
  /** counter of each key's last notification; `forAll` for untracked keys */
  const last = new Map<string | null, number>()
  let forAll = 0
  const waiting = new Map<string | null, Set<() => void>>()
  let closed = false

  const mark = (key: string | null) => last.get(key) ?? forAll
  // waiting callers then look again, at worst without a result
  const forget = () => {
    last.clear()
    forAll = ++count
  }
  const wake = (those: Set<() => void> | undefined) => {
    for (const one of [...(those ?? [])]) one()
  }
  const wakeAll = () => {
    for (const those of [...waiting.values()]) wake(those)
  }

  return {
    mark,
    wait(key, since, ms, signal) {
      if (closed || signal?.aborted || mark(key) !== since) return Promise.resolve()
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
    notify(key) {
      if (last.size >= MAX_KEYS) forget()
      last.set(key, ++count)
      wake(waiting.get(key))
    },
    notifyAll() {
      forget()
      wakeAll()
    },
    close() {
      closed = true
      wakeAll()
    },
  }
}
