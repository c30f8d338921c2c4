/**
 * Limits open connections per address that have not sent a valid key. A client that opens idle connections or sends headers
 * byte by byte can't exhaust the server. Trusted proxies are exempt.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './address.ts'

export interface ConnectionLimit {
  /** Call it when a request on this connection had a valid key. */
  markAuthenticated(socket: Socket): void
}

export interface ConnectionLimitOptions {
  /** unauthenticated connections per address; 0: no limit */
  maxPerAddress: number
  isTrustedProxy(address: string | undefined): boolean
}

/** Room for all streams and waits of a workspace plus a burst of calls. */
const MAX_AUTHENTICATED_PER_ADDRESS = 16_384

export function limitConnections(
  server: Server,
  { maxPerAddress, isTrustedProxy }: ConnectionLimitOptions,
): ConnectionLimit {
  const anonymous = new Map<string, number>()
  const authenticated = new Map<string, number>()
  const counted = new WeakMap<Socket, { address: string; counts: Map<string, number> }>()

  server.on('connection', (socket: Socket) => {
    if (maxPerAddress === 0 || isTrustedProxy(socket.remoteAddress)) return
    const address = addressKey(socket.remoteAddress)
    if ((anonymous.get(address) ?? 0) >= maxPerAddress) {
      // closed without an answer, which would have to wait for a request first
      socket.destroy()
      return
    }
    const entry = { address, counts: anonymous }
    count(anonymous, address, 1)
    counted.set(socket, entry)
    socket.once('close', () => count(entry.counts, address, -1))
  })

  return {
    markAuthenticated(socket) {
      const entry = counted.get(socket)
      if (!entry || socket.destroyed || entry.counts === authenticated) return
      if ((authenticated.get(entry.address) ?? 0) >= MAX_AUTHENTICATED_PER_ADDRESS) return
      count(anonymous, entry.address, -1)
      count(authenticated, entry.address, 1)
      entry.counts = authenticated
    },
  }
}

function count(counts: Map<string, number>, address: string, change: 1 | -1): void {
  const now = (counts.get(address) ?? 0) + change
  if (now > 0) counts.set(address, now)
  else counts.delete(address)
}
