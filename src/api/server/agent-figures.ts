/** What the door counts: requests of agents, one series per deployment, and lost lines of its access log. */
import type { Metric, Registry } from 'prom-client'
import type { AgentFigures, DoorFigures } from '../../domain/values/door-figures.ts'

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

/** Null: there is no door here. */
export type ReadAgentFigures = () => Promise<DoorFigures | null>

export function registerAgentFigures(register: Registry, read: ReadAgentFigures): void {
  type Type = 'counter' | 'gauge' | 'histogram'
  const add = (type: Type, name: string, help: string, valuesOf: (figures: DoorFigures) => Value[]) => {
    const get = async () => {
      const figures = await read()
      return { name, help, type, values: figures ? valuesOf(figures) : [], aggregator: 'sum' }
    }
    // prom-client has no class for values that another process counts
    register.registerMetric({ name, get, reset: () => undefined } as unknown as Metric)
  }
  const metric = (
    type: Type,
    name: string,
    help: string,
    valuesOf: (figures: AgentFigures, name: string) => Value[],
  ) => {
    const full = `pilothouse_agent_${name}`
    add(type, full, help, ({ agents }) =>
      Object.entries(agents).flatMap(([deployment, figures]) =>
        valuesOf(figures, full).map((value) => ({ ...value, labels: { ...value.labels, deployment } })),
      ),
    )
  }
  metric('counter', 'requests_total', 'Requests to agents, by class of the status', ({ answers }) =>
    Object.entries(answers).map(([status, value]) => ({ labels: { status }, value })),
  )
  metric(
    'histogram',
    'request_duration_seconds',
    'Time from a request to the end of its answer, without streams',
    ({ durations, durationSum }, name) => [
      ...durations.map(({ le, count }) => ({
        metricName: `${name}_bucket`,
        labels: { le: le ?? '+Inf' },
        value: count,
      })),
      { metricName: `${name}_sum`, labels: {}, value: durationSum },
      { metricName: `${name}_count`, labels: {}, value: durations.at(-1)?.count ?? 0 },
    ],
  )
  metric('gauge', 'requests_open', 'Requests and streams that are open', ({ requestsOpen }) => [
    { labels: {}, value: requestsOpen },
  ])
  metric('gauge', 'websockets_open', 'WebSockets that are open', ({ webSocketsOpen }) => [
    { labels: {}, value: webSocketsOpen },
  ])
  metric('counter', 'bytes_total', 'Bytes of requests and WebSockets that have ended', ({ received, sent }) => [
    { labels: { direction: 'received' }, value: received },
    { labels: { direction: 'sent' }, value: sent },
  ])
  add(
    'counter',
    'pilothouse_access_log_dropped_total',
    'Lines of APPS_ACCESS_LOG that were not written, because requests were faster than the disk',
    ({ droppedLogLines }) => [{ labels: {}, value: droppedLogLines }],
  )
}
