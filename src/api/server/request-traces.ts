/**
 * The spans of requests: of a write, and of a request in a trace that its caller records. Other reads begin no trace, because a span
 * costs a tenth of a cached read (docs/decisions/0043-opentelemetry.md).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  isSampled,
  type RequestTrace,
  type Span,
  type Tracing,
  validTraceparent,
} from '../../platform/tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** absent: no collector is set */
    trace?: RequestTrace
  }
}

/** Call it before any route is added. */
export function traceRequests(fastify: FastifyInstance, tracing: Tracing): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    request.trace = new HttpTrace(tracing, request, reply)
    done()
  })
}

class HttpTrace implements RequestTrace {
  readonly #tracing: Tracing
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  readonly #startedAt = new Date()
  readonly isCallers: boolean
  #span: Span | null = null

  constructor(tracing: Tracing, request: FastifyRequest, reply: FastifyReply) {
    this.#tracing = tracing
    this.#request = request
    this.#reply = reply
    const parent = validTraceparent(request.headers.traceparent)
    this.isCallers = parent !== null && isSampled(parent)
    if (this.isCallers) this.#begin(parent)
  }

  get span(): Span {
    return this.#span ?? this.#begin(validTraceparent(this.#request.headers.traceparent))
  }

  #begin(parent: string | null): Span {
    const { method, id, routeOptions } = this.#request
    // the pattern, so that spans have no text of callers
    const route = routeOptions.url ?? ''
    const span = this.#tracing.start(`${method} ${route}`.trimEnd(), parent, {
      kind: 'server',
      startedAt: this.#startedAt,
      attributes: { 'http.request.method': method, 'http.route': route, 'pilothouse.request.id': id },
    })
    this.#span = span
    const response = this.#reply.raw
    response.once('close', () => {
      span.set({ 'http.response.status_code': response.statusCode })
      span.end(response.statusCode >= 500 ? String(response.statusCode) : undefined)
    })
    return span
  }
}
