/** `/metrics` for Prometheus, without data of tenants. docs/monitoring has alert rules and a dashboard for it. */
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Observer } from '../../../domain/outbox/observer.ts'
import { createMetricsObserver } from './control-plane.ts'
import { type GaugeSources, registerGauges } from './gauges.ts'
import { measureRequests } from './requests.ts'

/** Returns the observer that the domain reports to. */
export function mountMetrics(fastify: FastifyInstance, sources: GaugeSources): Observer {
  const register = new Registry()
  collectDefaultMetrics({ register })
  measureRequests(fastify, register)
  registerGauges(register, sources)
  fastify.get('/metrics', { config: { keyless: 'always' } }, async (_request, reply) => {
    reply.header('content-type', register.contentType)
    return register.metrics()
  })
  return createMetricsObserver(register)
}
