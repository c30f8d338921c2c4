/** The HTTP server: request ids, request log (level debug), health, timeouts, and a shutdown with a deadline. See README.md. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { DomainError } from '../../domain/errors/errors.ts'
import type { Overload } from '../../platform/async/overload.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Database } from '../../platform/postgres/client.ts'
import type { Tracing } from '../../platform/tracing/tracing.ts'
import { errorHandler } from '../rest/framework/errors.ts'
import type { CrossOrigin } from './cross-origin.ts'
import { knownRoutes } from './known-routes.ts'
import { rejectMalformedRequest, rejectUnsupportedRequests } from './malformed-requests.ts'
import { traceRequests } from './request-traces.ts'
import { routeUpgrades, UpgradableMessage } from './upgrades.ts'

/** Uploads are not limited by it (docs/api-rules.md#errors). */
const MAX_BODY_BYTES = 1024 * 1024
/** Format of an `X-Request-Id` that is accepted from a caller. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/
const BODY_TIMEOUT_MS = 60_000
const HEADER_TIMEOUT_MS = 10_000
/** For the database's answer to `/readyz`. */
const DATABASE_TIMEOUT_MS = 2_000
/** How often Node checks for late headers; its default is 30 s. */
const CONNECTION_CHECK_INTERVAL_MS = 2_000
/** For open requests at shutdown. Shorter than the limit of the process (main.ts). */
const CLOSE_TIMEOUT_MS = 6_000

declare module 'fastify' {
  interface FastifyRequest {
    /** the authenticated caller: a key's id, or the `sub` of a JWT */
    subject: string | null
  }
}

export interface HttpOptions {
  log: Logger
  /** absent: no collector is set */
  tracing?: Tracing | undefined
  /** Null: the server is ready. */
  notReadyReason: () => Promise<string | null>
  overload?: Overload
  /** for a request's body */
  bodyTimeoutMs?: number
  /** for a request's headers */
  headerTimeoutMs?: number
  /** whether X-Forwarded-For of this address is trusted; default: no address is */
  isTrustedProxy?: (address: string | undefined) => boolean
  /** default: no CORS */
  crossOrigin?: CrossOrigin
}

export function createHttp({
  log,
  tracing,
  notReadyReason,
  overload,
  bodyTimeoutMs = BODY_TIMEOUT_MS,
  headerTimeoutMs = HEADER_TIMEOUT_MS,
  isTrustedProxy = () => false,
  crossOrigin = () => false,
}: HttpOptions): FastifyInstance {
  const handleError = errorHandler(log)
  const fastify = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // Fastify's log lines contain URLs; logRequest replaces them
    logController: new LogController({ disableRequestLogging: true }),
    // no child logger per request, because it would not be used
    childLoggerFactory: (logger) => logger,
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: isTrustedProxy,
    http: {
      IncomingMessage: UpgradableMessage,
      headersTimeout: headerTimeoutMs,
      connectionsCheckingInterval: Math.min(headerTimeoutMs / 4, CONNECTION_CHECK_INTERVAL_MS),
      // Node would answer without a body; an onRequest hook checks it
      requireHostHeader: false,
    },
    // see limitBodyDuration
    requestTimeout: 0,
    // not in our error format; an onRequest hook answers instead
    return503OnClosing: false,
    requestIdHeader: false,
    // up to this length the operation itself answers an invalid id
    routerOptions: { maxParamLength: 2048 },
    // for errors before routing; routes have their own error handler
    frameworkErrors: handleError,
    clientErrorHandler: (error, socket) => rejectMalformedRequest(error, socket, known),
    genReqId: (request) => {
      const sent = request.headers['x-request-id']
      return typeof sent === 'string' && REQUEST_ID_PATTERN.test(sent) ? sent : randomUUID()
    },
  })
  const known = knownRoutes(fastify)
  rejectUnsupportedRequests(fastify.server)
  routeUpgrades(fastify, fastify.server)
  fastify.setErrorHandler(handleError)
  fastify.decorateRequest('subject', null)
  if (tracing) traceRequests(fastify, tracing)
  let isClosing = false
  fastify.addHook('preClose', async () => {
    isClosing = true
  })
  fastify.addHook('onRequest', (request, reply, done) => {
    closeWithConnection(request.raw, reply.raw)
    // on the raw response, because GraphQL writes past Fastify
    reply.raw.setHeader('x-request-id', request.id)
    // browsers must not guess content types
    reply.raw.setHeader('x-content-type-options', 'nosniff')
    if (log.isLevelEnabled('debug')) logRequest(log, request, reply)
    if (isClosing) throw new DomainError('UNAVAILABLE', 'This server is stopping.', { retryAfterSeconds: 1 })
    const hosts = countHosts(request.raw.rawHeaders)
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
      reply.header('connection', 'close')
      throw new DomainError('MALFORMED_REQUEST', `A request needs one Host header; this one has ${hosts || 'none'}.`)
    }
    if (crossOrigin(request, reply)) return void reply.code(204).send()
    // before the body is read, because it is not needed
    if (request.is404 || known.lacksMethod(request.method, request.url)) throwRouteError(request, reply)
    done()
  })
  // for routes that call callNotFound()
  fastify.setNotFoundHandler(throwRouteError)
  limitBodyDuration(fastify, bodyTimeoutMs)
  fastify.get('/healthz', async () => ({ status: 'ok' }))
  fastify.get('/readyz', async (_request, reply) => {
    const reason = await notReadyReason()
    // no 503 for overload: a load balancer would move the load to the next server, or remove the only one
    if (reason === null) return { status: 'ready', ...(overload?.now && { overloaded: overload.now }) }
    return reply.code(503).send({ status: 'not ready', reason })
  })
  return fastify

  function throwRouteError(request: FastifyRequest, reply: FastifyReply): never {
    const { error, allow } = known.errorFor(request.method, request.url)
    if (allow !== null) reply.header('allow', allow)
    throw error
  }
}

