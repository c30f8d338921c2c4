/**
 * Bounds the connections of one address that have not shown a valid key, so that a client that only opens them, or sends
 * headers byte by byte, takes none from others. A proxy of ours is not counted: its connections are of many clients.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './address.ts'

export interface ConnectionLimit {
  /** A valid key was shown on it. */
  markAuthenticated(socket: Socket): void
}

export interface ConnectionLimitOptions {
  /** of strangers, of each address; 0: no limit */
  maxPerAddress: number
  /** whether an address is a proxy of ours */
  isTrustedProxy(address: string | undefined): boolean
}

/** Of one address with a valid key: all the streams and waits of a workspace, and the calls of a burst. */
const MAX_AUTHENTICATED_PER_ADDRESS = 16_384

export function limitConnections(
  server: Server,
  { maxPerAddress, isTrustedProxy }: ConnectionLimitOptions,
): ConnectionLimit {
  const anonymous = new Map<string, number>()
  const authenticated = new Map<string, number>()
  /** a connection that is counted, and among whom */
  const counted = new WeakMap<Socket, { address: string; counts: Map<string, number> }>()

  server.on('connection', (socket: Socket) => {
    if (maxPerAddress === 0 || isTrustedProxy(socket.remoteAddress)) return
    const address = addressKey(socket.remoteAddress)
    if ((anonymous.get(address) ?? 0) >= maxPerAddress) {
      // without an answer: for one it would have to wait for a request
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
