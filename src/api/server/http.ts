/** The HTTP server around the API: request ids, a log line for each request (level debug), health, and an end that hangs on no connection. */
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
import { errorHandler } from '../rest/framework/errors.ts'
import type { CrossOrigin } from './cross-origin.ts'
import { knownRoutes } from './known-routes.ts'
import { rejectMalformedRequest, rejectUnsupportedRequests } from './malformed-requests.ts'
import { routeUpgrades, UpgradableMessage } from './upgrades.ts'

/** Of a request's body. Uploads come another way (docs/api-rules.md#errors). */
const MAX_BODY_BYTES = 1024 * 1024
/** A caller's own request id is taken if it looks like one. */
const REQUEST_ID_PATTERN = /^[\w.-]{1,128}$/
/** ms for the body of a request to arrive */
const BODY_TIMEOUT_MS = 60_000
/** ms for its headers */
const HEADER_TIMEOUT_MS = 10_000
/** ms between two looks for connections whose headers are late; Node would look every 30 s */
const CONNECTION_CHECK_INTERVAL_MS = 2_000
/** ms that open requests have to finish when the server stops; less than the process has (main.ts). */
const CLOSE_TIMEOUT_MS = 6_000

declare module 'fastify' {
  interface FastifyRequest {
    /** who calls, once that is known: a key's id, or the `sub` of a JWT */
    subject: string | null
  }
}

export interface HttpOptions {
  log: Logger
  /** Why not to send requests here now; null: all is well. */
  notReadyReason: () => Promise<string | null>
  /** absent: nobody watches it */
  overload?: Overload
  /** ms for the body of a request to arrive */
  bodyTimeoutMs?: number
  /** ms for its headers */
  headerTimeoutMs?: number
  /** whether an address is a proxy of ours, whose X-Forwarded-For is believed; default: none is */
  isTrustedProxy?: (address: string | undefined) => boolean
  /** default: no page of another origin may call */
  crossOrigin?: CrossOrigin
}

export function createHttp({
  log,
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
    // Fastify's own lines have addresses in them; ours are below
    logController: new LogController({ disableRequestLogging: true }),
    // a logger for each request, which nobody would write to
    childLoggerFactory: (logger) => logger,
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: isTrustedProxy,
    http: {
      IncomingMessage: UpgradableMessage,
      headersTimeout: headerTimeoutMs,
      connectionsCheckingInterval: Math.min(headerTimeoutMs / 4, CONNECTION_CHECK_INTERVAL_MS),
      // Node would refuse it without a body
      requireHostHeader: false,
    },
    // see limitBodyTime
    requestTimeout: 0,
    // in a form of its own; ours is below
    return503OnClosing: false,
    requestIdHeader: false,
    // a longer part of a path is answered by the operation it is sent to, as any other that is no id
    routerOptions: { maxParamLength: 2048 },
    // what goes wrong before a route is found; the routes have a handler of their own
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
  let isClosing = false
  fastify.addHook('preClose', async () => {
    isClosing = true
  })
  fastify.addHook('onRequest', (request, reply, done) => {
    closeWithConnection(request.raw, reply.raw)
    // not by Fastify: also for answers that are written past it (GraphQL)
    reply.raw.setHeader('x-request-id', request.id)
    // nothing here is to be taken for a script or a page that it does not say it is
    reply.raw.setHeader('x-content-type-options', 'nosniff')
    if (log.isLevelEnabled('debug')) logRequest(log, request, reply)
    if (isClosing) throw new DomainError('UNAVAILABLE', 'This server is stopping.', { retryAfterSeconds: 1 })
    const hosts = countHosts(request.raw.rawHeaders)
    if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
      reply.header('connection', 'close')
      throw new DomainError('MALFORMED_REQUEST', `A request needs one Host header; this one has ${hosts || 'none'}.`)
    }
    if (crossOrigin(request, reply)) return void reply.code(204).send()
    // before its body is read: nobody wants it
    if (request.is404 || known.lacksMethod(request.method, request.url)) throwRouteError(request, reply)
    done()
  })
  // for routes that find only later that there is nothing
  fastify.setNotFoundHandler(throwRouteError)
  limitBodyDuration(fastify, bodyTimeoutMs)
  fastify.get('/healthz', async () => ({ status: 'ok' }))
  fastify.get('/readyz', async (_request, reply) => {
    const reason = await notReadyReason()
    // not a 503: a load balancer would move the load to the next server, or take the only one away
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

/** Node keeps the first one and says nothing of others, which a proxy may have gone by. `raw`: names and values in turn. */
function countHosts(raw: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === 4 && raw[i]!.toLowerCase() === 'host') hosts++
  return hosts
}

/** Its line in the log, when it is over. */
function logRequest(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const began = performance.now()
  reply.raw.once('close', () => {
    log.debug(
      {
        requestId: request.id,
        method: request.method,
        // the pattern, not the path: no caller's text in the log
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

/** Stops accepting, lets open requests finish, and doesn't wait for keep-alive connections that nobody uses. */
export async function closeHttp(fastify: FastifyInstance, closeTimeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
  const closed = fastify.close()
  // Node closes those that are idle now; the ones that become idle later would stay for their keep-alive time
  const idle = setInterval(() => fastify.server.closeIdleConnections(), 50)
  // a client that has stopped reading would keep its answer open for good, and with it the server and its database
  const limit = setTimeout(() => fastify.server.closeAllConnections(), closeTimeoutMs)
  await closed.finally(() => {
    clearInterval(idle)
    clearTimeout(limit)
  })
}

/** Answers that wait behind another one on their connection have no socket yet, and Node does not tell them that the client is gone. */
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
    // as Node does it for those that have one: also who asks later whether it is closed has to know
    for (const one of queued) Object.assign(one, { _closed: true, destroyed: true }).emit('close')
  })
}

/**
 * A route whose config says `slowBody` sees to it itself. What comes after the answer, be it nobody who reads it, has as long: behind
 * it is the connection's next request.
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
      // whoever has it stopped reading
      raw.unpipe().removeAllListeners('data').removeAllListeners('readable').resume()
    })
    done()
  })
}
