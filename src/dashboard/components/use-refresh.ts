/** Reloads data that has no events at an interval, in visible tabs only. */
import { useEffect } from 'react'

export function useRefresh(again: (options: { requestPolicy: 'network-only' }) => void, ms: number): void {
  useEffect(() => {
    const read = () => document.visibilityState === 'visible' && again({ requestPolicy: 'network-only' })
    const timer = setInterval(read, ms)
    document.addEventListener('visibilitychange', read)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', read)
    }
  }, [again, ms])
}
