/** WebSockets beside HTTP. A request becomes one only where a route takes them. */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { upgradableMessages } from '../../platform/http/upgradable.ts'

declare module 'http' {
  interface IncomingMessage {
    /** the request is a WebSocket's: its connection is the route's, and nothing else reads from it */
    tunnel?: { socket: Socket; head: Buffer }
  }
}

/** The paths that take WebSockets, of all servers of this process. */
const PATHS: readonly string[] = ['/graphql']

/** For `createServer`. */
export const UpgradableMessage = upgradableMessages(({ url = '' }) => PATHS.includes(url.split('?')[0]!))

/** Routes them like all other requests: the route finds the connection as `request.raw.tunnel`. */
export function routeUpgrades(fastify: FastifyInstance, server: Server): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const response = new ServerResponse(request)
    // of a server without TLS it is one
    request.tunnel = { socket: socket as Socket, head }
    // what is answered instead of a WebSocket is the last answer on this connection
    response.shouldKeepAlive = false
    response.once('finish', () => socket.end())
    socket.on('error', () => socket.destroy())
    try {
      response.assignSocket(request.tunnel.socket)
    } catch {
      // the answer of a request before it has not been written yet: no client may ask for this so early
      socket.destroy()
      return
    }
    fastify.routing(request, response)
  })
}
