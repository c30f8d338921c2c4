/** Reads the hour before the newest rollout, and the hour after it. */
import { useEffect, useState } from 'react'
import { useApi } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { type Change, compare } from './comparison.ts'
import type { Mark } from './metrics-query.ts'

const comparisonQuery = graphql(`
  query RolloutComparison($id: ID!, $from: DateTime!, $to: DateTime!, $step: Int!) {
    deployment(id: $id) {
      id
      metrics(names: [requests, errors, latency_p95, cpu, memory], from: $from, to: $to, step: $step) {
        step
        series {
          name
          revisionId
          points
        }
      }
    }
  }
`)
const HOUR_S = 3600
/** Samples of a minute are kept for this time. */
const MINUTES_KEPT_S = 3 * 24 * HOUR_S

/** Empty: there is nothing to compare; null: not known yet. `news` changes with new samples, which count in the first hour. */
export function useComparison(id: string, newest: Mark | null, news: unknown): Change[] | null {
  const { uncached } = useApi()
  const [changes, setChanges] = useState<Change[] | null>(null)
  const isOver = newest !== null && Date.now() / 1000 > newest.at + HOUR_S
  const pace = isOver ? null : news
  // biome-ignore lint/correctness/useExhaustiveDependencies: `pace` stands for new samples
  useEffect(() => {
    if (newest === null) return
    let isLeft = false
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
    const step = Date.now() / 1000 - newest.at > MINUTES_KEPT_S - 2 * HOUR_S ? 600 : 60
    const variables = { id, from: iso(newest.at - HOUR_S), to: iso(newest.at + HOUR_S), step }
    void uncached
      .query(comparisonQuery, variables)
      .toPromise()
      .then(({ data }) => {
        if (!isLeft && data?.deployment) setChanges(compare(data.deployment.metrics, newest))
      })
    return () => {
      isLeft = true
    }
  }, [uncached, id, newest?.revisionId, newest?.at, pace])
  return newest ? changes : []
}
