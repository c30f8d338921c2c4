/**
 * Health over HTTP: `/healthz` (the process runs), `/readyz` (it can work), `/metrics`. Labels contain words of the protocol
 * only, never users' text. No data of deployments.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface HealthOptions {
  host: string
  /** 0: any free port */
  port: number
  /** why it can't work; null: it can */
  problem: () => string | null
  registry: Pick<Registry, 'contentType' | 'metrics'>
}

export interface HealthServer {
  port: number
  close(): Promise<void>
}

export async function startHealthServer({ host, port, problem, registry }: HealthOptions): Promise<HealthServer> {
  const server = http.createServer((request, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    switch (`${request.method} ${request.url?.split('?')[0]}`) {
      case 'GET /healthz':
        return json(200, { status: 'ok' })
      case 'GET /readyz': {
        const reason = problem()
        return reason === null ? json(200, { status: 'ready' }) : json(503, { status: 'not ready', reason })
      }
      case 'GET /metrics':
        return void registry.metrics().then(
          (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
          () => json(500, { detail: 'Internal error' }),
        )
      default:
        return json(404, { detail: 'There are /healthz, /readyz and /metrics.' })
    }
  })
  server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export interface ProgramMetrics {
  registry: Registry
  steps: Counter<'kind' | 'outcome'>
  calls: Histogram<'call' | 'outcome'>
}

/** `leased` and `clusterProblem` (null: none) are called at each scrape. */
export function createMetrics(
  program: 'listener' | 'builder',
  leased: () => number,
  clusterProblem?: () => string | null,
): ProgramMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: `pilothouse_${program}_claims`,
    help: program === 'listener' ? 'Deployments that this replica holds' : 'Builds that this builder holds',
    registers,
    collect() {
      this.set(leased())
    },
  })
  if (clusterProblem)
    new Gauge({
      name: 'pilothouse_listener_cluster_problem',
      help: '1 while the cluster can’t be worked in; /readyz says why',
      registers,
      collect() {
        this.set(clusterProblem() === null ? 0 : 1)
      },
    })
  return {
    registry,
    steps: new Counter({
      name: `pilothouse_${program}_steps_total`,
      help: 'Steps that were reported, by kind and outcome; too_late: closed by the control plane before that',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    calls: new Histogram({
      name: `pilothouse_${program}_control_plane_call_seconds`,
      help: 'Calls to the control plane, with the time that claims and heartbeats wait for something new',
      labelNames: ['call', 'outcome'],
      buckets: [0.01, 0.05, 0.25, 1, 5, 15, 60],
      registers,
    }),
  }
}
