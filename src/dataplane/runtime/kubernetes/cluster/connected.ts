/**
 * When a request can be sent without waiting any more. A request that is handed to Node before its connection is
 * there stays in its buffers, and may go out much later: too late for a write whose lease was checked before.
 */
import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Calls `ready` once, when the request's connection (and TLS) is up. A failure to connect is the request's error. */
export function whenConnected(request: ClientRequest, ready: (socket: Socket) => void): void {
  request.once('socket', (socket: Socket) => {
    const tls = 'encrypted' in socket
    const up = !socket.connecting && (!tls || (socket as TLSSocket).getFinished() !== undefined)
    if (up) ready(socket)
    else socket.once(tls ? 'secureConnect' : 'connect', () => ready(socket))
  })
}
