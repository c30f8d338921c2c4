/** When alerts fire and resolve (docs/alerts.md): once with several servers, each with an event. */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { evaluateAlerts } from '../../src/domain/alerts/evaluate.ts'
import { createRule, deleteRule, updateRule } from '../../src/domain/alerts/manage.ts'
import type { AlertKind } from '../../src/domain/alerts/rule.ts'
import { recordMetrics } from '../../src/domain/metrics/record.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { countRestarts } from '../../src/domain/values/agent-restart.ts'
import { bucketOf } from '../../src/domain/values/latency-histogram.ts'
import type { MetricSample } from '../../src/domain/values/metrics.ts'
import type { RevisionStatus } from '../../src/generated/prisma/enums.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, useDomain } from '../support/domain.ts'

const domain = useDomain()
let ctx: RequestContext
let id: string
let revisionId: string

beforeEach(async () => {
  await domain.core.db.alertRule.deleteMany()
  ctx = await domain.tenant()
  id = await gitDeployment(ctx)
  revisionId = (await ctx.db.deployment.findUniqueOrThrow({ where: { id } })).latestRevisionId!
})

const rule = (kind: AlertKind, more: object = {}) => createRule(ctx, { body: { name: 'watch', kind, ...more } })
/** A round of two servers. */
const evaluate = () => Promise.all([evaluateAlerts(domain.core), evaluateAlerts(domain.core)])
/** The events of alerts so far. */
async function told() {
  await evaluate()
  const { id: workspaceId } = ctx.workspace
  const where = { workspaceId, type: { startsWith: 'alert.' } }
  const events = await ctx.db.event.findMany({ where, orderBy: { sequence: 'asc' } })
  return events.map(({ type, message }) => `${type} ${message}`)
}
const become = (status: RevisionStatus) => ctx.db.revision.update({ where: { id: revisionId }, data: { status } })
const minutesPass = (minutes: number) =>
  ctx.db.$executeRaw`UPDATE alerts SET created_at = created_at - make_interval(mins => ${minutes}::int)`

const SERVES = { ready: 1, desired: 1, message: null, observedAt: new Date(0).toISOString() }
const serve = (ready: number, health: object = {}) =>
  ctx.db.deployment.update({
    where: { id },
    data: {
      activeRevisionId: revisionId,
      claimId: randomUUID(),
      leaseHolder: 'test',
      leaseExpiresAt: new Date(Date.now() + 600_000),
      health: { ...SERVES, ready, ...health },
    },
  })

/** Samples of the last `minutes`. */
async function measured(minutes: number, sample: Partial<Pick<MetricSample, 'measures' | 'latencies'>>) {
  await ctx.db.metricChunk.deleteMany({ where: { deploymentId: id } })
  const last = Math.floor(Date.now() / 10_000) * 10_000 - 10_000
  const samples = Array.from({ length: minutes * 6 }, (_, i) => ({
    ...{ deploymentId: id, revisionId, start: new Date(last - i * 10_000), measures: {}, latencies: [] },
    ...sample,
  }))
  await recordMetrics(domain.core, { listenerId: null }, { processNumber: 1, samples })
}

test('a failed rollout alerts immediately and once, and resolves with the next one that is deployed', async () => {
  await rule('rollout_failed')
  await become('BUILDING')
  expect(await told()).toEqual([])
  await become('BUILD_FAILED')
  const fired = 'alert.fired watch: the newest rollout failed'
  expect(await told()).toEqual([fired])
  // during the next rollout it stays open
  await become('QUEUED')
  expect(await told()).toEqual([fired])
  await become('DEPLOYED')
  expect(await told()).toEqual([fired, 'alert.resolved watch: a rollout was deployed'])
  expect(await told()).toHaveLength(2)
})

test('a deployment that stops serving alerts after the minutes of the rule', async () => {
  await rule('not_serving', { minutes: 10 })
  // it was never deployed
  expect(await told()).toEqual([])
  await serve(1)
  expect(await told()).toEqual([])
  await serve(0)
  expect(await told()).toEqual([])
  await serve(1)
  await minutesPass(11)
  expect(await told()).toEqual([])
  await serve(0)
  await evaluate()
  await minutesPass(11)
  const fired = 'alert.fired watch: it has not served for 10 min'
  expect(await told()).toEqual([fired])
  await serve(1)
  expect(await told()).toEqual([fired, 'alert.resolved watch: it serves again'])
})

