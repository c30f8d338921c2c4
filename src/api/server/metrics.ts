/** `/metrics` for Prometheus: of tenants only ids and figures. deploy/chart/monitoring has alert rules and a dashboard for it. */
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Observer } from '../../domain/outbox/event-lines.ts'
import { agentFiguresText, type ReadAgentFigures, type ShownDeployments } from './agent-figures.ts'
import { cached, type GaugeSources, registerGauges } from './gauges.ts'

/** Returns the observer that the domain reports to. */
export function mountMetrics(
  fastify: FastifyInstance,
  {
    agentFigures,
    shownDeployments,
    ...sources
  }: GaugeSources & { agentFigures: ReadAgentFigures; shownDeployments: ShownDeployments },
): Observer {
  const register = new Registry()
  collectDefaultMetrics({ register })
  measureRequests(fastify, register)
  registerGauges(register, sources)
  const figures = cached(() => agentFigures().catch(() => null))
  fastify.get('/metrics', { config: { keyless: 'always' } }, async (_request, reply) => {
    reply.header('content-type', register.contentType)
    const counted = await figures()
    return `${await register.metrics()}${counted ? `\n${agentFiguresText(counted, shownDeployments)}` : ''}`
  })
  return createMetricsObserver(register)
}

/** Duration by route, and 429 answers. */
function measureRequests(fastify: FastifyInstance, register: Registry): void {
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

/** In seconds: from a provisioning on a fast machine to a build at its deadline. */
const STEP_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

/** This server's work: rollouts, steps, events, log lines, leases, the sweep and the relay. */
function createMetricsObserver(register: Registry): Observer {
  const registers = [register]
  const transitions = new Counter({
    name: 'pilothouse_revision_transitions_total',
    help: 'Status changes of revisions by this server, by new status and reason (`none`: without a reason)',
    labelNames: ['status', 'reason'],
    registers,
  })
  const events = new Counter({
    name: 'pilothouse_events_total',
    help: 'Events that this server wrote',
    labelNames: ['type'],
    registers,
  })
  const steps = new Histogram({
    name: 'pilothouse_step_duration_seconds',
    help: 'Time from the first start of a step to its end, for steps whose end this server recorded',
    labelNames: ['kind', 'outcome'],
    buckets: STEP_BUCKETS,
    registers,
  })
  const lost = new Counter({
    name: 'pilothouse_leases_lost_total',
    help: 'Expired leases that were taken over through this server',
    registers,
  })
  const lines = new Counter({
    name: 'pilothouse_log_lines_total',
    help: 'Log lines of builds and agents that this server wrote',
    registers,
  })
  const sweep = new Histogram({
    name: 'pilothouse_sweep_duration_seconds',
    help: 'Duration of one run of the sweep, which enforces deadlines',
    registers,
  })
  const tries = new Counter({
    name: 'pilothouse_webhook_tries_total',
    help: 'Requests of this server to webhook endpoints, by result (`refused`: a status that is not 2xx)',
    labelNames: ['result'],
    registers,
  })
  const lag = new Histogram({
    name: 'pilothouse_relay_lag_seconds',
    help: 'Age of an event when this server passed it to its streams',
    registers,
  })
  return {
    appended(written) {
      for (const { type, to, reason } of written) {
        events.inc({ type })
        if (to) transitions.inc({ status: to, reason: reason ?? 'none' })
      }
    },
    stepEnded({ kind, outcome, seconds }) {
      // null: the step was never taken
      if (seconds !== null) steps.observe({ kind, outcome }, seconds)
    },
    leasesLost: (count) => lost.inc(count),
    logged: (count) => lines.inc(count),
    swept: (seconds) => sweep.observe(seconds),
    webhookTried: (result) => tries.inc({ result }),
    relayed: (seconds) => lag.observe(seconds),
  }
}
