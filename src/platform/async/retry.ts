/** Retries with back-off and limits. */
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds before retry number `retry` (0, 1, 2 …): doubles from `first`, up to `longest`. `least`: the smallest random
 * share of that pause, so that clients which failed together don't return together. Default 1: the whole pause.
 */
export function backoff(retry: number, first: number, longest: number, least = 1): number {
  return Math.min(longest, first * 2 ** Math.min(retry, 30)) * (least + (1 - least) * Math.random())
}

/** Sleeps. Returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
}

export interface RetryOptions {
  /** Whether a retry may help with this error. Called once for each error. */
  when: (error: unknown) => boolean
  /** ms to wait before retry number `retry` (0, 1, 2 …) */
  pause: (retry: number, error: unknown) => number
  tries?: number
  /** no try starts later than this many ms after the first */
  withinMs?: number
  signal?: AbortSignal
  /** Whether the result is still wanted. Called before and after each pause. */
  isWanted?: () => boolean
}

/** Returns the first result of `work`, or rejects with the last error. `options` must contain a limit. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { when, pause, tries = Number.POSITIVE_INFINITY, withinMs = Number.POSITIVE_INFINITY } = options
  const until = performance.now() + withinMs
  const isActive = () => !options.signal?.aborted && (options.isWanted?.() ?? true)
  for (let retries = 0; ; retries++) {
    try {
      return await work()
    } catch (error) {
      if (!when(error) || retries + 1 >= tries || !isActive()) throw error
      const ms = pause(retries, error)
      if (performance.now() + ms >= until) throw error
      await sleep(ms, options.signal)
      if (!isActive()) throw error
    }
  }
}
