/** Series of a deployment over both transports (docs/monitoring.md). */
import { expect, test } from 'vitest'
import { recordMetrics } from '../../src/domain/metrics/record.ts'
import { bucketOf } from '../../src/domain/values/latency-histogram.ts'
import type { MetricSample } from '../../src/domain/values/metrics.ts'
import { useRestApp } from '../rest/support.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment } from '../support/factories.ts'
import { subscribe } from '../support/sse.ts'
import { type Api, overBoth } from './api.ts'

const app = useRestApp()
const SUBSCRIBE = `subscription ($deploymentId: ID!, $names: [MetricName!]) {
  deploymentMetrics(deploymentId: $deploymentId, names: $names) { step series { name points } } }`

/** The begin of a minute, some minutes ago. */
const minutesAgo = (minutes: number) => new Date(Math.floor(app.core.clock().getTime() / 60_000 - minutes) * 60_000)
const later = (start: Date, seconds: number) => new Date(start.getTime() + seconds * 1000)
const unix = (time: Date) => time.getTime() / 1000

interface Numbered {
  name: string
  points: [number, number][]
}

overBoth(app, (api: Api) => {
  async function sampled(start: Date, samples: Pick<MetricSample, 'measures' | 'latencies'>[], source = 1) {
    const { id, latest_revision_id: revisionId } = await gitDeployment(app)
    const add = (all: typeof samples, from: number) =>
      recordMetrics(
        app.core,
        { listenerId: null },
        {
          processNumber: from,
          samples: all.map((one, i) => ({ deploymentId: id, revisionId, start: later(start, i * 10), ...one })),
        },
      )
    await add(samples, source)
    return { id, revisionId, add }
  }
  const points = async (deployment_id: string, query: object) => {
    const { series } = await api.get('readMetrics', { deployment_id, ...query }, { key: app.keys.viewer })
    return Object.fromEntries(series.map((one: Numbered) => [one.name, one.points]))
  }

  test('add counts up to steps, and average the CPU', async () => {
    const start = minutesAgo(5)
    const measures = { requests_2xx: 9, requests_5xx: 1, cpu_seconds: 5, memory: 1e6 }
    const { id, revisionId } = await sampled(start, [
      ...Array.from({ length: 6 }, (_, i) => ({ measures: { ...measures, memory: (i + 1) * 1e6 }, latencies: [] })),
      { measures: { requests_2xx: 0, requests_5xx: 0 }, latencies: [] },
    ])
    const query = { names: ['requests', 'errors', 'cpu', 'memory'], from: start.toISOString(), step: 60 }
    const value = await api.get('readMetrics', { deployment_id: id, ...query })
    const unit = { revision_id: revisionId }
    expect(value).toEqual({
      from: start.toISOString(),
      to: later(start, 70).toISOString(),
      step: 60,
      series: [
        {
          ...unit,
          name: 'requests',
          unit: 'count',
          points: [
            [unix(start), 60],
            [unix(start) + 60, 0],
          ],
        },
        {
          ...unit,
          name: 'errors',
          unit: 'count',
          points: [
            [unix(start), 6],
            [unix(start) + 60, 0],
          ],
        },
        { ...unit, name: 'cpu', unit: 'cores', points: [[unix(start), 0.5]] },
        { ...unit, name: 'memory', unit: 'bytes', points: [[unix(start), 6_000_000]] },
      ],
    })
  })

  test('have percentiles that are right to 5 %, also of several processes', async () => {
    const start = minutesAgo(5)
    const seconds = Array.from({ length: 1000 }, (_, i) => 0.01 + i * 0.0005)
    const pairs = (from: number) => {
      const counts = new Map<number, number>()
      for (let i = from; i < 1000; i += 2)
        counts.set(bucketOf(seconds[i]!), (counts.get(bucketOf(seconds[i]!)) ?? 0) + 1)
      return [...counts]
    }
    const { id, add } = await sampled(start, [{ measures: { requests_2xx: 500 }, latencies: pairs(0) }])
    await add([{ measures: { requests_2xx: 500 }, latencies: pairs(1) }], 2)
    // a process that repeats a call
    await add([{ measures: { requests_2xx: 500 }, latencies: pairs(1) }], 2)
    const found = await points(id, { names: ['requests', 'latency_p50', 'latency_p95', 'latency_p99'] })
    expect(found.requests).toEqual([[unix(start), 1000]])
    for (const [name, expected] of [
      ['latency_p50', 0.26],
      ['latency_p95', 0.485],
      ['latency_p99', 0.505],
    ] as const)
      expect(Math.abs(found[name]![0]![1] / expected - 1)).toBeLessThan(0.05)
  })

  test('of a range are chosen steps of at most 400 points, and none where nothing was measured', async () => {
    const { id } = await gitDeployment(app)
    const stepOf = async (minutes: number) =>
      (await api.get('readMetrics', { deployment_id: id, from: minutesAgo(minutes).toISOString() })).step
    expect(await Promise.all([10, 60, 360, 1440, 10_080, 129_600].map(stepOf))).toEqual([10, 10, 60, 300, 1800, 21_600])
    expect(await points(id, {})).toEqual({})
  })

  test('refuse a wrong name, range and step', async () => {
    const { id: deployment_id } = await gitDeployment(app)
    const [from, to] = [minutesAgo(60).toISOString(), minutesAgo(30).toISOString()]
    await api.refuses('readMetrics', { deployment_id, names: ['load'] }, ['names.0 enum'])
    await api.refuses('readMetrics', { deployment_id, from: to, to: from }, ['from value_error'])
    await api.refuses('readMetrics', { deployment_id, from: minutesAgo(-5).toISOString() }, ['from value_error'])
    await api.refuses('readMetrics', { deployment_id, from, step: 15 }, ['step value_error'])
    await api.refuses('readMetrics', { deployment_id, step: 5 }, ['step greater_than_equal'])
    await api.refuses('readMetrics', { deployment_id, from: minutesAgo(600).toISOString(), step: 10 }, [
      'step value_error',
    ])
  })

  test('of another tenant’s deployment are not found, and nobody adds samples to it', async () => {
    const start = minutesAgo(5)
    const { id, revisionId } = await sampled(start, [{ measures: { restarts: 1 }, latencies: [] }])
    for (const key of [app.sibling.keys.admin, app.other.keys.admin])
      await api.fails('readMetrics', { deployment_id: id }, 'NOT_FOUND', { key })
    const request = {
      processNumber: 9,
      samples: [{ deploymentId: id, revisionId, start: later(start, 60), measures: { restarts: 1 }, latencies: [] }],
    }
    await recordMetrics(app.core, { listenerId: id }, request)
    expect(await points(id, {})).toEqual({ restarts: [[unix(start), 1]] })
  })
})

