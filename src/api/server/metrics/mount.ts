/**
 * `/metrics` for Prometheus: what Node says of the process, how long requests take, what the work comes to and how things
 * stand. Nothing of any tenant. docs/monitoring has alert rules and a dashboard for it.
 */
import type { FastifyInstance } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Observer } from '../../../domain/outbox/observer.ts'
import { countRequests } from './requests.ts'
import { measureState, type Sources } from './state.ts'
import { countWork } from './work.ts'

/** Returns the observer of this server's work. */
export function mountMetrics(fastify: FastifyInstance, sources: Sources): Observer {
  const register = new Registry()
  collectDefaultMetrics({ register })
  countRequests(fastify, register)
  measureState(register, sources)
  fastify.get('/metrics', { config: { keyless: 'always' } }, async (_request, reply) => {
    reply.header('content-type', register.contentType)
    return register.metrics()
  })
  return countWork(register)
}
