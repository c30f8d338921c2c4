/** Keys of addresses, trusted proxies, the limit of unauthenticated connections, and the timeout of headers. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import net from 'node:net'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { limitConnections, markAuthenticated } from '../../src/api/limits/address-limits.ts'
import { closeHttp, createHttp } from '../../src/api/server/http.ts'
import { addressKey, matcher } from '../../src/platform/http/client-address.ts'

const closing: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function server({ most = 2, proxies = [] as string[], headerTime = 60_000 } = {}) {
  const fastify = createHttp({
    log: pino({ level: 'silent' }),
    notReadyReason: async () => null,
    headerTimeoutMs: headerTime,
  })
  limitConnections(fastify.server, { maxPerAddress: most, isTrustedProxy: matcher(proxies) })
  fastify.get('/recognized', async (request) => {
    markAuthenticated(request.raw.socket)
    return 'known'
  })
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  closing.push(() => closeHttp(fastify, 20))
  const { port } = fastify.server.address() as AddressInfo
  return {
    async connect(): Promise<Socket> {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('error', () => {})
      closing.push(() => void socket.destroy())
      await once(socket, 'connect')
      return socket
    },
  }
}

/** Sends a request on this connection. Returns the status, or null if the connection is closed. */
async function ask(socket: Socket, path = '/healthz'): Promise<string | null> {
  const answer = once(socket, 'data').then(([data]) => String(data).slice(9, 12))
  const closed = once(socket, 'close').then(() => null)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return Promise.race([answer, closed])
}

test('connections above an address’s limit are closed, and a new one is accepted after one ends', async () => {
  const { connect } = await server()
  const [first, second] = [await connect(), await connect()]
  expect(await ask(first)).toBe('200')
  expect(await ask(second)).toBe('200')
  expect(await ask(await connect())).toBeNull()
  first.end()
  await once(first, 'close')
  expect(await ask(await connect())).toBe('200')
})

test('a connection that sent a valid key does not count as unauthenticated', async () => {
  const { connect } = await server()
  for (let i = 0; i < 5; i++) expect(await ask(await connect(), '/recognized')).toBe('200')
})

test('connections of a trusted proxy are not counted, and 0 disables the limit', async () => {
  for (const options of [{ proxies: ['127.0.0.0/8'] }, { most: 0 }]) {
    const { connect } = await server(options)
    for (let i = 0; i < 5; i++) expect(await ask(await connect())).toBe('200')
  }
})

test('late headers are answered 408, and so is a connection that sends nothing', async () => {
  const { connect } = await server({ headerTime: 100 })
  const [slow, silent] = [await connect(), await connect()]
  slow.write('GET /healthz HTTP/1.1\r\nX-Slow: ')
  for (const socket of [slow, silent]) {
    const [data] = await once(socket, 'data')
    expect(String(data)).toContain('408')
  }
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::1', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['nonsense', 'unknown'],
  [undefined, 'unknown'],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

test('a proxy matches by address and range, also as an IPv4-mapped IPv6 address', () => {
  const trusted = matcher(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
  for (const one of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:db8::5']) expect(trusted(one), one).toBe(true)
  for (const one of ['11.0.0.1', '192.0.2.2', '2001:db9::1', 'nonsense', undefined])
    expect(trusted(one), one).toBe(false)
  expect(matcher([])('127.0.0.1')).toBe(false)
})
