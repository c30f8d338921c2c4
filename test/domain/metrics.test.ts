/** What becomes of samples with time (docs/monitoring.md#series). */
import { beforeEach, expect, test } from 'vitest'
import { readMetrics } from '../../src/domain/metrics/read.ts'
import { recordMetrics } from '../../src/domain/metrics/record.ts'
import { rollUpMetrics } from '../../src/domain/metrics/roll-up.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { bucketOf } from '../../src/domain/values/latency-histogram.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, useDomain } from '../support/domain.ts'

const domain = useDomain()
const HOUR_MS = 3_600_000
const floor = (time: number, unit = HOUR_MS) => new Date(Math.floor(time / unit) * unit)
let ctx: RequestContext
let deploymentId: string
let revisionId: string

beforeEach(async () => {
  ctx = await domain.tenant()
  deploymentId = await gitDeployment(ctx)
  const { latestRevisionId } = await ctx.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })
  revisionId = latestRevisionId!
  await ctx.db.metricChunk.deleteMany()
  await ctx.db.metricRollup.deleteMany()
})

const rollUp = () => rollUpMetrics(domain.core, new AbortController().signal)
const rows = async () => {
  const chunks = await ctx.db.metricChunk.groupBy({ by: ['resolution'], _count: true, orderBy: { resolution: 'asc' } })
  return Object.fromEntries(chunks.map(({ resolution, _count }) => [resolution, _count]))
}

/** Samples of half an hour: a request of 50 ms in each of two processes, and growing memory. Then they become older. */
async function sampled(start: Date): Promise<void> {
  const now = floor(Date.now(), 60_000).getTime() - HOUR_MS / 2
  for (const source of [1, 2]) {
    const samples = Array.from({ length: 180 }, (_, i) => ({
      deploymentId,
      revisionId,
      start: new Date(now + i * 10_000),
      measures: { requests_2xx: 1, cpu_seconds: 1, ...(source === 1 && { memory: i }) },
      latencies: [[bucketOf(0.05), 1]] as [number, number][],
    }))
    await recordMetrics(domain.core, { listenerId: null }, { processNumber: source, samples })
  }
  await ctx.db.$executeRaw`
    UPDATE metric_chunks SET start = start + make_interval(secs => ${(start.getTime() - now) / 1000}::float)
    WHERE start > now() - interval '1 hour'`
}

/** Nothing was rolled up since these times. */
const rolledUpTo = async (hours: Date, days: Date) => {
  await rollUp()
  for (const [resolution, until] of [
    [60, hours],
    [600, days],
  ] as const)
    await ctx.db.metricRollup.update({ where: { resolution }, data: { until } })
}

async function read(from: Date, step: number) {
  const query = { names: 'requests,cpu,memory,latency_p50', from: from.toISOString(), step: String(step) }
  const { series } = await readMetrics(ctx, { path: { deployment_id: deploymentId }, query })
  return Object.fromEntries(series.map(({ name, points }) => [name, points.map(([, value]) => value)]))
}

test('samples of 10 s become samples of a minute once, with several servers, and go after two hours', async () => {
  const start = floor(Date.now() - 4 * HOUR_MS)
  await sampled(start)
  await rolledUpTo(floor(Date.now() - 6 * HOUR_MS), floor(Date.now(), 24 * HOUR_MS))
  expect(await rows()).toEqual({ 10: 60 })
  await Promise.all([rollUp(), rollUp(), rollUp()])
  expect(await rows()).toEqual({ 60: 1 })
  const { requests, cpu, memory, latency_p50: median } = await read(start, 60)
  expect(requests).toEqual(new Array(30).fill(12))
  expect(cpu).toEqual(new Array(30).fill(0.2))
  expect(memory).toEqual(Array.from({ length: 30 }, (_, i) => i * 6 + 5))
  for (const value of median!) expect(Math.abs(value / 0.05 - 1)).toBeLessThan(0.05)
  expect(await countStatements(domain.database, rollUp, 'all')).toHaveLength(1)
})

test('samples of a minute become samples of 10 minutes, and a range of both is added up', async () => {
  const day = floor(Date.now() - 48 * HOUR_MS, 24 * HOUR_MS)
  const earlier = floor(day.getTime() - HOUR_MS)
  await sampled(earlier)
  await sampled(floor(Date.now() - 3 * HOUR_MS))
  await rolledUpTo(earlier, floor(earlier.getTime(), 24 * HOUR_MS))
  // hours first, then days
  await rollUp()
  await rollUp()
  expect((await rows())[600]).toBeGreaterThanOrEqual(1)
  const { requests, latency_p50: median } = await read(new Date(Date.now() - 80 * HOUR_MS), 600)
  expect(requests!.reduce((sum, count) => sum + count, 0)).toBe(720)
  expect(median).toHaveLength(requests!.length)
})

test('samples of a deleted deployment go, and old ones after 90 days', async () => {
  await sampled(floor(Date.now() - 4 * HOUR_MS))
  await ctx.db.$executeRaw`
    INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures)
    VALUES (${deploymentId}::uuid, 600, now() - interval '91 days', ${revisionId}::uuid, 0, '{{1}}')`
  const yesterday = floor(Date.now() - 24 * HOUR_MS, 24 * HOUR_MS)
  await rolledUpTo(floor(Date.now() - HOUR_MS), yesterday)
  await rollUp()
  expect((await rows())[600]).toBeUndefined()
  await ctx.db.deployment.update({
    where: { id: deploymentId },
    data: { tornDownAt: new Date(), deletedAt: new Date() },
  })
  await ctx.db.metricRollup.update({ where: { resolution: 60 }, data: { until: floor(Date.now() - 2 * HOUR_MS) } })
  await rollUp()
  expect(await rows()).toEqual({})
})
