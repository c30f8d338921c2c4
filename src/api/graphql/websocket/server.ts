/**
 * GraphQL over WebSocket (docs/api-rules.md#graphql-over-websocket): accepts upgrades, pings clients, and closes at
 * shutdown. Pages of any origin may connect: without a key a connection can do nothing, because a cookie alone is not a
 * credential and a session needs this server's page.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import type { Core } from '../../../domain/transaction/context.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { addressKey, markAuthenticated } from '../../limits/address-limits.ts'
import { type Connection, openConnection } from './connection.ts'
import { credentialsOf } from './credentials.ts'
import type { GraphQLExecutor } from './operation.ts'
import { Peer } from './peer.ts'

export interface WebSocketOptions {
  core: Core
  authenticate: Authenticate
  yoga: GraphQLExecutor
  maxMessageBytes: number
  /** aborts when the server stops */
  stopping: AbortSignal
}

export interface WebSockets {
  /** Turns the hijacked request, which has a tunnel, into a WebSocket, or answers 400. */
  take(request: FastifyRequest, reply: FastifyReply): void
}

/** The documentation promises 15 s (docs/api-rules.md); the rest is slack for a busy event loop. */
const PING_INTERVAL_MS = 10_000
/** Time for operations to end when the server stops. Streams end immediately. */
const STOP_TIMEOUT_MS = 2_000

export function createWebSockets(options: WebSocketOptions): WebSockets {
  const { core, authenticate, yoga, maxMessageBytes, stopping } = options
  const connections = new Set<Connection>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    // compression needs more memory per connection than everything else
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
    // streams end by the same signal and send their cursor first
    setImmediate(() => {
      for (const connection of connections) connection.stop(STOP_TIMEOUT_MS)
    })
  })

  return {
    take({ raw, ip }, reply) {
      const { socket: tunnel, head } = raw.tunnel!
      // from here on no HTTP response can be sent
      reply.raw.detachSocket(tunnel)
      server.handleUpgrade(raw, tunnel, head, (socket) => {
        const connection = openConnection({
          core,
          authenticate,
          yoga,
          socket,
          peer: new Peer(socket, tunnel),
          headers: credentialsOf({}, raw.headers),
          address: addressKey(ip),
          markAuthenticated: () => markAuthenticated(tunnel),
        })
        added(connection)
        socket.once('close', () => removed(connection))
      })
    },
  }
}

const NOT_A_WEBSOCKET = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
