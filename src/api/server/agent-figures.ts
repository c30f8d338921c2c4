/** Requests of agents as the door counts them, one series per deployment. */
import type { Metric, Registry } from 'prom-client'

interface AgentFigures {
  /** by class of the status, like `2xx`; `none`: the client left before the answer */
  answers: Record<string, number>
  /** requests that took at most `le` seconds; null: no limit */
  durations: { le: number | null; count: number }[]
  durationSum: number
  requestsOpen: number
  webSocketsOpen: number
  /** bytes from and to clients */
  received: number
  sent: number
}

interface Value {
  labels: Record<string, string | number>
  value: number
  metricName?: string
}

/** By deployment; null: there is no door here. */
export type ReadAgentFigures = () => Promise<Record<string, AgentFigures> | null>

export function registerAgentFigures(register: Registry, read: ReadAgentFigures): void {
  const metric = (
    type: 'counter' | 'gauge' | 'histogram',
    name: string,
    help: string,
    valuesOf: (figures: AgentFigures, name: string) => Value[],
  ) => {
    const full = `pilothouse_agent_${name}`
    const get = async () => {
      const values = Object.entries((await read()) ?? {}).flatMap(([deployment, figures]) =>
        valuesOf(figures, full).map((value) => ({ ...value, labels: { ...value.labels, deployment } })),
      )
      return { name: full, help, type, values, aggregator: 'sum' }
    }
    // prom-client has no class for values that another process counts
    register.registerMetric({ name: full, get, reset: () => undefined } as unknown as Metric)
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
}
