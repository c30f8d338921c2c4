/**
 * Keeps the last value while it is read again. A write invalidates parts of the cache, and open pages and dialogs must
 * not vanish.
 */
import { useRef } from 'react'

/** `now`: the current value; null or undefined while it is not loaded. */
export function useLastValue<T extends { id: string }>(id: string, now: T | null | undefined): T | null {
  const kept = useRef<T | null>(null)
  if (now?.id === id) kept.current = now
  return kept.current?.id === id ? kept.current : null
}
