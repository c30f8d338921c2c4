/** Series of a deployment in REST. */
import { z } from 'zod'
import { METRIC_NAMES, METRIC_UNITS } from '../../../domain/values/metrics.ts'
import { responseSchema, time } from './response-schema.ts'

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

export const metrics = responseSchema(
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
