/** Rows of `metric_chunks`: several samples of a revision in a row. README.md describes the format. */
import { Prisma } from '../../generated/prisma/client.ts'
import { LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { MEASURES, type MetricSample, SAMPLE_SECONDS } from '../values/metrics.ts'

/** The longest time that a row covers, in seconds, by the seconds of its samples. A row lies within an hour, or within a day. */
export const ROW_SECONDS = { 10: 60, 60: 3600, 600: 86_400 } as const
export type Resolution = keyof typeof ROW_SECONDS

export interface Chunk {
  deploymentId: string
  revisionId: string | undefined
  start: Date
  samples: MetricSample[]
}

/** Joins samples that follow each other, within an hour and ROW_SECONDS. */
export function chunksOf(samples: readonly MetricSample[]): Chunk[] {
  const sorted = [...samples].sort((a, b) => a.start.getTime() - b.start.getTime())
  const open = new Map<string, Chunk>()
  const chunks: Chunk[] = []
  for (const sample of sorted) {
    const { deploymentId, revisionId, start } = sample
    const key = `${deploymentId} ${revisionId}`
    const last = open.get(key)
    const next = last && last.start.getTime() + last.samples.length * SAMPLE_SECONDS * 1000
    const isFull = last && last.samples.length * SAMPLE_SECONDS >= ROW_SECONDS[SAMPLE_SECONDS]
    if (last && !isFull && next === start.getTime() && next % 3_600_000 !== 0) last.samples.push(sample)
    else {
      const chunk = { deploymentId, revisionId, start, samples: [sample] }
      open.set(key, chunk)
      chunks.push(chunk)
    }
  }
  return chunks
}

/** The chunks as columns of a row source: deployment, revision, start, measures, buckets, counts. */
export function chunkRowsSql(chunks: readonly Chunk[]): Prisma.Sql {
  const measures = chunks.map(({ samples }) => arrayText(samples.map(measuresText)))
  const latencies = chunks.map(({ samples }) =>
    samples.flatMap((sample, i) => sample.latencies.map(([bucket, count]) => [i * LATENCY_BUCKETS + bucket, count])),
  )
  const part = (at: 0 | 1) =>
    latencies.map((pairs) => (pairs.length > 0 ? arrayText(pairs.map((pair) => pair[at]!)) : null))
  return Prisma.sql`
    unnest(${chunks.map(({ deploymentId }) => deploymentId)}::uuid[], ${chunks.map(({ revisionId = null }) => revisionId)}::uuid[],
           ${chunks.map(({ start }) => start.toISOString())}::text[]::timestamptz[], ${measures}::text[], ${part(0)}::text[],
           ${part(1)}::text[]) AS c(deployment_id, revision_id, start, measures, buckets, counts)`
}

const arrayText = (items: readonly (number | string)[]) => `{${items.join(',')}}`

const measuresText = ({ measures }: MetricSample) => arrayText(MEASURES.map((name) => measures[name] ?? 'NULL'))
