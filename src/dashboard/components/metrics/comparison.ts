/** Compares the hour before the newest rollout with the hour after it. Pure. */
import { bytes, latency, number, percent } from './format.ts'
import type { Mark } from './metrics-query.ts'

interface ComparedMetrics {
  /** in seconds */
  step: number
  series: readonly { name: string; revisionId: string; points: unknown }[]
}

export interface Change {
  what: string
  before: string
  after: string
  isWorse: boolean
}

/** Only values that are known before and after. */
export function compare(metrics: ComparedMetrics, newest: Mark): Change[] {
  const before = summarize(metrics, (revisionId, time) => revisionId !== newest.revisionId && time < newest.at)
  const after = summarize(
    metrics,
    (revisionId, time) => revisionId === newest.revisionId && time + metrics.step > newest.at,
  )
  return MEASURES.flatMap(({ what, of, format, isWorse }) => {
    const [then, now] = [of(before), of(after)]
    if (then === null || now === null) return []
    return [{ what, before: format(then), after: format(now), isWorse: isWorse(then, now) }]
  })
}

interface Summary {
  requests: number
  errors: number
  /** by requests; null: none ended */
  latency: number | null
  cpu: number | null
  memory: number | null
}

function summarize({ series }: ComparedMetrics, isIn: (revisionId: string, time: number) => boolean): Summary {
  const pointsOf = (wanted: string) =>
    series.flatMap(({ name, revisionId, points }) =>
      name === wanted
        ? (points as [number, number][])
            .filter(([time]) => isIn(revisionId, time))
            .map(([time, value]) => ({ key: `${revisionId} ${time}`, value }))
        : [],
    )
  const requests = pointsOf('requests')
  const weights = new Map(requests.map(({ key, value }) => [key, value]))
  const latencies = pointsOf('latency_p95').map(({ key, value }) => ({ value, weight: weights.get(key) ?? 1 }))
  const weight = sum(latencies.map((one) => one.weight))
  const cpu = pointsOf('cpu').map(({ value }) => value)
  const memory = pointsOf('memory').map(({ value }) => value)
  return {
    requests: sum(requests.map(({ value }) => value)),
    errors: sum(pointsOf('errors').map(({ value }) => value)),
    latency: weight > 0 ? sum(latencies.map((one) => one.value * one.weight)) / weight : null,
    cpu: cpu.length > 0 ? sum(cpu) / cpu.length : null,
    memory: memory.length > 0 ? Math.max(...memory) : null,
  }
}

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0)

const MEASURES: readonly {
  what: string
  of(summary: Summary): number | null
  format(value: number): string
  isWorse(before: number, after: number): boolean
}[] = [
  {
    what: 'errors',
    of: ({ requests, errors }) => (requests > 0 ? errors / requests : null),
    format: percent,
    isWorse: (before, after) => after >= 0.01 && after >= 2 * before,
  },
  {
    what: 'p95 latency',
    of: (summary) => summary.latency,
    format: latency,
    isWorse: (before, after) => after >= 1.3 * before,
  },
  { what: 'CPU', of: ({ cpu }) => cpu, format: (value) => `${number(value)} cores`, isWorse: grown },
  { what: 'highest memory', of: ({ memory }) => memory, format: bytes, isWorse: grown },
]

/** By more than what differs from hour to hour. */
function grown(before: number, after: number): boolean {
  return after >= 1.3 * before
}
