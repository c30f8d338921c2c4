/** Health over HTTP: `/healthz` (the process runs), `/readyz` (it can work), `/metrics`. No data of deployments. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

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
