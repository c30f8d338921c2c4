/** Follows the samples of deployments: how far they are known, and the newest of them as series. */
import type { Db } from '../transaction/context.ts'
import { METRIC_NAMES, SAMPLE_SECONDS } from '../values/metrics.ts'
import { ROW_SECONDS } from './chunks.ts'
import { type Metrics, seriesOf } from './series.ts'
import { type ChunkRow, chunkColumns, stepsOf } from './steps.ts'

/** Samples of other doors of a cluster may arrive this much later, in seconds: they are sent again with the next ones. */
const LATE_SECONDS = 60
/** A follower that was behind gets the samples of this time, in seconds. */
const MAX_BEHIND_SECONDS = 600

/** New samples of a deployment, and those of the minute before, which may be more complete now. */
export interface NewSamples extends Metrics {
  /** end of the newest sample: unix time in seconds */
  end: bigint
}

/** The end of the newest sample of each deployment, as unix time in seconds. Those without samples are left out. One statement. */
export async function newestSamples(db: Db, ids: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ id: string; end: bigint }[]>`
    SELECT deployment_id AS id, max(extract(epoch FROM start)::bigint + array_length(measures, 1) * ${SAMPLE_SECONDS}::int) AS end
    FROM metric_chunks
    WHERE deployment_id = ANY (${ids}::uuid[]) AND resolution = ${SAMPLE_SECONDS}::int
      AND start > now() - make_interval(secs => ${ROW_SECONDS[SAMPLE_SECONDS] + LATE_SECONDS}::int)
    GROUP BY 1`
  return new Map(rows.map(({ id, end }) => [id, end]))
}

/** Null: there are none that end after this unix time. One statement. Checks no tenant: pass only a deployment of the caller. */
export async function readNewSamples(db: Db, deploymentId: string, after: bigint): Promise<NewSamples | null> {
  const seconds = Number(after)
  const rows = await db.$queryRaw<ChunkRow[]>`
    SELECT ${chunkColumns()} FROM metric_chunks c
    WHERE deployment_id = ${deploymentId}::uuid AND resolution = ${SAMPLE_SECONDS}::int
      AND start > greatest(to_timestamp(${seconds}::int), now() - make_interval(secs => ${MAX_BEHIND_SECONDS}::int))
                  - make_interval(secs => ${ROW_SECONDS[SAMPLE_SECONDS] + LATE_SECONDS}::int)`
  const { revisions, end } = stepsOf(rows, {
    from: seconds - LATE_SECONDS,
    to: Number.POSITIVE_INFINITY,
    step: SAMPLE_SECONDS,
  })
  if (end === null || end <= seconds) return null
  const from = new Date(Math.max(seconds, end - MAX_BEHIND_SECONDS) * 1000 - LATE_SECONDS * 1000)
  const to = new Date(end * 1000)
  return { end: BigInt(end), from, to, step: SAMPLE_SECONDS, series: seriesOf(revisions, METRIC_NAMES) }
}
