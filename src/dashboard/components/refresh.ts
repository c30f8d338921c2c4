/** When pages read their data again: after events, after changes of a deployment, and at an interval. */
import { useEffect, useRef } from 'react'
import { useSubscription } from 'urql'
import { graphql, type VariablesOf } from '../api/graphql.ts'
import { type DeploymentsChange, watchDeployments } from './live-deployments.ts'

interface Pace {
  /** from a report to the call */
  delayMs: number
  /** from the end of a call to the next one; default: none */
  intervalMs?: number
}

/** The returned function runs `again` after a pause, once for all calls until then. A hidden tab waits until it is visible. */
export function useThrottled(
  again: () => unknown,
  { delayMs, intervalMs = 0 }: Pace,
): { readonly current: () => void } {
  const latest = useRef(again)
  latest.current = again
  const report = useRef(() => {})
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isDue = false
    let last = Number.NEGATIVE_INFINITY
    const run = async () => {
      timer = undefined
      if (!isDue || document.visibilityState === 'hidden') return
      isDue = false
      await latest.current()
      last = performance.now()
    }
    report.current = () => {
      isDue = true
      timer ??= setTimeout(() => void run(), Math.max(delayMs, last + intervalMs - performance.now()))
    }
    const wake = () => void run()
    document.addEventListener('visibilitychange', wake)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', wake)
    }
  }, [delayMs, intervalMs])
  return report
}

const eventsSubscription = graphql(`
  subscription ActivityNews($after: String, $types: [String!], $deploymentId: ID) {
    events(after: $after, types: $types, deploymentId: $deploymentId) {
      cursor
    }
  }
`)

const EVENTS_DELAY_MS = 1_000
const DEPLOYMENT_DELAY_MS = 250

/** Reloads a list at new events. `again`: null turns the subscription off. */
export function useNewEvents(
  { types, deploymentId }: Pick<VariablesOf<typeof eventsSubscription>, 'types' | 'deploymentId'>,
  again: (() => void) | null,
): void {
  const report = useThrottled(() => again?.(), { delayMs: EVENTS_DELAY_MS })
  const variables = { after: null, types, deploymentId }
  const [{ data }] = useSubscription({ query: eventsSubscription, variables, pause: again === null })
  const cursor = data?.events.cursor
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs at each event
  useEffect(() => {
    if (cursor !== undefined) report.current()
  }, [cursor])
}

/** Calls `again` after changes of deployments that `concerns` accepts. */
export function useDeploymentChanges(
  again: () => unknown,
  concerns: (change: DeploymentsChange) => boolean,
  pace: Pace,
): void {
  const report = useThrottled(again, pace)
  const latest = useRef(concerns)
  latest.current = concerns
  useEffect(() => watchDeployments((change) => latest.current(change) && report.current()), [report])
}

/** Reloads a page's data when its deployment changes. */
export const useDeploymentRefresh = (deploymentId: string, again: () => unknown): void =>
  useDeploymentChanges(
    again,
    ({ deploymentIds }) => deploymentIds.length === 0 || deploymentIds.includes(deploymentId),
    { delayMs: DEPLOYMENT_DELAY_MS },
  )

/** Reloads data that has no events at an interval, in visible tabs only. */
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

/**
 * Keeps the last value while it is read again. A write invalidates parts of the cache, and open pages and dialogs must
 * not vanish. `now`: the current value; null or undefined while it is not loaded.
 */
export function useLastValue<T extends { id: string }>(id: string, now: T | null | undefined): T | null {
  const kept = useRef<T | null>(null)
  if (now?.id === id) kept.current = now
  return kept.current?.id === id ? kept.current : null
}
