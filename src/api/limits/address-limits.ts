/** Limits connections per client address that have not sent a valid key. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../../platform/http/client-address.ts'

export interface ConnectionLimitOptions {
  /** unauthenticated connections per address; 0: no limit */
  maxPerAddress: number
  isTrustedProxy(address: string | undefined): boolean
}

/** Room for all streams and waits of a workspace plus a burst of calls. */
const MAX_AUTHENTICATED_PER_ADDRESS = 16_384

type Counts = Map<string, number>

/** counted connections with the numbers of their server */
const counted = new WeakMap<Socket, { address: string; counts: Counts; authenticated: Counts }>()

/**
 * A client that opens idle connections or sends headers byte by byte can't exhaust the server. Trusted proxies are exempt.
 */
export function limitConnections(server: Server, { maxPerAddress, isTrustedProxy }: ConnectionLimitOptions): void {
  const anonymous: Counts = new Map()
  const authenticated: Counts = new Map()
  server.on('connection', (socket: Socket) => {
    if (maxPerAddress === 0 || isTrustedProxy(socket.remoteAddress)) return
    const address = addressKey(socket.remoteAddress)
    if ((anonymous.get(address) ?? 0) >= maxPerAddress) {
      // closed without an answer, which would have to wait for a request first
      socket.destroy()
      return
    }
    const entry = { address, counts: anonymous, authenticated }
    count(anonymous, address, 1)
    counted.set(socket, entry)
    socket.once('close', () => count(entry.counts, address, -1))
  })
}

/** Call it when a request on this connection had a valid key. */
export function markAuthenticated(socket: Socket): void {
  const entry = counted.get(socket)
  if (!entry || socket.destroyed || entry.counts === entry.authenticated) return
  const { address, counts, authenticated } = entry
  if ((authenticated.get(address) ?? 0) >= MAX_AUTHENTICATED_PER_ADDRESS) return
  count(counts, address, -1)
  count(authenticated, address, 1)
  entry.counts = authenticated
}

function count(counts: Counts, address: string, change: 1 | -1): void {
  const now = (counts.get(address) ?? 0) + change
  if (now > 0) counts.set(address, now)
  else counts.delete(address)
}
