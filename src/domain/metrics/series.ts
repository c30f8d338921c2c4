/** Makes series from the steps of revisions. */
import { percentileOf } from '../values/latency-histogram.ts'
import { MEASURES, type METRIC_UNITS, METRICS, type Measure, type MetricName } from '../values/metrics.ts'
import type { Values } from './steps.ts'

/** A value for each step that has one, oldest first: the unix time in seconds at which the step begins, and the value. */
type Point = [time: number, value: number]

export interface Series {
  name: MetricName
  unit: (typeof METRIC_UNITS)[number]
  revisionId: string
  points: Point[]
}

export interface Metrics {
  from: Date
  /** end of the newest sample, or of the range if that is earlier */
  to: Date
  /** in seconds */
  step: number
  series: Series[]
}

/** By revision: its steps by their begin, oldest first. */
export function seriesOf(
  revisions: ReadonlyMap<string, ReadonlyMap<number, Values>>,
  names: readonly MetricName[],
): Series[] {
  return [...revisions].flatMap(([revisionId, steps]) =>
    names.flatMap((name): Series[] => {
      const points = [...steps].flatMap(([time, values]): Point[] => {
        const value = seriesValue(name, values)
        return value === null ? [] : [[time, value]]
      })
      return points.length > 0 ? [{ name, unit: METRICS[name].unit, revisionId, points }] : []
    }),
  )
}

const REQUESTS = MEASURES.filter((name) => name.startsWith('requests_'))
const SHARES: Partial<Record<MetricName, number>> = { latency_p50: 0.5, latency_p95: 0.95, latency_p99: 0.99 }

/** Null: the step has no value, because nothing was measured, or no request has ended. */
function seriesValue(name: MetricName, values: Values): number | null {
  const share = SHARES[name]
  if (share !== undefined) return values.latencies && rounded(percentileOf(values.latencies, share))
  if (name === 'requests') return values.of('requests_2xx') === null ? null : sum(REQUESTS.map(values.of))
  if (name === 'errors') return values.of('requests_5xx')
  if (name !== 'cpu') return values.of(name as Measure)
  const used = values.of('cpu_seconds')
  return used === null ? null : rounded(used / values.cpuSeconds)
}

const sum = (numbers: readonly (number | null)[]) => numbers.reduce<number>((all, one) => all + (one ?? 0), 0)

/** To microseconds, or millionths of a core. */
const rounded = (value: number) => Math.round(value * 1e6) / 1e6