test('restarts alert when there are enough in the minutes of the rule, each counted once', async () => {
  await rule('restarts', { threshold: 3, minutes: 10 })
  const restarted = async (...minutesAgo: number[]) => {
    const reports = minutesAgo.map((minutes) => ({
      ...{ id: randomUUID(), revisionId, reason: 'CRASHED' as const, exitCode: 1, signal: null, message: 'exited' },
      at: new Date(Date.now() - minutes * 60_000).toISOString(),
    }))
    const { restarts } = countRestarts(null, [...reports, ...reports], new Date())
    await ctx.db.deployment.update({ where: { id }, data: { restarts: restarts as object } })
  }
  expect(await told()).toEqual([])
  await restarted(11, 0.2, 0.1)
  expect(await told()).toEqual([])
  await restarted(11, 0.3, 0.2, 0.1)
  expect(await told()).toEqual(['alert.fired watch: 3 restarts in 10 min'])
  await restarted(12, 11, 0.1)
  expect((await told())[1]).toMatch(/^alert.resolved watch: /)
})

test('a stalled queue alerts immediately, and resolves when the worker no longer reports it', async () => {
  await rule('queue_stalled')
  await serve(1)
  expect(await told()).toEqual([])
  await serve(1, { reason: 'QUEUE_STALLED', message: 'Runs wait' })
  const fired = 'alert.fired watch: runs wait in its queue, and none is completed'
  expect(await told()).toEqual([fired])
  await serve(1)
  expect(await told()).toEqual([fired, 'alert.resolved watch: its queue completes runs, or none wait'])
})

test.each<[AlertKind, object, Partial<MetricSample>, Partial<MetricSample>, string]>([
  [
    'error_rate',
    { threshold: 2 },
    { measures: { requests_2xx: 96, requests_5xx: 4 } },
    { measures: { requests_2xx: 99, requests_5xx: 1 } },
    '4 % of the requests failed in 5 min; the limit is 2 %',
  ],
  [
    'latency_p95',
    { threshold: 1 },
    {
      latencies: [
        [bucketOf(0.1), 9],
        [bucketOf(2), 1],
      ],
    },
    {
      latencies: [
        [bucketOf(0.1), 99],
        [bucketOf(2), 1],
      ],
    },
    '10 % of the requests took longer than 1 s in 5 min',
  ],
  [
    'memory',
    {},
    { measures: { memory: 95, memory_limit: 100 } },
    { measures: { memory: 80, memory_limit: 100 } },
    'its memory is above 95 % of its limit; the threshold is 90 %',
  ],
])('%s alerts above its threshold and resolves below it', async (kind, more, bad, good, message) => {
  await rule(kind, more)
  expect(await told()).toEqual([])
  await measured(6, good)
  expect(await told()).toEqual([])
  await measured(6, bad)
  const [fired] = await told()
  expect(fired).toBe(`alert.fired watch: ${message}`)
  await measured(6, good)
  expect((await told())[1]).toMatch(/^alert.resolved watch: /)
})

test('a few requests say nothing about a rate', async () => {
  await rule('error_rate')
  await rule('latency_p95')
  await ctx.db.metricChunk.deleteMany({ where: { deploymentId: id } })
  const start = new Date(Math.floor(Date.now() / 10_000) * 10_000 - 10_000)
  const sample = { deploymentId: id, revisionId, start, measures: { requests_5xx: 9 } }
  const latencies: [number, number][] = [[bucketOf(60), 9]]
  await recordMetrics(domain.core, { listenerId: null }, { processNumber: 1, samples: [{ ...sample, latencies }] })
  expect(await told()).toEqual([])
})

test('a rule of one deployment, and rules of other workspaces, alert about no other deployment', async () => {
  const other = await gitDeployment(ctx)
  await rule('rollout_failed', { deployment_id: other })
  const stranger = await domain.tenant()
  await createRule(stranger, { body: { name: 'theirs', kind: 'rollout_failed' } })
  await become('BUILD_FAILED')
  expect(await told()).toEqual([])
  expect(await ctx.db.alert.count()).toBe(0)
})

test('a disabled or deleted rule resolves its alerts', async () => {
  const [one, two] = [await rule('rollout_failed'), await rule('rollout_failed')]
  await become('BUILD_FAILED')
  expect(await told()).toHaveLength(2)
  await updateRule(ctx, { path: { alert_rule_id: one.id }, body: { enabled: false } })
  expect((await told()).slice(2)).toEqual(['alert.resolved watch: the rule was disabled, or the deployment deleted'])
  await deleteRule(ctx, { path: { alert_rule_id: two.id } })
  expect((await told()).slice(3)).toEqual(['alert.resolved watch: the rule was deleted'])
})

test('a round without rules is one statement', async () => {
  expect(await countStatements(domain.database, () => evaluateAlerts(domain.core), 'all')).toHaveLength(1)
})