/** Node keeps only the first Host header, but a proxy may have used another. `raw`: alternating names and values. */
function countHosts(raw: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === 4 && raw[i]!.toLowerCase() === 'host') hosts++
  return hosts
}

/** Writes the log line when the response is closed. */
function logRequest(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const began = performance.now()
  reply.raw.once('close', () => {
    log.debug(
      {
        requestId: request.id,
        method: request.method,
        // the pattern, so that the log has no text of callers
        route: request.routeOptions.url ?? null,
        status: reply.raw.statusCode,
        ms: Math.round(performance.now() - began),
        subject: request.subject,
        address: request.ip,
      },
      'request',
    )
  })
}

/** Stops accepting, waits for open requests, and closes idle keep-alive connections. */
export async function closeHttp(fastify: FastifyInstance, closeTimeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
  const closed = fastify.close()
  // Node closes only currently idle connections; later ones would stay open for their keep-alive time
  const idle = setInterval(() => fastify.server.closeIdleConnections(), 50)
  // a client that has stopped reading would block the shutdown forever
  const limit = setTimeout(() => fastify.server.closeAllConnections(), closeTimeoutMs)
  await closed.finally(() => {
    clearInterval(idle)
    clearTimeout(limit)
  })
}

/** Pipelined responses without a socket yet. Node does not emit `close` on them when the client disconnects. */
const queuedResponses = new WeakMap<Socket, Set<ServerResponse>>()

function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  if (response.socket) return
  const known = queuedResponses.get(socket)
  const queued = known ?? new Set<ServerResponse>()
  queued.add(response)
  response.once('socket', () => queued.delete(response))
  if (known) return
  queuedResponses.set(socket, queued)
  socket.once('close', () => {
    // the same state as after Node's own close, for code that checks it later
    for (const one of queued) Object.assign(one, { _closed: true, destroyed: true }).emit('close')
  })
}

/**
 * Not for routes with `hasOwnBodyTimeout`. The rest of a body after the answer has the same timeout: the next request of
 * the connection follows it.
 */
function limitBodyDuration(fastify: FastifyInstance, ms: number): void {
  fastify.addHook('onRequest', ({ raw, routeOptions }, reply, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
    if (length === '0' && encoding === undefined) return done()
    const onTimeout = () =>
      rejectMalformedRequest(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), raw.socket)
    let timer = routeOptions.config.hasOwnBodyTimeout ? undefined : setTimeout(onTimeout, ms)
    const stopTimer = () => clearTimeout(timer)
    raw.once('end', stopTimer).once('close', stopTimer)
    reply.raw.once('finish', () => {
      stopTimer()
      if (raw.readableEnded || raw.destroyed) return
      timer = setTimeout(() => raw.destroy(), ms)
      // the reader of the body has stopped, so discard the rest
      raw.unpipe().removeAllListeners('data').removeAllListeners('readable').resume()
    })
    done()
  })
}

/** For `notReadyReason`: whether the database answers within the timeout. Concurrent calls share one check. */
export function databaseCheck(database: Database): () => Promise<string | null> {
  let running: Promise<string | null> | null = null
  return () => {
    running ??= checkDatabase(database).finally(() => {
      running = null
    })
    return running
  }
}

async function checkDatabase(database: Database): Promise<string | null> {
  return (await resultWithin(DATABASE_TIMEOUT_MS, database.answers())) ? null : 'the database does not answer'
}
