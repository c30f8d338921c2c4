/**
 * GraphQL over WebSocket (docs/api-rules.md#graphql-over-websocket): takes the connections that the route hands over, asks
 * them from time to time whether they are there, and closes them when the server stops. Pages of any origin may open one:
 * a cookie alone is no credential, and a session is for our own pages (auth/session-halves.ts), so a connection can do nothing that its
 * opener has no key for.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import type { Core } from '../../../domain/transaction/context.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { addressKey } from '../../limits/address.ts'
import type { ConnectionLimit } from '../../limits/connection-limit.ts'
import { type Connection, openConnection } from './connection.ts'
import { credentialsOf } from './credentials.ts'
import type { GraphQLExecutor } from './operation.ts'

export interface WebSocketOptions {
  core: Core
  authenticate: Authenticate
  engine: GraphQLExecutor
  /** of this server */
  connectionLimit: ConnectionLimit
  /** bytes */
  maxMessageBytes: number
  /** aborts when the server stops */
  stopping: AbortSignal
}

export interface WebSockets {
  /** The request, which has a tunnel and whose reply was hijacked, becomes a WebSocket, or is answered 400. */
  take(request: FastifyRequest, reply: FastifyReply): void
}

/** ms between two pings. 15 s are promised (docs/api-rules.md): the rest is for a busy event loop. */
const PING_INTERVAL_MS = 10_000
/** ms that operations have to end when the server stops; streams end at once. */
const STOP_TIMEOUT_MS = 2_000

export function createWebSockets(options: WebSocketOptions): WebSockets {
  const { core, authenticate, engine, maxMessageBytes: longestMessage, stopping } = options
  const connections = new Set<Connection>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: longestMessage,
    // it costs more memory for each connection than all the rest
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) ? GRAPHQL_TRANSPORT_WS_PROTOCOL : false),
  })
  server.on('wsClientError', (_error, socket) => {
    socket.end(NOT_A_WEBSOCKET, () => socket.destroy())
  })
  let pingTimer: NodeJS.Timeout | null = null

  function added(connection: Connection): void {
    connections.add(connection)
    pingTimer ??= setInterval(() => {
      for (const { peer } of connections) peer.pingOrTerminate()
    }, PING_INTERVAL_MS)
    if (stopping.aborted) connection.stop(0)
  }

  function removed(connection: Connection): void {
    connections.delete(connection)
    if (connections.size > 0 || !pingTimer) return
    clearInterval(pingTimer)
    pingTimer = null
  }

  stopping.addEventListener('abort', () => {
    // streams end by the same signal, and say where they were
    setImmediate(() => {
      for (const connection of connections) connection.stop(STOP_TIMEOUT_MS)
    })
  })

  return {
    take({ raw, ip }, reply) {
      const { socket: tunnel, head } = raw.tunnel!
      // from here on nothing is answered in HTTP's way
      reply.raw.detachSocket(tunnel)
      server.handleUpgrade(raw, tunnel, head, (socket) => {
        const connection = openConnection({
          socket,
          transport: tunnel,
          headers: credentialsOf({}, raw.headers),
          address: addressKey(ip),
          authenticate,
          credentials: core.credentials,
          engine,
          log: core.log,
          markAuthenticated: () => options.connectionLimit.markAuthenticated(tunnel),
        })
        added(connection)
        socket.once('close', () => removed(connection))
      })
    },
  }
}

const NOT_A_WEBSOCKET = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
