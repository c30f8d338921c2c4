/**
 * News for holders: whoever waits for work, or for a change of what it holds, is woken by it. Only ever a hint
 * (a NOTIFY can get lost): every wait has an end, and whoever is woken looks again.
 */

export interface WorkNews {
  /** How often there was news for this scope (null: the built-in worker). Ask before you look, then wait beyond it. */
  mark(listenerId: string | null): number
  /** Resolves when there is news beyond `mark`, at the latest after `ms`; at once when `signal` aborts or the server stops. */
  wait(listenerId: string | null, mark: number, ms: number, signal: AbortSignal): Promise<void>
  /** The server stops: nobody is to wait any more. */
  readonly closed: boolean
}
