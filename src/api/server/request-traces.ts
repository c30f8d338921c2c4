/**
 * The spans of requests: of a write, and of a request in a trace that its caller records. Other reads begin no trace, because a span
 * costs a tenth of a cached read (docs/decisions/0043-opentelemetry.md).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RequestTrace, type Span, type Tracing } from '../../platform/tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** absent: no collector is set */
    trace?: RequestTrace
  }
}

/** Call it before any route is added. */
export function traceRequests(fastify: FastifyInstance, tracing: Tracing): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const startedAt = new Date()
    const begin = (parent: string | null) => beginSpan(tracing, request, reply, parent, startedAt)
    request.trace = new RequestTrace(request.headers.traceparent, begin)
    done()
  })
}

/** The span ends with the response. */
function beginSpan(
  tracing: Tracing,
  { method, id, routeOptions, headers }: FastifyRequest,
  { raw: response }: FastifyReply,
  parent: string | null,
  startedAt: Date,
): Span {
  // the pattern, so that spans have no text of callers
  const route = routeOptions.url ?? ''
  const span = tracing.start(`${method} ${route}`.trimEnd(), parent, {
    kind: 'server',
    startedAt,
    tracestate: headers.tracestate,
    attributes: { 'http.request.method': method, 'http.route': route, 'pilothouse.request.id': id },
  })
  response.once('close', () => {
    span.set({ 'http.response.status_code': response.statusCode })
    span.end(response.statusCode >= 500 ? String(response.statusCode) : undefined)
  })
  return span
}
