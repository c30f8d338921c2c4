/** Rolls samples up to longer ones and removes old samples, by walks over all deployments. README.md describes the walk. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import type { ReadCore } from '../transaction/context.ts'
import { LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { GAUGES, MEASURES, type Measure } from '../values/metrics.ts'
import { ROW_SECONDS } from './chunks.ts'

/** A round continues in the next one. */
const ROUND_MS = 20_000
/** About 200 ms per statement if all have requests. */
const BATCH_DEPLOYMENTS = 50
/** Samples of an hour may arrive until this time after it. */
const LATE_MS = 180_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

interface RollUp {
  from: 10 | 60
  to: 60 | 600
  /** samples up to here are complete */
  target: Date
  /** older samples of `from` are removed */
  keepFrom: Date
  /** older samples of `to` are removed; null: another walk removes them */
  keepTo: Date | null
}

/** One round. Several servers may run it concurrently: a walk is done by one of them at a time. */
export async function rollUpMetrics(core: ReadCore, signal: AbortSignal): Promise<void> {
  const end = performance.now() + ROUND_MS
  for (const rollUp of await findDue(core)) {
    for (let more = true; more && !signal.aborted && performance.now() < end; ) more = await rollUpBatch(core, rollUp)
  }
}

async function findDue({ db, clock, settings }: ReadCore): Promise<RollUp[]> {
  const now = clock().getTime()
  const floor = (time: number, unit: number) => new Date(Math.floor(time / unit) * unit)
  // not the model's methods: they load Prisma's compiler
  const states = await db.$queryRaw<{ resolution: number; until: Date; target: Date | null }[]>`
    SELECT resolution, until, target FROM metric_rollups`
  const stateOf = (resolution: number) => states.find((state) => state.resolution === resolution)
  const [hours, days] = [stateOf(60), stateOf(600)]
  if (!hours || !days) {
    await db.$executeRaw`
      INSERT INTO metric_rollups (resolution, until) VALUES (60, ${floor(now, HOUR_MS)}), (600, ${floor(now, DAY_MS)})
      ON CONFLICT DO NOTHING`
    return []
  }
  const ago = (ms: number) => new Date(now - ms)
  const { fineHours, minuteDays, days: keptDays } = settings.metrics
  const all: RollUp[] = [
    { from: 10, to: 60, target: floor(now - LATE_MS, HOUR_MS), keepFrom: ago(fineHours * HOUR_MS), keepTo: null },
    {
      from: 60,
      to: 600,
      target: floor(hours.until.getTime(), DAY_MS),
      keepFrom: ago(minuteDays * DAY_MS),
      keepTo: ago(keptDays * DAY_MS),
    },
  ]
  return all.filter(({ to, target }) => {
    const { until, target: walk } = stateOf(to)!
    return walk !== null || until < target
  })
}

const eachMeasure = (sql: (name: Measure, position: number) => string) =>
  Prisma.raw(MEASURES.map((name, i) => sql(name, i + 1)).join(', '))
/** Of the samples of one time; samples of older servers have fewer measures. */
const sums = eachMeasure((name, position) => `sum(c.measures[n][${position}]) AS ${name}`)
/** Rows of these give a row of minutes all its minutes. */
const nulls = eachMeasure(() => 'NULL::real')
const combined = eachMeasure((name) => `${GAUGES.includes(name) ? 'max' : 'sum'}(${name})`)

