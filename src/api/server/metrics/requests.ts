/** Metrics of requests: duration by route, and 429 answers. */
import type { FastifyInstance } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'

export function measureRequests(fastify: FastifyInstance, register: Registry): void {
  const registers = [register]
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer, without streams',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const limited = new Counter({
    name: 'pilothouse_rate_limited_total',
    help: 'Requests that were answered 429',
    labelNames: ['route'],
    registers,
  })
  fastify.addHook('onRequest', (request, reply, done) => {
    const end = duration.startTimer()
    reply.raw.once('close', () => {
      if (String(reply.raw.getHeader('content-type')).startsWith('text/event-stream')) return
      // the pattern, so that the number of labels is limited
      const route = request.routeOptions.url ?? 'none'
      const status = reply.raw.statusCode
      end({ method: request.method, route, status })
      if (status === 429) limited.inc({ route })
    })
    done()
  })
}
