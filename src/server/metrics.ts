/** `/metrics` for Prometheus: what Node says of the process, and how long requests take by route. Nothing of any tenant. */
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Happening } from '../domain/events/journal.ts'

/** Returns what has to be told of all that this server has committed. */
export function mountMetrics(fastify: FastifyInstance): (happened: readonly Happening[]) => void {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request to the end of its answer; streams are left out',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
  })
  const transitions = new Counter({
    name: 'pilothouse_revision_transitions_total',
    help: 'Changes of a revision’s status that this server made, by the new status and the reason (`none`: it needs none)',
    labelNames: ['status', 'reason'],
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
  return (happened) => {
    for (const { to, reason } of happened) if (to) transitions.inc({ status: to, reason: reason ?? 'none' })
  }
}
