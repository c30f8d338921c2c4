/**
 * A TCP proxy in front of Postgres that acts like networks and fail-overs: connections that fall silent without an
 * end, that are cut, or refused. It can also cut a connection exactly at its COMMIT, before or after Postgres executes
 * it.
 */
import { once } from 'node:events'
import net from 'node:net'

export interface TcpProxy {
  /** The database's URL with the proxy's address. */
  url: string
  /**
   * Blocks all traffic on existing and new connections without ending them. `said`: only for connections whose client
   * sent this text first.
   */
  goSilent(said?: string): void
  /** New connections work again; silenced ones stay silent. */
  heal(): void
  /** `true`: ends every connection and refuses new ones; `false`: accepts them again. */
  away(is: boolean): void
  /** Ends this share of its connections, 0 to 1, chosen by `random`. */
  cut(share: number, random: () => number): void
  /**
   * Cuts the next connection that wrote events, at its COMMIT: `before` Postgres gets it, or `after` it was executed.
   * Resolves then.
   */
  cutAtCommit(when: 'before' | 'after'): Promise<void>
  close(): void
}

interface Pair {
  client: net.Socket
  server: net.Socket
  silent: boolean
  wrote: boolean
  /** The client's first message; null: none yet. */
  hello: string | null
}

export async function tcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  /** Clients whose first message contains this are blocked; empty: all; null: none. */
  let silenced: string | null = null
  let refusing = false
  let trap: { when: 'before' | 'after'; sprung(): void } | null = null

  const end = ({ client, server }: Pair) => {
    client.destroy()
    server.destroy()
  }
  const endAll = () => {
    for (const pair of [...pairs]) end(pair)
  }

  function relay(pair: Pair): void {
    const { client, server } = pair
    let sprung: (() => void) | null = null
    client.on('data', (data) => {
      if (pair.hello === null) {
        pair.hello = data.toString('latin1')
        pair.silent ||= silenced !== null && pair.hello.includes(silenced)
      }
      if (pair.silent) return
      pair.wrote ||= data.includes('INSERT INTO events')
      if (!trap || !pair.wrote || !data.includes('COMMIT\0')) return server.write(data)
      const { when } = trap
      sprung = trap.sprung
      trap = null
      if (when === 'after') return server.write(data)
      end(pair)
      sprung()
    })
    server.on('data', (data) => {
      if (pair.silent) return
      if (!sprung) return client.write(data)
      end(pair)
      sprung()
    })
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        end(pair)
        pairs.delete(pair)
      })
    }
  }

  const listener = net.createServer((client) => {
    if (refusing) return client.destroy()
    const server = net.connect(Number(port), hostname)
    const pair: Pair = { client, server, silent: silenced === '', wrote: false, hello: null }
    pairs.add(pair)
    relay(pair)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as net.AddressInfo).port)
  return {
    url: url.toString(),
    goSilent(said = '') {
      silenced = said
      for (const pair of pairs) pair.silent ||= (pair.hello ?? '').includes(said)
    },
    heal() {
      silenced = null
    },
    away(is) {
      refusing = is
      if (is) endAll()
    },
    cut(share, random) {
      for (const pair of [...pairs]) if (random() < share) end(pair)
    },
    cutAtCommit: (when) =>
      new Promise((resolve) => {
        trap = { when, sprung: resolve }
      }),
    close() {
      endAll()
      listener.close()
    },
  }
}
