/** Series of a deployment: requests, latency, CPU, memory (docs/monitoring.md). */

import { z } from 'zod'
import { readMetrics, readMetricsInput } from '../../../domain/metrics/read.ts'
import { METRIC_NAMES, METRIC_UNITS } from '../../../domain/values/metrics.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { responseSchema, time } from '../responses/response-schema.ts'

const point = z.tuple([z.number(), z.number()])

const series = responseSchema(
  { id: 'MetricSeries' },
  {
    name: z.enum(METRIC_NAMES),
    unit: z.enum(METRIC_UNITS),
    revision_id: z.uuid(),
    points: z
      .array(point)
      .describe(
        'Pairs of the unix time in seconds at which a step begins, and its value. A step without a value has none.',
      ),
  },
)

/** Series of a deployment in REST. */
const metrics = responseSchema(
  { id: 'DeploymentMetrics' },
  {
    from: time.describe('The begin of the first step.'),
    to: time.describe(
      'The end of the newest sample, or of the range. The last step may end later: its counts are of the time until then.',
    ),
    step: z.int().describe('Seconds between two points.'),
    series: z.array(series).describe('A series for each name and revision that has values.'),
  },
)

export const deploymentMetrics: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/metrics',
    operationId: 'readMetrics',
    summary: 'Read the metrics of a deployment',
    description:
      'Each series is of one revision. Samples of 10 s are kept for hours, of a minute for days and of 10 minutes for months, so a step has no value if it is shorter than the samples that are left of its time. A sleeping agent has no samples.',
    tag: 'Deployments',
    input: readMetricsInput,
    ...singleResponse(200, 'The series.', metrics, readMetrics),
    errors: [404],
  }),
]
