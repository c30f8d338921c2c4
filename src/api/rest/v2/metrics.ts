/** Series of a deployment: requests, latency, CPU, memory (docs/monitoring.md). */
import { readMetrics, readMetricsInput } from '../../../domain/metrics/read.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { metrics } from '../responses/metrics.ts'

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
