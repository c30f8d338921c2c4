/**
 * Waiting: exponential back-off, and sleeping that a signal can end.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds to wait before retry number `retry` (0, 1, 2 …): doubles from `first`, at most `longest`. */
export function backoff(retry: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(retry, 30))
}

/** Sleeps; returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/** What the promise gives, or `undefined` when it takes longer than `ms` or the signal aborts. */
export async function within<T>(ms: number, promise: Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
  const over = new AbortController()
  const stop = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  try {
    return await Promise.race([promise, sleep(ms, stop).then(() => undefined)])
  } finally {
    over.abort()
    promise.catch(() => undefined)
  }
}
