/** Follows what changes of the workspace's deployments, for all pages at once (components/live.ts). */
import { useEffect } from 'react'
import { useSubscription } from 'urql'
import { deploymentsChanged, deploymentsHaveChanged } from '../components/live.ts'

export function Live() {
  const [{ data }] = useSubscription({ query: deploymentsChanged, variables: { after: null } })
  const change = data?.deploymentsChanged
  useEffect(() => {
    if (change) deploymentsHaveChanged(change)
  }, [change])
  return null
}
