/** Adds the samples of chunks up to steps, and makes the value of a series from a step. */
import { LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { GAUGES, MEASURES, type Measure } from '../values/metrics.ts'
import type { Resolution } from './chunks.ts'

/** A row of `metric_chunks`. Times are unix times in seconds. */
export interface ChunkRow {
  revisionId: string
  resolution: Resolution
  start: number
  measures: (number | null)[][]
  buckets: number[] | null
  counts: number[] | null
}

const isGauge = MEASURES.map((name) => GAUGES.includes(name))

/** Sums, or highest values, by measure; null: not known. */
export class Values {
  readonly measures = new Array<number | null>(MEASURES.length).fill(null)
  /** requests by bucket; null: none */
  latencies: Float64Array | null = null
  /** in which the CPU was measured */
  cpuSeconds = 0

  of = (name: Measure): number | null => this.measures[MEASURES.indexOf(name)]!

  /** `combine`: of two gauges. */
  add(measures: readonly (number | null)[], combine: (a: number, b: number) => number): void {
    measures.forEach((value, i) => {
      if (value === null || i >= MEASURES.length) return
      const before = this.measures[i]!
      this.measures[i] = before === null ? value : isGauge[i] ? combine(before, value) : before + value
    })
  }

  addLatency(bucket: number, count: number): void {
    this.latencies ??= new Float64Array(LATENCY_BUCKETS)
    this.latencies[bucket]! += count
  }
}

export interface Range {
  from: number
  to: number
  step: number
}

const plus = (a: number, b: number) => a + b

type Sample = { seconds: Resolution; values: Values }

/** By revision: its samples by their begin. Several processes may have measured a sample: the doors of a cluster. */
function samplesOf(chunks: readonly ChunkRow[], { from, to }: Range): Map<string, Map<number, Sample>> {
  const revisions = new Map<string, Map<number, Sample>>()
  // coarse ones first: what they cover is in finer rows, too
  const covered = new Set<string>()
  const sorted = [...chunks].sort((a, b) => b.resolution - a.resolution)
  for (const { revisionId, resolution, start, measures, buckets, counts } of sorted) {
    const samples = revisions.get(revisionId) ?? new Map<number, Sample>()
    revisions.set(revisionId, samples)
    const isCovered =
      (resolution < 600 && covered.has(`${revisionId} ${start - (start % 86_400)}`)) ||
      (resolution < 60 && covered.has(`${revisionId} ${start - (start % 3600)} hour`))
    if (isCovered) continue
    if (resolution === 600) covered.add(`${revisionId} ${start}`)
    if (resolution === 60) covered.add(`${revisionId} ${start} hour`)
    const at = (i: number): Sample | null => {
      const time = start + i * resolution
      if (time < from || time >= to) return null
      const known = samples.get(time)
      if (known) return known
      const made = { seconds: resolution, values: new Values() }
      samples.set(time, made)
      return made
    }
    for (const [i, values] of measures.entries()) at(i)?.values.add(values, plus)
    for (const [i, packed] of (buckets ?? []).entries())
      at(Math.floor(packed / LATENCY_BUCKETS))?.values.addLatency(packed % LATENCY_BUCKETS, counts![i]!)
  }
  return revisions
}

/** By revision: its steps by their begin, oldest first. `end`: of the newest sample; null: there is none. */
export function stepsOf(chunks: readonly ChunkRow[], range: Range) {
  let end: number | null = null
  const revisions = new Map<string, Map<number, Values>>()
  for (const [revisionId, samples] of samplesOf(chunks, range)) {
    const steps = new Map<number, Values>()
    for (const [time, { seconds, values }] of [...samples].sort(([a], [b]) => a - b)) {
      end = Math.max(end ?? 0, time + seconds)
      const begin = time - (time % range.step)
      const step = steps.get(begin) ?? new Values()
      steps.set(begin, step)
      step.add(values.measures, Math.max)
      if (values.of('cpu_seconds') !== null) step.cpuSeconds += seconds
      values.latencies?.forEach((count, bucket) => {
        if (count > 0) step.addLatency(bucket, count)
      })
    }
    if (steps.size > 0) revisions.set(revisionId, steps)
  }
  return { revisions, end }
}
