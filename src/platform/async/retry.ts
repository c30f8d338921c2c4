/** Trying again: how long to wait before it, and for how long it is worth while. */
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds to wait before retry number `retry` (0, 1, 2 …): doubles from `first`, at most `longest`. `least`: of that a
 * random share, this one at least, so that those who failed together do not come back together. Default: all of it.
 */
export function backoff(retry: number, first: number, longest: number, least = 1): number {
  return Math.min(longest, first * 2 ** Math.min(retry, 30)) * (least + (1 - least) * Math.random())
}

/** Sleeps; returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
}

export interface RetryOptions {
  /** Whether another try may do without this error. Asked once for each. */
  when: (error: unknown) => boolean
  /** ms to wait before retry number `retry` (0, 1, 2 …) */
  pause: (retry: number, error: unknown) => number
  /** so many at most */
  tries?: number
  /** ms: no try begins later than so long after the first */
  withinMs?: number
  /** No try begins after it aborted. */
  signal?: AbortSignal
  /** Whether anybody still wants it; asked before and after each pause. */
  isWanted?: () => boolean
}

/** What `work` gives in the end. Rejects with the error of its last try. Something of `options` has to bound it. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { when, pause, tries = Number.POSITIVE_INFINITY, withinMs = Number.POSITIVE_INFINITY } = options
  const until = performance.now() + withinMs
  const wanted = () => !options.signal?.aborted && (options.isWanted?.() ?? true)
  for (let retries = 0; ; retries++) {
    try {
      return await work()
    } catch (error) {
      if (!when(error) || retries + 1 >= tries || !wanted()) throw error
      const ms = pause(retries, error)
      if (performance.now() + ms >= until) throw error
      await sleep(ms, options.signal)
      if (!wanted()) throw error
    }
  }
}
