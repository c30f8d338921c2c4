/** `/metrics` for Prometheus: what Node says of the process, and how long requests take by route. Nothing of any tenant. */
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export function mountMetrics(fastify: FastifyInstance): void {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer; streams are left out',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
  })
  fastify.addHook('onRequest', async (request, reply) => {
    const end = duration.startTimer()
    reply.raw.once('close', () => {
      if (String(reply.raw.getHeader('content-type')).startsWith('text/event-stream')) return
      // the pattern and not the address: a bounded number of labels
      const route = request.routeOptions.url ?? 'none'
      end({ method: request.method, route, status: reply.raw.statusCode })
    })
  })
  fastify.get('/metrics', { config: { keyless: 'always' } }, async (_request, reply) => {
    reply.header('content-type', register.contentType)
    return register.metrics()
  })
}
