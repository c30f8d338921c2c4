/**
 * Accepts WebSockets for GraphQL (docs/api-rules.md#graphql-over-websocket). Pages of any origin may connect: without a key
 * a connection can do nothing, because a cookie alone is not a credential and a session needs this server's page.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { WebSocketServer } from 'ws'
import type { Core } from '../../../domain/transaction/context.ts'
import { addressKey } from '../../../platform/http/client-address.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { markAuthenticated } from '../../limits/address-limits.ts'
import { openConnection } from './connection.ts'
import type { GraphQLExecutor } from './operation.ts'
import { credentialsOf, Peer } from './peer.ts'

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

export function createWebSockets(options: WebSocketOptions): WebSockets {
  const { core, authenticate, yoga, maxMessageBytes, stopping } = options
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

  return {
    take({ raw, ip }, reply) {
      const { socket: tunnel, head } = raw.tunnel!
      // from here on no HTTP response can be sent
      reply.raw.detachSocket(tunnel)
      server.handleUpgrade(raw, tunnel, head, (socket) => {
        openConnection({
          core,
          authenticate,
          yoga,
          socket,
          peer: new Peer(socket, tunnel),
          headers: credentialsOf({}, raw.headers),
          address: addressKey(ip),
          markAuthenticated: () => markAuthenticated(tunnel),
          stopping,
        })
      })
    },
  }
}

const NOT_A_WEBSOCKET = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
