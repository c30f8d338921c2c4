/**
 * News: whoever waits for something is woken when it may have come. Only ever a hint (a NOTIFY can get lost): every
 * wait has an end, and whoever is woken looks again. A key tells whom it concerns: of news for holders a listener's id,
 * or null for the built-in worker; of OAuth the id of an authorization or a token.
 */
import { setTimeout as delay } from 'node:timers/promises'

export interface News {
  /** A number that changes with each piece of news for this key (and now and then without). Ask before you look, then wait beyond it. */
  mark(key: string | null): number
  /** Resolves when there is news beyond `mark`, at the latest after `ms`; at once when `signal` aborts or the server stops. */
  wait(key: string | null, mark: number, ms: number, signal?: AbortSignal): Promise<void>
  /** The server stops: nobody is to wait any more. */
  readonly closed: boolean
}

/** ms between two looks: what becomes due by time alone (a lease that ends, a back-off that is over) rings no bell */
const LOOK_AGAIN = 5000
/** ms: of many changes in a row not each is looked at by itself */
const LOOK_APART = 100

/**
 * Looks until there is something, for `seconds` at most. Null: there was nothing until the time was up, `signal` aborted or
 * the server stopped. Without news (the command line) it looks just once. `enter`: before it waits it takes a place to
 * wait in; where that answers null it does not wait.
 */
export async function lookUntil<T>(
  news: News | undefined,
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
      const mark = news?.mark(key) ?? 0
      const lookedAt = performance.now()
      const found = await look()
      if (found !== null) return found
      const left = () => until - performance.now()
      const over = () => !news || news.closed || signal?.aborted || left() <= 0
      if (over()) return null
      leave ??= enter()
      if (!leave) return null
      await news?.wait(key, mark, Math.min(left(), LOOK_AGAIN), signal)
      const early = Math.min(left(), lookedAt + LOOK_APART - performance.now())
      if (early > 0 && !over()) await delay(early, undefined, { signal }).catch(() => {})
      if (over()) return null
    }
  } finally {
    leave?.()
  }
}
