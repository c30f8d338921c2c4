/**
 * Wakes callers that wait for something when it may have come. A notification is only a hint (a NOTIFY can get lost): every
 * wait has an end, and then the caller looks again. Notifications are counted for each key (the id of a listener, of an
 * authorization, of a token; null: the built-in worker), so that a caller misses none between its look and its wait.
 */

/** What those who wait need of it. */
export interface Notifier {
  /** A number that changes with each notification for this key (and now and then without). Ask before you look, then wait beyond it. */
  mark(key: string | null): number
  /** Resolves when there was a notification beyond `mark`, at the latest after `ms`; at once when `signal` aborts or the server stops. */
  wait(key: string | null, mark: number, ms: number, signal?: AbortSignal): Promise<void>
  /** The server stops: nobody is to wait any more. */
  readonly closed: boolean
}

export interface NotifierControl extends Notifier {
  notify(key: string | null): void
  /** Notifications may have been missed, of any key. */
  notifyAll(): void
  /** The server stops: every wait ends now, and none begins. */
  close(): void
}

/** Keys whose last notification is remembered by itself; there are as many as tokens and authorizations over the years. */
const MAX_KEYS = 10_000

export function createNotifier(): NotifierControl {
  let count = 0
  /** the number of each key's last notification; of all others it may have been `forAll` */
  const last = new Map<string | null, number>()
  let forAll = 0
  const waiting = new Map<string | null, Set<() => void>>()
  let closed = false

  const mark = (key: string | null) => last.get(key) ?? forAll
  // whoever looked before this looks again, at worst for nothing
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
