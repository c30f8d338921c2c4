/**
 * Requests of the last hour of the visible rows: one query for all of them, and one SQL statement of the server. Rows that scroll
 * into view follow; all are read again after changes of deployments, and when the tab is shown again.
 */
import { createContext, useEffect, useRef, useState } from 'react'
import { useApi } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useDeploymentChanges } from '../../components/refresh.ts'

const trafficQuery = graphql(`
  query Traffic($ids: [ID!]!, $from: DateTime!) {
    nodes(ids: $ids) {
      ... on Deployment {
        id
        metrics(names: [requests, errors], from: $from, step: 300) {
          from
          to
          series {
            name
            points
          }
        }
      }
    }
  }
`)
type Node = NonNullable<ResultOf<typeof trafficQuery>['nodes'][number]>

const HOUR_MS = 3_600_000
const STEP_S = 300
/** Limit of `nodes`. */
const MAX_IDS = 100
/** Rows that scroll by quickly are not read. */
const SETTLE_MS = 150

export interface Traffic {
  /** average of the hour */
  perMinute: number
  /** share of the requests; null: there were none */
  errorRate: number | null
  /** requests a second in each 5 minutes, oldest first; null: not measured */
  steps: (number | null)[]
}

/** By deployment. One that was not measured in the last hour is null. */
type TrafficById = ReadonlyMap<string, Traffic | null>

export const TrafficContext = createContext<TrafficById>(new Map())

/** `ids`: of the visible rows */
export function useTraffic(ids: readonly string[]): TrafficById {
  const { uncached } = useApi()
  const [known, setKnown] = useState<TrafficById>(new Map())
  const shown = useRef(ids)
  shown.current = ids
  const read = async (wanted: readonly string[]) => {
    const asked = wanted.slice(0, MAX_IDS)
    if (asked.length === 0) return
    const from = new Date(Date.now() - HOUR_MS).toISOString()
    const { data } = await uncached.query(trafficQuery, { ids: asked, from }).toPromise()
    if (!data) return
    setKnown((before) => {
      const after = new Map(before)
      for (const node of data.nodes) if (node && 'metrics' in node) after.set(node.id, toTraffic(node))
      return after
    })
  }
  const latest = useRef(read)
  latest.current = read
  const missing = ids.filter((id) => !known.has(id))
  const key = missing.join()
  useEffect(() => {
    if (!key) return
    const timer = setTimeout(() => void latest.current(key.split(',')), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [key])
  useDeploymentChanges(
    () => latest.current(shown.current),
    () => true,
    { delayMs: 1_000, intervalMs: 30_000 },
  )
  useEffect(() => {
    const wake = () => document.visibilityState === 'visible' && void latest.current(shown.current)
    document.addEventListener('visibilitychange', wake)
    return () => document.removeEventListener('visibilitychange', wake)
  }, [])
  return known
}

function toTraffic({ metrics }: Extract<Node, { metrics: unknown }>): Traffic | null {
  if (metrics.series.length === 0) return null
  const [from, to] = [Date.parse(metrics.from) / 1000, Date.parse(metrics.to) / 1000]
  const steps = new Array<number | null>(Math.ceil((to - from) / STEP_S)).fill(null)
  const totals = { requests: 0, errors: 0 }
  for (const { name, points } of metrics.series)
    for (const [time, value] of points as [number, number][]) {
      if (name !== 'requests' && name !== 'errors') continue
      totals[name] += value
      const i = Math.floor((time - from) / STEP_S)
      if (name === 'requests' && i < steps.length)
        // the newest step is not over
        steps[i] = (steps[i] ?? 0) + value / Math.min(STEP_S, to - time)
    }
  const first = steps.findIndex((one) => one !== null)
  const minutes = Math.max((to - from - first * STEP_S) / 60, 1)
  return {
    perMinute: totals.requests / minutes,
    errorRate: totals.requests > 0 ? totals.errors / totals.requests : null,
    steps,
  }
}
