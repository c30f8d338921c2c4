// The proxy with agents and clients that break the rules of HTTP.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FrameBoundaries } from '../../src/door/endings.ts'
import { AppProxy } from '../../src/door/proxy.ts'
import { freePort } from '../support/free-port.ts'
import { openPort } from './support.ts'

const GOOD = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const GET = 'GET / HTTP/1.1\r\nHost: agent\r\n\r\n'
const LAST = 'GET /last HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n'
/** the agent's answer, except to `/last` */
let answers = GOOD
let asked = ''
const agent = net.createServer((socket) => {
  socket.on('error', () => undefined)
  socket.once('data', (data) => {
    if (data.toString().startsWith('GET /last ')) return socket.end(GOOD)
    asked = data.toString()
    socket.end(answers, 'latin1')
  })
})
const proxy = new AppProxy()
let port: number
let closePort: () => void
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  port = await freePort()
  closePort = await openPort({ port, host: '127.0.0.1' }, proxy)
  useAgent()
})
afterAll(async () => {
  closePort()
  await proxy.close()
  agent.close()
})

const useAgent = () =>
  proxy.setUpstream({ id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })

/** Sends each request after the previous answer, and returns all bytes received. The last request closes the connection. */
async function exchange(...requests: string[]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let all = ''
  for (const request of requests) {
    socket.write(request)
    const [data] = await once(socket, 'data')
    all += data.toString('latin1')
  }
  socket.on('data', (data) => {
    all += data.toString('latin1')
  })
  if (!socket.closed) await once(socket, 'close')
  return all
}

/** Parses status and body of each answer on a connection. */
function read(text: string): { status: number; body: string }[] {
  const found: { status: number; body: string }[] = []
  while (text !== '') {
    const end = text.indexOf('\r\n\r\n') + 4
    const head = text.slice(0, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    const chunked = /transfer-encoding: chunked/i.test(head)
      ? /^(.+)\r\n([\s\S]*?)\r\n0\r\n\r\n/.exec(text.slice(end))
      : null
    const length = status === 304 ? 0 : (chunked?.[0].length ?? Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0))
    found.push({ status, body: chunked?.[2] ?? text.slice(end, end + length) })
    text = text.slice(end + length)
  }
  return found
}

test.for([
  ['with an unknown status', 'HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nhi'],
  ['longer than its content-length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more'],
  ['with a forbidden body', 'HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\nhello'],
  ['that switches protocols', 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nhello'],
  ['that switches to no protocol', 'HTTP/1.1 101 X\r\n\r\n'],
  ['that is not HTTP', 'hello\r\n\r\n'],
])('an answer %s becomes a complete 502, and the connection stays open', async ([, answer]) => {
  answers = answer!
  const [first, second] = read(await exchange(GET, LAST))
  expect(first).toMatchObject({
    status: 502,
    body: expect.stringMatching(/^\{"detail":"The agent did not answer.*\}$/),
  })
  expect(second).toEqual({ status: 200, body: 'ok' })
})

test.for([
  ['an odd reason phrase', 'HTTP/1.1 200 O\x7fK\r\nContent-Length: 2\r\n\r\nhi', 'hi'],
  ['announced trailers that never come', 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nContent-Length: 2\r\n\r\nhi', 'hi'],
  ['an encoding that ends with the connection', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhi', 'hi'],
  ['status 304 and a content-length', 'HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n', ''],
])('an answer with %s is forwarded', async ([, answer, body]) => {
  answers = answer!
  const [first, second] = read(await exchange(GET, LAST))
  expect(first).toEqual({ status: Number(answer!.slice(9, 12)), body })
  expect(second).toEqual({ status: 200, body: 'ok' })
})

test('GETs in a row share a connection to the agent until another agent serves', async () => {
  let [opened, closed] = [0, 0]
  const keeping = http.createServer((_request, response) => response.end('ok'))
  keeping.on('connection', (socket) => {
    opened++
    socket.once('close', () => closed++)
  })
  keeping.listen(0, '127.0.0.1')
  await once(keeping, 'listening')
  proxy.setUpstream({ id: 'keeping', host: '127.0.0.1', port: (keeping.address() as AddressInfo).port })
  const all = await exchange(GET, GET, GET, LAST)
  expect(read(all)).toEqual(Array.from({ length: 4 }, () => ({ status: 200, body: 'ok' })))
  expect([opened, closed]).toEqual([1, 0])
  useAgent()
  await expect.poll(() => closed).toBe(1)
  keeping.close()
})

test('bytes that an agent sends after its answer are not the answer to the next request', async () => {
  const sent: Promise<void>[] = []
  const talkative = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      socket.write(GOOD)
      sent.push(
        new Promise((resolve) => {
          setImmediate(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong', () => resolve()))
        }),
      )
    })
  })
  talkative.listen(0, '127.0.0.1')
  await once(talkative, 'listening')
  proxy.setUpstream({ id: 'talkative', host: '127.0.0.1', port: (talkative.address() as AddressInfo).port })
  for (let requests = 1; requests <= 5; requests++) {
    expect(read(await exchange(LAST))).toEqual([{ status: 200, body: 'ok' }])
    await Promise.all(sent)
  }
  useAgent()
  talkative.close()
})

test('a request on a connection that the agent has just closed is sent again if it is a GET, and a POST never uses one', async () => {
  const requests: string[] = []
  // answers the first request of each connection, and closes the connection when it gets a second one
  const closing = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      requests.push(data.toString().split(' ')[0]!)
      socket.write(GOOD)
      socket.on('data', () => socket.destroy())
    })
  })
  closing.listen(0, '127.0.0.1')
  await once(closing, 'listening')
  const { port: at } = closing.address() as AddressInfo
  proxy.setUpstream({ id: 'closing', host: '127.0.0.1', port: at })
  const post = 'POST / HTTP/1.1\r\nHost: agent\r\nContent-Length: 2\r\n\r\nhi'
  const all = await exchange(GET, GET, post, post, GET, LAST)
  expect(read(all)).toEqual(Array.from({ length: 6 }, () => ({ status: 200, body: 'ok' })))
  expect(requests).toEqual(['GET', 'GET', 'POST', 'POST', 'GET', 'GET'])
  useAgent()
  closing.close()
})

