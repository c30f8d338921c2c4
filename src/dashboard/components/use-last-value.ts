/** What was shown of something, while it is read again: a write makes the cache forget parts of it, and neither a page nor a dialog shall vanish for that. */
import { useRef } from 'react'

/** `now`: what has been read of the one with this id; nothing: it is not there, or not yet. */
export function useLastValue<T extends { id: string }>(id: string, now: T | null | undefined): T | null {
  const kept = useRef<T | null>(null)
  if (now?.id === id) kept.current = now
  return kept.current?.id === id ? kept.current : null
}
