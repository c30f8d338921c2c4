/**
 * Opens the server's sockets in both address families, so that no agent can listen on the address that a browser tries first for
 * `localhost`. Or it serves inherited sockets of systemd (docs/operations.md).
 */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'

const OTHER_FAMILY: Record<string, string> = {
  '127.0.0.1': '::1',
  '::1': '127.0.0.1',
  '0.0.0.0': '::',
  '::': '0.0.0.0',
}
/** Error codes of `listen` if the machine lacks the address family. */
const NO_SUCH_FAMILY = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']
/** Attempts to find a port that is free in both families. */
const FREE_PORT_TRIES = 20

interface ListenOptions {
  host: string
  /** 0: any port that is free in both families */
  port: number
  /** inherited file descriptors of listening sockets; they replace `host` and `port` */
  sockets: readonly number[]
}

export interface Listening {
  /** Throws the error of `listen`; then no socket is open. */
  listen(options: ListenOptions): Promise<void>
  /** Null: not listening, or not on a port. */
  address(): { host: string; port: number } | null
}

/** Call it before `fastify.ready()`. */
export function createListening(fastify: FastifyInstance): Listening {
  /** Their connections are passed to Fastify's server. */
  const otherServers = new Set<net.Server>()
  /** Requested host, possibly a name; null: use the socket's address. */
  let host: string | null = null
  let closed: Promise<unknown> = Promise.resolve()
  fastify.addHook('preClose', async () => {
    closed = Promise.all([...otherServers].map((other) => once(other.close(), 'close')))
  })
  // after the last request of Fastify's connections
  fastify.addHook('onClose', async () => void (await closed))

  async function listenAlso(options: net.ListenOptions): Promise<net.Server> {
    // same options as Node's HTTP servers
    const other = net.createServer({ allowHalfOpen: true, noDelay: true })
    other.on('connection', (socket) => fastify.server.emit('connection', socket))
    other.listen(options)
    await once(other, 'listening')
    otherServers.add(other)
    return other
  }

  async function listenOnSockets([first, ...more]: readonly number[]): Promise<void> {
    await Promise.all(more.map((fd) => listenAlso({ fd } as net.ListenOptions)))
    // with the default `localhost` Fastify would open more addresses
    await fastify.listen({ fd: first, host: '127.0.0.1' } as FastifyListenOptions)
  }

  async function listenOnBothFamilies(asked: string, counterpart: string, port: number): Promise<void> {
    const other = await listenAlso({ host: counterpart, port, ipv6Only: true }).catch((error) => {
      if (NO_SUCH_FAMILY.includes(error.code)) return null
      throw error
    })
    try {
      const same = other ? (other.address() as AddressInfo).port : port
      await fastify.listen({ host: asked, port: same, ipv6Only: true })
    } catch (error) {
      if (other) otherServers.delete(other.close())
      throw error
    }
  }

  return {
    async listen(options) {
      const { port, sockets } = options
      if (sockets.length > 0) return listenOnSockets(sockets)
      host = options.host
      const asked = host === 'localhost' ? '127.0.0.1' : host
      const counterpart = OTHER_FAMILY[asked]
      if (!counterpart) return void (await fastify.listen({ host, port }))
      for (let left = FREE_PORT_TRIES; ; left--) {
        try {
          return await listenOnBothFamilies(asked, counterpart, port)
        } catch (error) {
          if (port !== 0 || left === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
        }
      }
    },
    address() {
      const bound = fastify.server.address()
      if (bound === null || typeof bound === 'string') return null
      return { host: host ?? bound.address, port: bound.port }
    },
  }
}