test('a GET is not sent again when the agent has begun to answer', async () => {
  let requests = 0
  const breaking = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      requests++
      socket.write(requests === 1 ? GOOD : 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n')
    })
  })
  breaking.listen(0, '127.0.0.1')
  await once(breaking, 'listening')
  proxy.setUpstream({ id: 'breaking', host: '127.0.0.1', port: (breaking.address() as AddressInfo).port })
  const [first, second] = read(await exchange(GET, LAST))
  expect(first).toEqual({ status: 200, body: 'ok' })
  expect(second).toMatchObject({ status: 502 })
  expect(requests).toBe(2)
  useAgent()
  breaking.close()
})

test('requests of a client that sent several and left are ended', async () => {
  const open = new Set<net.Socket>()
  const silent = net.createServer((socket) => {
    open.add(socket.on('error', () => undefined).resume())
    socket.once('close', () => open.delete(socket))
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  proxy.setUpstream({ id: 'silent', host: '127.0.0.1', port: (silent.address() as AddressInfo).port })
  const client = net.connect(port, '127.0.0.1')
  client.write(GET + GET + GET)
  await expect.poll(() => open.size).toBe(3)
  client.destroy()
  await expect.poll(() => open.size).toBe(0)
  await proxy.idle('silent')
  useAgent()
  silent.close()
})

test('a refused WebSocket is closed, even if the client has sent more', async () => {
  proxy.setUpstream({ id: 'closed', host: '127.0.0.1', port: await freePort() })
  const client = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  client.write('GET / HTTP/1.1\r\nHost: agent\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1\.1 502 /)
  client.end('\x81\x02hi')
  await proxy.idle('closed')
  useAgent()
})

test('a request that announces trailers is forwarded without them', async () => {
  answers = GOOD
  const trailers = 'Host: agent\r\nTrailer: X-Sum\r\n'
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n'
  const all = await exchange(`GET / HTTP/1.1\r\n${trailers}\r\n`, `POST / HTTP/1.1\r\n${trailers}${chunked}`, LAST)
  expect(read(all)).toEqual(Array.from({ length: 3 }, () => ({ status: 200, body: 'ok' })))
  expect(asked).not.toMatch(/trailer/i)
})

test('headers of the client’s connection do not reach the agent', async () => {
  answers = GOOD
  await exchange(
    'GET / HTTP/1.1\r\nHost: agent\r\nConnection: X-Hop, Host\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nX-Mine: 2\r\n\r\n',
    LAST,
  )
  expect(asked).toMatch(/^host: agent\r$/im)
  expect(asked).toMatch(/^x-mine: 2\r$/im)
  expect(asked).not.toMatch(/x-hop|keep-alive: 5/i)
})

test('an HTTP/1.0 client gets an answer that has trailers', async () => {
  answers = 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n'
  expect(await exchange('GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhi$/)
})

test('a request with an h2c upgrade offer is answered, and the agent does not see the offer', async () => {
  answers = GOOD
  const offer =
    'Host: agent\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'
  const all = await exchange(
    `GET / HTTP/1.1\r\n${offer}\r\n`,
    `POST / HTTP/1.1\r\n${offer}Content-Length: 3\r\n\r\nabc`,
    LAST,
  )
  expect(read(all).map(({ status }) => status)).toEqual([200, 200, 200])
  expect(asked).toMatch(/^POST [\s\S]*\r\n\r\nabc$/)
  expect(asked).not.toMatch(/upgrade|http2/i)
})

test('a refused WebSocket upgrade is forwarded unchanged, without later bytes', async () => {
  answers = 'HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno and more'
  const all = await exchange('GET / HTTP/1.1\r\nHost: agent\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  expect(all).toMatch(/^HTTP\/1\.1 403 No\r\n[\s\S]*\r\n\r\n/)
  expect(all).not.toContain('502')
})

test('a WebSocket that ends inside a frame gets no close frame', async () => {
  const upgrade = 'GET / HTTP/1.1\r\nHost: agent\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  proxy.markEnding(['agent'])
  const frames = async () => (await exchange(upgrade)).split('\r\n\r\n')[1]
  answers = `${head}\x81\x05he`
  expect(await frames()).toBe('\x81\x05he')
  answers = `${head}\x81\x02he`
  expect(await frames()).toBe('\x81\x02he\x88\x02\x03\xe9')
})

test('frame boundaries are found in any chunking', () => {
  const frames: [head: number[], payload: number][] = [
    [[0x82, 0x00], 0],
    [[0x01, 0x7d], 125],
    [[0x80, 0x7e, 0x01, 0x02], 258],
    [[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 1], 65_537],
    [[0x81, 0x82, 1, 2, 3, 4], 2],
  ]
  for (const [head, payload] of frames)
    for (const step of [1, 3, 100_000]) {
      const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(payload, 0x88)])
      const boundaries = new FrameBoundaries()
      for (let at = 0; at < bytes.length; at += step) {
        boundaries.take(bytes.subarray(at, at + step))
        expect(boundaries.open).toBe(at + step < bytes.length)
      }
      expect(boundaries.closed).toBe(false)
    }
})
