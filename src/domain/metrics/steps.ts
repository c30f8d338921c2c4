/** Adds the samples of chunks up to steps, and makes the value of a series from a step. */
import { Prisma } from '../../generated/prisma/client.ts'
import { LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { GAUGES, MEASURES, type Measure } from '../values/metrics.ts'
import type { Resolution } from './chunks.ts'

/** The columns of a ChunkRow in `metric_chunks` c. Arrays are texts: Postgres needs 40 % more time to make JSON of them. */
export const chunkColumns = (withLatencies = true) => Prisma.sql`
  c.revision_id AS "revisionId", c.resolution::int, extract(epoch FROM c.start)::int AS start, c.measures::text AS measures,
  ${withLatencies ? Prisma.sql`c.buckets::text AS buckets, c.counts::text AS counts` : Prisma.sql`NULL AS buckets, NULL AS counts`}`

/** A row of `metric_chunks`. Times are unix times in seconds, arrays texts of Postgres. */
export interface ChunkRow {
  revisionId: string
  resolution: Resolution
  start: number
  measures: string
  buckets: string | null
  counts: string | null
}

const measuresIn = (array: string): Measures[] =>
  JSON.parse(array.replaceAll('{', '[').replaceAll('}', ']').replaceAll('NULL', 'null'))
const numbersIn = (array: string | null): number[] => JSON.parse(`[${array?.slice(1, -1) ?? ''}]`)

/** By position in MEASURES; null: not known. Samples of older servers have fewer. */
type Measures = (number | null)[]

const CPU = MEASURES.indexOf('cpu_seconds')
const isGauge = MEASURES.map((name) => GAUGES.includes(name))

/** Adds counts. `combine`: of two gauges. */
function sum(first: Measures, second: Measures, combine: (a: number, b: number) => number): Measures {
  return MEASURES.map((_, i) => {
    const [a, b] = [first[i] ?? null, second[i] ?? null]
    return a === null || b === null ? (a ?? b) : isGauge[i] ? combine(a, b) : a + b
  })
}

/** Sums, or highest values, of a step. */
export class Values {
  measures: Measures = []
  /** requests by bucket; null: none */
  latencies: Float64Array | null = null
  /** in which the CPU was measured */
  cpuSeconds = 0

  of = (name: Measure): number | null => this.measures[MEASURES.indexOf(name)] ?? null
}

export interface Range {
  from: number
  to: number
  step: number
}

const plus = (a: number, b: number) => a + b

/** The samples of a revision. Several processes may have measured one: the doors of a cluster. */
class Measured {
  readonly samples = new Map<number, { seconds: Resolution; measures: Measures }>()
  /** by the begin of a step */
  readonly latencies = new Map<number, Float64Array>()

  add({ resolution, start, ...texts }: ChunkRow, { from, to, step }: Range): void {
    const isAsked = (time: number) => time >= from && time < to
    for (const [i, measures] of measuresIn(texts.measures).entries()) {
      const time = start + i * resolution
      const known = this.samples.get(time)?.measures
      if (isAsked(time))
        this.samples.set(time, { seconds: resolution, measures: known ? sum(known, measures, plus) : measures })
    }
    const counts = numbersIn(texts.counts)
    for (const [i, packed] of numbersIn(texts.buckets).entries()) {
      const time = start + Math.floor(packed / LATENCY_BUCKETS) * resolution
      if (!isAsked(time)) continue
      const begin = time - (time % step)
      const latencies = this.latencies.get(begin) ?? new Float64Array(LATENCY_BUCKETS)
      this.latencies.set(begin, latencies)
      latencies[packed % LATENCY_BUCKETS]! += counts[i]!
    }
  }
}

function measuredOf(chunks: readonly ChunkRow[], range: Range): Map<string, Measured> {
  const revisions = new Map<string, Measured>()
  // coarse ones first: what they cover is in finer rows, too
  const covered = new Set<string>()
  const sorted = [...chunks].sort((a, b) => b.resolution - a.resolution)
  for (const chunk of sorted) {
    const { revisionId, resolution, start } = chunk
    const isCovered =
      (resolution < 600 && covered.has(`${revisionId} ${start - (start % 86_400)}`)) ||
      (resolution < 60 && covered.has(`${revisionId} ${start - (start % 3600)} hour`))
    if (isCovered) continue
    if (resolution === 600) covered.add(`${revisionId} ${start}`)
    if (resolution === 60) covered.add(`${revisionId} ${start} hour`)
    const measured = revisions.get(revisionId) ?? new Measured()
    revisions.set(revisionId, measured)
    measured.add(chunk, range)
  }
  return revisions
}

/** By revision: its steps by their begin, oldest first. `end`: of the newest sample; null: there is none. */
export function stepsOf(chunks: readonly ChunkRow[], range: Range) {
  let end: number | null = null
  const revisions = new Map<string, Map<number, Values>>()
  for (const [revisionId, { samples, latencies }] of measuredOf(chunks, range)) {
    const steps = new Map<number, Values>()
    for (const [time, { seconds, measures }] of [...samples].sort(([a], [b]) => a - b)) {
      end = Math.max(end ?? 0, time + seconds)
      const begin = time - (time % range.step)
      const step = steps.get(begin) ?? new Values()
      steps.set(begin, step)
      step.latencies = latencies.get(begin) ?? null
      step.measures = sum(step.measures, measures, Math.max)
      if (measures[CPU] != null) step.cpuSeconds += seconds
    }
    if (steps.size > 0) revisions.set(revisionId, steps)
  }
  return { revisions, end }
}
