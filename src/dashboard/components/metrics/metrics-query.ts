/** Reads the series of a deployment for its charts, and its rollouts. */
import { useCallback, useEffect, useRef, useState } from 'react'
import { useApi } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { type Problem, problemOf } from '../../api/problem.ts'
import { useDeploymentRefresh, useThrottled } from '../refresh.ts'
import { RANGES, type RangeName } from './ranges.ts'

const metricsQuery = graphql(`
  query DeploymentMetrics($id: ID!, $from: DateTime!) {
    deployment(id: $id) {
      id
      metrics(
        names: [requests, errors, latency_p50, latency_p95, latency_p99, cpu, memory, memory_limit, restarts]
        from: $from
      ) {
        from
        to
        step
        series {
          name
          revisionId
          points
        }
      }
      revisions(first: 100, status: [DEPLOYED]) {
        nodes {
          id
          number
          deployedAt
        }
      }
    }
  }
`)

const samplesSubscription = graphql(`
  subscription NewSamples($id: ID!) {
    deploymentMetrics(deploymentId: $id, names: [requests]) {
      to
    }
  }
`)

/** Points of a chart: a shorter time changes none of them. */
const POINTS = 400
const SAMPLE_MS = 10_000

type Read = NonNullable<ResultOf<typeof metricsQuery>['deployment']>
export type Metrics = Read['metrics']
export type Series = Metrics['series'][number]

/** A rollout that went live. */
export interface Mark {
  revisionId: string
  number: number
  /** unix time in seconds */
  at: number
}

export interface Measured {
  metrics: Metrics
  /** unix times in seconds: what the charts show */
  from: number
  until: number
  /** of the time shown, oldest first */
  marks: Mark[]
}

interface State {
  range: RangeName
  measured: Measured | null
  problem: Problem | null
}

/** Reads again at new samples, and when the range or the deployment changes. `refresh` reads now. */
export function useMetrics(id: string, range: RangeName) {
  const { uncached, subscribe } = useApi()
  const [state, setState] = useState<State>({ range, measured: null, problem: null })
  // of two concurrent reads the later one wins
  const turn = useRef(0)
  const refresh = useCallback(async () => {
    const own = ++turn.current
    const until = Date.now() / 1000
    const from = until - RANGES[range].seconds
    const { data, error } = await uncached
      .query(metricsQuery, { id, from: new Date(from * 1000).toISOString() })
      .toPromise()
    if (own !== turn.current) return
    const read = data?.deployment
    setState((before) =>
      read
        ? { range, measured: { metrics: read.metrics, from, until, marks: toMarks(read, from) }, problem: null }
        : { ...before, range, problem: error ? problemOf(error) : null },
    )
  }, [uncached, id, range])
  useEffect(() => void refresh(), [refresh])
  useDeploymentRefresh(id, refresh)
  const intervalMs = Math.max(SAMPLE_MS, (RANGES[range].seconds * 1000) / POINTS)
  const report = useThrottled(refresh, { delayMs: 0, intervalMs })
  useEffect(
    () => subscribe(samplesSubscription, { id }, { next: () => report.current(), failed: noop, end: noop }),
    [subscribe, report, id],
  )
  return { ...state, isOld: state.range !== range, refresh }
}

/** The charts stay as they are. The shell says when the connection is lost. */
const noop = () => undefined

const toMarks = ({ revisions }: Read, from: number): Mark[] =>
  revisions.nodes
    .flatMap(({ id, number, deployedAt }): Mark[] =>
      deployedAt ? [{ revisionId: id, number, at: Date.parse(deployedAt) / 1000 }] : [],
    )
    .filter(({ at }) => at >= from)
    .sort((a, b) => a.at - b.at)
