/** Series of a deployment: requests, latency, CPU, memory (docs/monitoring.md). */
import { readMetricsOfMany } from '../../../domain/metrics/read.ts'
import type { Metrics, Series } from '../../../domain/metrics/series.ts'
import { streamMetrics } from '../../realtime/log-stream.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { MetricName, MetricUnit } from '../builder/enums.ts'

const MetricSeries = builder.objectRef<Series>('MetricSeries').implement({
  description: 'The values of one metric of one revision.',
  fields: (t) => ({
    name: t.expose('name', { type: MetricName }),
    unit: t.expose('unit', { type: MetricUnit }),
    revisionId: t.exposeID('revisionId'),
    points: t.field({
      type: t.listRef(t.listRef('Float')),
      description:
        'Pairs of the unix time in seconds at which a step begins, and its value. A step without a value has none.',
      resolve: ({ points }) => points,
    }),
  }),
})

const DeploymentMetrics = builder.objectRef<Metrics>('DeploymentMetrics').implement({
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'The begin of the first step.' }),
    to: t.expose('to', {
      type: 'DateTime',
      description:
        'The end of the newest sample, or of the range. The last step may end later: its counts are of the time until then.',
    }),
    step: t.exposeInt('step', { description: 'Seconds between two points.' }),
    series: t.expose('series', {
      type: [MetricSeries],
      description: 'A series for each name and revision that has values.',
    }),
  }),
})

const args = builder.args((t) => ({
  names: t.field({ type: [MetricName], description: 'Which series. Default: all.' }),
  from: t.field({ type: 'DateTime', description: 'The begin of the first step. Default: an hour before `to`.' }),
  to: t.field({ type: 'DateTime', description: 'The end of the range. Default: now.' }),
  step: t.int({
    description: 'Seconds between two points: a multiple of 10, and at most 1500 points. Default: chosen by the range.',
  }),
}))

builder.prismaObjectField('Deployment', 'metrics', (t) =>
  t.field({
    type: DeploymentMetrics,
    description:
      'Series of what the deployment did. A step has no value if it is shorter than the samples that are left of its time. A sleeping agent has no samples.',
    args,
    complexity: { field: 50 },
    resolve: async ({ id }, query, ctx) =>
      (await loadBatched(ctx, `metrics ${JSON.stringify(query)}`, id, (ids) =>
        readMetricsOfMany(ctx, ids, { query }),
      ))!,
  }),
)

builder.subscriptionField('deploymentMetrics', (t) =>
  t.field({
    type: DeploymentMetrics,
    description:
      'Sends the new samples of 10 s of a deployment, within 30 s (70 s of an agent without requests), with those of the minute before: a point that you have already replaces the earlier one. It begins with the next samples. Query `Deployment.metrics` for the time before, and again after an interruption.',
    args: {
      deploymentId: t.arg.id({ required: true }),
      names: t.arg({ type: [MetricName], description: 'Which series. Default: all.' }),
    },
    subscribe: (_root, { deploymentId, names }, ctx) =>
      streamMetrics(ctx, { path: { deployment_id: deploymentId }, query: { names } }, ctx.relay),
    resolve: (metrics) => metrics,
  }),
)
