/** What the door counts: requests of agents, one series per deployment, and lost lines of its access log. */
import type { AgentFigures, DoorFigures } from '../../domain/values/door-figures.ts'

/** Null: there is no door here. */
export type ReadAgentFigures = () => Promise<DoorFigures | null>

/** A series: the end of its name, its labels but the deployment, and its value. */
type Series = readonly [suffix: string, labels: string, value: number]

interface Metric {
  type: 'counter' | 'gauge' | 'histogram'
  name: string
  help: string
  seriesOf(figures: AgentFigures): Series[]
}

const METRICS: readonly Metric[] = [
  {
    type: 'counter',
    name: 'requests_total',
    help: 'Requests to agents, by class of the status',
    seriesOf: ({ answers }) => Object.entries(answers).map(([status, value]) => ['', `status="${status}",`, value]),
  },
  {
    type: 'histogram',
    name: 'request_duration_seconds',
    help: 'Time from a request to the end of its answer, without streams',
    seriesOf: ({ durations, durationSum }) => [
      ...durations.map(({ le, count }): Series => ['_bucket', `le="${le ?? '+Inf'}",`, count]),
      ['_sum', '', durationSum],
      ['_count', '', durations.at(-1)?.count ?? 0],
    ],
  },
  {
    type: 'gauge',
    name: 'requests_open',
    help: 'Requests and streams that are open',
    seriesOf: ({ requestsOpen }) => [['', '', requestsOpen]],
  },
  {
    type: 'gauge',
    name: 'websockets_open',
    help: 'WebSockets that are open',
    seriesOf: ({ webSocketsOpen }) => [['', '', webSocketsOpen]],
  },
  {
    type: 'counter',
    name: 'bytes_total',
    help: 'Bytes of requests and WebSockets that have ended',
    seriesOf: ({ received, sent }) => [
      ['', 'direction="received",', received],
      ['', 'direction="sent",', sent],
    ],
  },
]

const USAGE: readonly Metric[] = [
  {
    type: 'counter',
    name: 'cpu_seconds_total',
    help: 'CPU time of agents since the start of the server',
    seriesOf: ({ usage }) => (usage?.cpuSeconds === undefined ? [] : [['', '', usage.cpuSeconds]]),
  },
  {
    type: 'gauge',
    name: 'memory_bytes',
    help: 'Resident memory of agents',
    seriesOf: ({ usage }) => (usage?.memory === undefined ? [] : [['', '', usage.memory]]),
  },
  {
    type: 'gauge',
    name: 'memory_limit_bytes',
    help: 'Limit of the memory of agents',
    seriesOf: ({ usage }) => (usage?.memoryLimit ? [['', '', usage.memoryLimit]] : []),
  },
  {
    type: 'counter',
    name: 'restarts_total',
    help: 'Restarts of agents that ended or exceeded a limit, since the start of the server',
    seriesOf: ({ usage }) => (usage?.restarts === undefined ? [] : [['', '', usage.restarts]]),
  },
  {
    type: 'gauge',
    name: 'replicas',
    help: 'Replicas that are ready',
    seriesOf: ({ usage }) => (usage ? [['', '', usage.replicas]] : []),
  },
]

/** Deployments in metrics: none, those whose agent runs under this server, or all that the door knows. */
export type ShownDeployments = 'off' | 'running' | 'all'

const DROPPED_LINES = 'pilothouse_access_log_dropped_total'
const DROPPED_HELP = 'Lines of APPS_ACCESS_LOG that were not written, because requests were faster than the disk'

/** Text for Prometheus. prom-client needs ten times as long, in which a door forwards nothing. */
export function agentFiguresText({ agents, droppedLogLines }: DoorFigures, shown: ShownDeployments = 'all'): string {
  const deployments = Object.entries(agents).filter(
    ([, { usage }]) => shown === 'all' || (shown === 'running' && usage),
  )
  const texts = [...METRICS, ...USAGE].map(({ type, name, help, seriesOf }) => {
    const full = `pilothouse_agent_${name}`
    let text = head(full, type, help)
    for (const [deployment, figures] of deployments) {
      const workspace = figures.workspace === undefined ? '' : `,workspace="${figures.workspace}"`
      for (const [suffix, labels, value] of seriesOf(figures))
        text += `${full}${suffix}{${labels}deployment="${deployment}"${workspace}} ${value}\n`
    }
    return text
  })
  return [...texts, `${head(DROPPED_LINES, 'counter', DROPPED_HELP)}${DROPPED_LINES} ${droppedLogLines}\n`].join('\n')
}

const head = (name: string, type: Metric['type'], help: string) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