test('a subscription sends new samples with those of the minute before, read once for all subscribers', async () => {
  const { id: deploymentId, latest_revision_id: revisionId } = await gitDeployment(app)
  const variables = { deploymentId, names: ['requests'] }
  const start = new Date(Math.floor(app.core.clock().getTime() / 10_000 - 3) * 10_000)
  const add = (i: number) => {
    const sample = { deploymentId, revisionId, measures: { requests_2xx: i + 1, restarts: 1 }, latencies: [] }
    return recordMetrics(
      app.core,
      { listenerId: null },
      { processNumber: 1, samples: [{ ...sample, start: later(start, i * 10) }] },
    )
  }
  const streams = await Promise.all([1, 2].map(() => subscribe(app, SUBSCRIBE, variables)))
  const statements = await countStatements(
    app.app.database,
    async () => {
      await add(0)
      const points = [[unix(start), 1]]
      const first = { step: 10, series: [{ name: 'requests', points }] }
      for (const stream of streams) expect((await stream.next())?.data.data.deploymentMetrics).toEqual(first)
      await add(1)
      const second = [...points, [unix(start) + 10, 2]]
      for (const stream of streams)
        expect((await stream.next())?.data.data.deploymentMetrics.series[0].points).toEqual(second)
    },
    'all',
  )
  expect(statements.filter((sql) => sql.includes('start > greatest('))).toHaveLength(2)
  const refused = await subscribe(app, SUBSCRIBE, variables, { key: app.other.keys.admin })
  expect(JSON.stringify(await refused.next())).toContain('NOT_FOUND')
})

test('series of a list of deployments are one statement', async () => {
  const ids = await Promise.all([1, 2, 3].map(async () => (await gitDeployment(app)).id))
  const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Deployment { id metrics(names: [requests, errors]) { step } } } }`
  const statements = await countStatements(app.app.database, async () => {
    const { data } = await app.gql(query, { ids })
    expect(data.nodes).toEqual(ids.map((id) => ({ id, metrics: { step: 10 } })))
  })
  expect(statements.filter((sql) => sql.includes('metric_chunks'))).toHaveLength(1)
})
