/** The metrics of a deployment: what is measured and stored, and the series that the API makes of it. */

/**
 * Columns of `metric_chunks.measures`, in order: append only. Counts are of one sample. `streams` counts requests, event streams and
 * WebSockets that are open.
 */
export const MEASURES = [
  'requests_aborted',
  'requests_1xx',
  'requests_2xx',
  'requests_3xx',
  'requests_4xx',
  'requests_5xx',
  'bytes_received',
  'bytes_sent',
  'cpu_seconds',
  'restarts',
  'memory',
  'memory_limit',
  'replicas',
  'streams',
  'queue_backlog',
] as const
export type Measure = (typeof MEASURES)[number]

/** Values of a moment: a longer step has the highest of its samples. All other measures are added. */
export const GAUGES: readonly Measure[] = ['memory', 'memory_limit', 'replicas', 'streams', 'queue_backlog']

/** Seconds between two samples. */
export const SAMPLE_SECONDS = 10

/** What a revision of a deployment did in the SAMPLE_SECONDS after `start`. */
export interface MetricSample {
  deploymentId: string
  /** absent: the door of a cluster does not know it, so the server adds the revision that serves */
  revisionId?: string | undefined
  /** a multiple of SAMPLE_SECONDS */
  start: Date
  /** absent: not known */
  measures: Partial<Record<Measure, number>>
  /** pairs of a bucket (latency-histogram.ts) and its requests */
  latencies: [bucket: number, count: number][]
}

export const METRIC_UNITS = ['count', 'bytes', 'cores', 'seconds'] as const

interface MetricKind {
  unit: (typeof METRIC_UNITS)[number]
  description: string
}

/** The names of series. */
export const METRICS = {
  requests: { unit: 'count', description: 'Requests that ended in the step, and WebSockets that were opened.' },
  requests_2xx: { unit: 'count', description: 'Those that were answered with a status from 200 to 299.' },
  requests_3xx: { unit: 'count', description: 'Those that were answered with a status from 300 to 399.' },
  requests_4xx: { unit: 'count', description: 'Those that were answered with a status from 400 to 499.' },
  requests_aborted: { unit: 'count', description: 'Those whose client left before the answer.' },
  errors: { unit: 'count', description: 'Those that were answered with a status from 500, by the agent or for it.' },
  latency_p50: { unit: 'seconds', description: 'Half of the requests took at most this time, without event streams.' },
  latency_p95: { unit: 'seconds', description: '95 % of the requests took at most this time. It is right to 5 %.' },
  latency_p99: { unit: 'seconds', description: '99 % of the requests took at most this time.' },
  cpu: { unit: 'cores', description: 'Average CPU of all replicas: 1 is one core in use all the time.' },
  memory: { unit: 'bytes', description: 'Highest memory of all replicas together.' },
  memory_limit: { unit: 'bytes', description: 'The limit of that memory.' },
  restarts: { unit: 'count', description: 'Restarts of agents that had ended or were ended by a limit.' },
  replicas: { unit: 'count', description: 'Highest number of replicas that were ready.' },
  streams: { unit: 'count', description: 'Highest number of open requests, event streams and WebSockets.' },
  bytes_received: { unit: 'bytes', description: 'Bytes from clients, of requests and WebSockets that ended.' },
  bytes_sent: { unit: 'bytes', description: 'Bytes to clients, of requests and WebSockets that ended.' },
  queue_backlog: { unit: 'count', description: 'Highest number of runs that waited in the queue.' },
} as const satisfies Record<string, MetricKind>
export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as [MetricName, ...MetricName[]]
