/** Reads series of deployments: which steps, from which rows, and the value of each step (docs/monitoring.md). */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError, rejectIfAny, type Violation } from '../errors/errors.ts'
import { checkOnly } from '../paging/statements.ts'
import { queryIntOrNone, queryList, queryTime } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireDeployment } from '../revisions/read.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { METRIC_NAMES, METRICS, type MetricName, SAMPLE_SECONDS } from '../values/metrics.ts'
import { deploymentPath } from '../values/shapes.ts'
import { type Resolution, ROW_SECONDS } from './chunks.ts'
import { type Metrics, seriesOf } from './series.ts'
import { type ChunkRow, chunkColumns, stepsOf } from './steps.ts'

const DEFAULT_RANGE_MS = 3_600_000
const MAX_POINTS = 1500
/** Without `step`, at most this number of points. */
const CHOSEN_POINTS = 400
/** Steps that are chosen, in seconds. */
const STEPS = [10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400] as const
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** Samples that arrive this much later, in seconds, may be missing in a roll-up. */
const LATE_SECONDS = 600

const seriesQuery = z.object({
  names: queryList(z.enum(METRIC_NAMES), `Which series. Default: all. ${namesDescription()}`),
  from: queryTime.describe('The begin of the first step. Default: an hour before `to`.'),
  to: queryTime.describe('The end of the range. Default: now.'),
  step: queryIntOrNone(SAMPLE_SECONDS, 30 * 86_400).describe(
    `Seconds between two points: a multiple of ${SAMPLE_SECONDS}, and at most ${MAX_POINTS} points. Default: chosen by the range.`,
  ),
})

export const readMetricsInput = z.object({ path: deploymentPath, query: seriesQuery })
const readManyInput = z.object({ query: seriesQuery })

function namesDescription(): string {
  return METRIC_NAMES.map((name) => `\`${name}\` (${METRICS[name].unit}): ${METRICS[name].description}`).join(' ')
}

/** Role: viewer. Throws ValidationError and NotFoundError. One statement. */
export async function readMetrics(ctx: ReadContext, raw: RawInput): Promise<Metrics> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readMetricsInput, raw)
  const found = await readWindow(ctx, [path.deployment_id], windowOf(ctx, query))
  const metrics = found.get(path.deployment_id)
  if (!metrics) throw new NotFoundError('Deployment', path.deployment_id)
  return metrics
}

/** The series of several deployments; those that the workspace does not have are left out. One statement. */
export async function readMetricsOfMany(
  ctx: ReadContext,
  ids: readonly string[],
  raw: RawInput,
): Promise<Map<string, Metrics>> {
  requireRole(ctx, 'viewer')
  return readWindow(ctx, ids, windowOf(ctx, parse(readManyInput, raw).query))
}

const followInput = z.object({ path: deploymentPath, query: seriesQuery.pick({ names: true }) })

/** Which series of which deployment a stream has. Role: viewer. Throws ValidationError and NotFoundError. */
export async function followMetrics(ctx: ReadContext, raw: RawInput) {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(followInput, raw)
  await requireDeployment(ctx, path.deployment_id)
  return { deploymentId: path.deployment_id, names: query.names ?? METRIC_NAMES }
}

interface Window {
  names: readonly MetricName[]
  from: Date
  to: Date
  /** in seconds */
  step: number
}

