/** Joins the series of all revisions to one column for each line of a chart, with a place for each step. Pure. */
import type { Metrics, Series } from './metrics-query.ts'

/** Values of a step. Counts are for each minute, latencies in seconds, memory in bytes, `cpu` in cores. */
const COLUMNS = [
  'requests',
  'errors',
  'latency_p50',
  'latency_p95',
  'latency_p99',
  'cpu',
  'memory',
  'memory_limit',
  'restarts',
] as const
export type Column = (typeof COLUMNS)[number]

export interface Steps {
  /** begins of the steps: unix times in seconds */
  times: number[]
  /** in seconds */
  step: number
  /** null: the step has no value */
  values: Record<Column, (number | null)[]>
  /** of the whole time */
  totals: { requests: number; errors: number; restarts: number }
}

const COUNTS: readonly string[] = ['requests', 'errors', 'restarts']
const RATES: readonly string[] = ['requests', 'errors']

/** `until`: the end of the time shown, in unix seconds. */
export function toSteps({ from, to, step, series }: Metrics, until: number): Steps {
  const begin = Date.parse(from) / 1000
  const times: number[] = []
  for (let time = begin; time < until; time += step) times.push(time)
  const indexOf = (time: number) => Math.round((time - begin) / step)
  const end = Date.parse(to) / 1000
  const column = (name: Column): (number | null)[] => {
    const values = joinRevisions(series, name, times.length, indexOf)
    if (!RATES.includes(name)) return values
    // the newest step is not over
    return values.map((value, i) => value && (value * 60) / Math.min(step, Math.max(end - times[i]!, 1)))
  }
  const total = (name: Column) => sum(series.filter((one) => one.name === name).flatMap(({ points }) => points))
  return {
    times,
    step,
    values: Object.fromEntries(COLUMNS.map((name) => [name, column(name)])) as Steps['values'],
    totals: { requests: total('requests'), errors: total('errors'), restarts: total('restarts') },
  }
}

/** During a rollout two revisions have values: counts are added, otherwise the higher value stays. */
function joinRevisions(series: Series[], name: Column, length: number, indexOf: (time: number) => number) {
  const values = new Array<number | null>(length).fill(null)
  for (const one of series) {
    if (one.name !== name) continue
    for (const [time, value] of one.points as [number, number][]) {
      const i = indexOf(time)
      if (i < 0 || i >= length) continue
      const before = values[i]!
      values[i] = before === null ? value : COUNTS.includes(name) ? before + value : Math.max(before, value)
    }
  }
  return values
}

const sum = (points: number[][]) => points.reduce((all, [, value]) => all + value!, 0)

/** Index of the newest step with a value; -1: there is none. */
export const lastIndex = (values: readonly (number | null)[]): number => values.findLastIndex((one) => one !== null)

/** Index of the highest value; -1: there is none. */
export const highestIndex = (values: readonly (number | null)[]): number =>
  values.reduce<number>((best, one, i) => (one !== null && (best < 0 || one > values[best]!) ? i : best), -1)