/** Returns whether this walk has more deployments. False, too, while another server does a part of it. */
async function rollUpBatch({ db }: ReadCore, { from, to, target, keepFrom, keepTo }: RollUp): Promise<boolean> {
  const [fine, coarse, row] = [from, to, ROW_SECONDS[to]].map((seconds) => Prisma.raw(String(seconds)))
  const buckets = Prisma.raw(String(LATENCY_BUCKETS))
  const own = (condition: string) => Prisma.raw(`deployment_id = ANY (ARRAY(SELECT id FROM batch WHERE ${condition}))`)
  const [walk] = await db.$queryRaw<{ more: boolean }[]>`
    WITH turn AS MATERIALIZED (
      SELECT until, coalesce(target, ${target}) AS target, walked_to FROM metric_rollups r
      WHERE resolution = ${coarse} AND (target IS NOT NULL OR until < ${target}) ${toChangeOrSkip('r')}
    ), batch AS MATERIALIZED (
      SELECT d.id, d.torn_down_at IS NOT NULL AS gone, turn.until, turn.target
      FROM turn, LATERAL (
        SELECT id, torn_down_at FROM deployments WHERE turn.walked_to IS NULL OR id > turn.walked_to ORDER BY id LIMIT ${BATCH_DEPLOYMENTS}
      ) AS d
    ), chunks AS MATERIALIZED (
      SELECT c.deployment_id, c.revision_id, extract(epoch FROM c.start)::bigint AS start, c.measures,
             c.buckets, c.counts
      FROM batch b JOIN metric_chunks c ON c.deployment_id = b.id AND c.resolution = ${fine} AND c.start >= b.until AND c.start < b.target
      WHERE NOT b.gone
    ), fine AS MATERIALIZED (
      SELECT c.deployment_id, c.revision_id, c.start + (n - 1) * ${fine} AS time, ${sums}
      FROM chunks c CROSS JOIN LATERAL generate_series(1, array_length(c.measures, 1)) AS n GROUP BY 1, 2, 3
    ), complete AS (
      SELECT * FROM fine UNION ALL
      SELECT k.deployment_id, k.revision_id, k.start + i * ${coarse}, ${nulls}
      FROM (SELECT DISTINCT deployment_id, revision_id, time - time % ${row} AS start FROM fine) AS k
      CROSS JOIN generate_series(0, ${row} / ${coarse} - 1) AS i
    ), samples AS (
      SELECT deployment_id, revision_id, time - time % ${row} AS start, time % ${row} / ${coarse} AS i, ARRAY[${combined}]::real[] AS measures
      FROM complete GROUP BY 1, 2, 3, 4
    ), latencies AS MATERIALIZED (
      SELECT deployment_id, revision_id, start, array_agg(bucket ORDER BY bucket)::smallint[] AS buckets,
             array_agg(count ORDER BY bucket)::int[] AS counts
      FROM (
        SELECT c.deployment_id, c.revision_id, t.time - t.time % ${row} AS start,
               t.time % ${row} / ${coarse} * ${buckets} + u.bucket % ${buckets} AS bucket, sum(u.count) AS count
        FROM chunks c CROSS JOIN LATERAL unnest(c.buckets, c.counts) AS u(bucket, count)
        CROSS JOIN LATERAL (SELECT c.start + u.bucket / ${buckets} * ${fine} AS time) AS t
        GROUP BY 1, 2, 3, 4
      ) AS counted GROUP BY 1, 2, 3
    ), rows AS MATERIALIZED (
      SELECT deployment_id, revision_id, start, array_agg(measures ORDER BY i) AS measures FROM samples GROUP BY 1, 2, 3
    ), written AS (
      INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
      SELECT r.deployment_id, ${coarse}, to_timestamp(r.start), r.revision_id, 0, r.measures, l.buckets, l.counts
      FROM rows r LEFT JOIN latencies l USING (deployment_id, revision_id, start)
      ON CONFLICT DO NOTHING
    ), removed_fine AS (
      DELETE FROM metric_chunks WHERE ${own('NOT gone')} AND resolution = ${fine} AND start < least(${keepFrom}, (SELECT target FROM turn))
    ), removed_coarse AS (
      DELETE FROM metric_chunks WHERE ${own('NOT gone')} AND resolution = ${coarse} AND start < ${keepTo}
    ), removed_deployments AS (
      DELETE FROM metric_chunks WHERE ${own('gone')}
    ), size AS (
      SELECT count(*) = ${BATCH_DEPLOYMENTS} AS more, (SELECT id FROM batch ORDER BY id DESC LIMIT 1) AS last FROM batch
    )
    UPDATE metric_rollups r
    SET until = CASE WHEN size.more THEN r.until ELSE turn.target END,
        target = CASE WHEN size.more THEN turn.target END,
        walked_to = CASE WHEN size.more THEN size.last END
    FROM turn, size WHERE r.resolution = ${coarse} RETURNING size.more`
  return walk?.more ?? false
}
