/**
 * Bounds the connections of one address that have not shown a valid key, so that a client that only opens them, or sends
 * headers byte by byte, takes none from others. A proxy of ours is not counted: its connections are of many clients.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from './address.ts'

export interface Connections {
  /** A valid key was shown on it. */
  recognize(socket: Socket): void
}

export interface ConnectionsOptions {
  /** of strangers, of each address; 0: no limit */
  most: number
  /** whether an address is a proxy of ours */
  trusted(address: string | undefined): boolean
}

/** Of one address with a valid key: all the streams and waits of a workspace, and the calls of a burst. */
const MOST_RECOGNIZED = 16_384

export function limitConnections(server: Server, { most, trusted }: ConnectionsOptions): Connections {
  const strangers = new Map<string, number>()
  const recognized = new Map<string, number>()
  /** a connection that is counted, and among whom */
  const counted = new WeakMap<Socket, { address: string; among: Map<string, number> }>()

  server.on('connection', (socket: Socket) => {
    if (most === 0 || trusted(socket.remoteAddress)) return
    const address = addressKey(socket.remoteAddress)
    if ((strangers.get(address) ?? 0) >= most) {
      // without an answer: for one it would have to wait for a request
      socket.destroy()
      return
    }
    const place = { address, among: strangers }
    count(strangers, address, 1)
    counted.set(socket, place)
    socket.once('close', () => count(place.among, address, -1))
  })

  return {
    recognize(socket) {
      const place = counted.get(socket)
      if (!place || socket.destroyed || place.among === recognized) return
      if ((recognized.get(place.address) ?? 0) >= MOST_RECOGNIZED) return
      count(strangers, place.address, -1)
      count(recognized, place.address, 1)
      place.among = recognized
    },
  }
}

function count(of: Map<string, number>, address: string, change: 1 | -1): void {
  const now = (of.get(address) ?? 0) + change
  if (now > 0) of.set(address, now)
  else of.delete(address)
}
