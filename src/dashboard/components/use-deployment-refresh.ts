/** Reloads a page's data when its deployment changes. A hidden tab reloads when it becomes visible. */
import { useEffect, useRef } from 'react'
import { watchDeployments } from './live-deployments.ts'

const MIN_INTERVAL_MS = 250

export function useDeploymentRefresh(deploymentId: string, again: () => unknown): void {
  const latest = useRef(again)
  latest.current = again
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isDue = false
    const look = () => {
      timer = undefined
      if (document.visibilityState === 'hidden') return
      isDue = false
      latest.current()
    }
    const wake = () => {
      if (isDue) look()
    }
    const leave = watchDeployments(({ deploymentIds }) => {
      if (deploymentIds.length > 0 && !deploymentIds.includes(deploymentId)) return
      isDue = true
      timer ??= setTimeout(look, MIN_INTERVAL_MS)
    })
    document.addEventListener('visibilitychange', wake)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', wake)
      leave()
    }
  }, [deploymentId])
}
