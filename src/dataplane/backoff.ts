/**
 * Waiting: exponential back-off, sleeping that a signal can end, and work that has a limit.
 */
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds to wait before retry number `retry` (0, 1, 2 …): doubles from `first`, at most `longest`. */
export function backoff(retry: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** Math.min(retry, 30))
}

/** Sleeps; returns early, without an error, when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined)
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

/**
 * Does `work` with a signal that aborts with `signal`, or with a TimeoutError after `ms`. Not by
 * AbortSignal.timeout below AbortSignal.any: on Node 20 the garbage collector can take the timeout's signal,
 * and then it never aborts (measured; the sources of `any` are held weakly).
 */
export async function limited<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new DOMException('The time is up', 'TimeoutError')), ms)
  try {
    return await work(AbortSignal.any([signal, late.signal]))
  } finally {
    clearTimeout(timer)
  }
}
