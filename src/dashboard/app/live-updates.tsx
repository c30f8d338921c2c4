/** Subscribes to the workspace's deployment changes, for all pages (components/live-deployments.ts). */
import { useEffect } from 'react'
import { useSubscription } from 'urql'
import { deploymentsChangedSubscription, notifyWatchers } from '../components/live-deployments.ts'

export function LiveUpdates() {
  const [{ data }] = useSubscription({ query: deploymentsChangedSubscription, variables: { after: null } })
  const change = data?.deploymentsChanged
  useEffect(() => {
    if (change) notifyWatchers(change)
  }, [change])
  return null
}
