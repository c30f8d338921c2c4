/** Routes WebSocket upgrades. Other paths ignore the `Upgrade` header. */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { upgradableMessages } from '../../platform/http/upgradable.ts'

declare module 'http' {
  interface IncomingMessage {
    /** set for a WebSocket request: the connection belongs to the route */
    tunnel?: { socket: Socket; head: Buffer }
  }
}

/** Paths that accept WebSockets. */
const PATHS: readonly string[] = ['/graphql']

/** For `createServer`. */
export const UpgradableMessage = upgradableMessages(({ url = '' }) => PATHS.includes(url.split('?')[0]!))

/** Routes upgrades like other requests. The route finds the connection in `request.raw.tunnel`. */
export function routeUpgrades(fastify: FastifyInstance, server: Server): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const response = new ServerResponse(request)
    // a server without TLS always passes a Socket
    request.tunnel = { socket: socket as Socket, head }
    // an HTTP answer to an upgrade is the last one on this connection
    response.shouldKeepAlive = false
    response.once('finish', () => socket.end())
    socket.on('error', () => socket.destroy())
    try {
      response.assignSocket(request.tunnel.socket)
    } catch {
      // an earlier response is still being written; clients must not send an upgrade then
      socket.destroy()
      return
    }
    fastify.routing(request, response)
  })
}