/** Throws ValidationError. */
function windowOf({ clock, settings }: ReadContext, { names, ...query }: z.output<typeof seriesQuery>): Window {
  const now = clock()
  const to = query.to && query.to < now ? query.to : now
  const from = query.from ?? new Date(to.getTime() - DEFAULT_RANGE_MS)
  const seconds = (to.getTime() - from.getTime()) / 1000
  const age = now.getTime() - from.getTime()
  const { fineHours, minuteDays } = settings.metrics
  const kept = age <= fineHours * HOUR_MS ? 10 : age <= minuteDays * DAY_MS ? 60 : 600
  const step = query.step ?? STEPS.find((each) => each >= kept && seconds / each <= CHOSEN_POINTS) ?? STEPS.at(-1)!
  rejectIfAny([
    ...(from >= to ? [invalid('from', 'Must be before `to` and in the past.')] : []),
    ...(step % SAMPLE_SECONDS !== 0 ? [invalid('step', `Must be a multiple of ${SAMPLE_SECONDS}.`)] : []),
    ...(seconds / step > MAX_POINTS ? [invalid(query.step ? 'step' : 'from', tooMany(seconds))] : []),
  ])
  const begin = Math.floor(from.getTime() / 1000 / step) * step
  return { names: names ? [...new Set(names)] : METRIC_NAMES, from: new Date(begin * 1000), to, step }
}

const tooMany = (seconds: number) =>
  `Gives more than ${MAX_POINTS} points: the step must be at least ${Math.ceil(seconds / MAX_POINTS)} for this range.`

const invalid = (name: string, msg: string): Violation => ({ loc: ['query', name], msg, type: 'value_error' })

const resolutionOf = (step: number): Resolution => (step % 600 === 0 ? 600 : step % 60 === 0 ? 60 : 10)

/** The rows that a window needs: those of its resolution, and finer ones of the time that is not rolled up to `coarser` yet. */
function sources({ from, step }: Window) {
  const resolution = resolutionOf(step)
  return ([600, 60, 10] as const)
    .filter((each) => each <= resolution)
    .map((each, i, all) => ({
      resolution: each,
      coarser: all[i - 1] ?? null,
      since: new Date(from.getTime() - ROW_SECONDS[each] * 1000).toISOString(),
    }))
}

type Found = { deploymentId: string } & (ChunkRow | { resolution: null })

async function readWindow(ctx: ReadContext, ids: readonly string[], window: Window): Promise<Map<string, Metrics>> {
  const from = sources(window)
  const needsLatencies = window.names.some((name) => name.startsWith('latency_'))
  const rows = await ctx.db.$queryRaw<Found[]>`
    SELECT d.id AS "deploymentId", found.*
    FROM deployments d
    LEFT JOIN (
      unnest(${from.map(({ resolution }) => resolution)}::int[], ${from.map(({ coarser }) => coarser)}::int[],
             ${from.map(({ since }) => since)}::text[]::timestamptz[]) AS s(resolution, coarser, since)
      LEFT JOIN metric_rollups r ON r.resolution = s.coarser
      CROSS JOIN LATERAL (
        SELECT c.deployment_id, ${chunkColumns(needsLatencies)} FROM metric_chunks c
        WHERE c.deployment_id = ANY (${ids}::uuid[]) AND c.resolution = s.resolution AND c.start < ${window.to}
          AND c.start >= greatest(s.since, r.until - make_interval(secs => ${LATE_SECONDS}::int))
      ) AS found
    ) ON found.deployment_id = d.id
    WHERE d.id = ANY (${ids}::uuid[]) AND ${checkOnly(Prisma.sql`d.workspace_id = ${ctx.workspace.id}::uuid`)} AND d.torn_down_at IS NULL`
  const byDeployment = new Map<string, ChunkRow[]>()
  for (const row of rows) {
    const known = byDeployment.get(row.deploymentId) ?? []
    byDeployment.set(row.deploymentId, known)
    if (row.resolution !== null) known.push(row)
  }
  return new Map([...byDeployment].map(([id, chunks]) => [id, metricsOf(window, chunks)]))
}

function metricsOf({ names, from, to, step }: Window, chunks: readonly ChunkRow[]): Metrics {
  const { revisions, end } = stepsOf(chunks, { from: from.getTime() / 1000, to: to.getTime() / 1000, step })
  return {
    from,
    to: end === null ? to : new Date(Math.min(to.getTime(), end * 1000)),
    step,
    series: seriesOf(revisions, names),
  }
}
