// Limits of one deployment's requests at the door.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { Bounds } from '../../src/dataplane/process/door/messages.ts'
import { Address } from '../../src/door/address.ts'
import { Turns } from '../../src/door/bounds.ts'
import { freePort } from '../support/free-port.ts'
import { openListeners } from './support.ts'

const NONE: Bounds = {
  requests: null,
  requestsPerSecond: null,
  clientRequestsPerSecond: null,
  bodyBytes: null,
  headerMs: 60_000,
  idleMs: null,
  trustProxy: [],
}
/** too slow to allow another request during a test */
const SLOW = 0.001
/** path of each request that the agent read to its end */
let complete: string[] = []
/** answers at /held that the agent has not ended */
const held: http.ServerResponse[] = []
const agent = http.createServer((request, response) => {
  request.resume().on('end', () => complete.push(request.url!))
  if (request.url !== '/held') return void request.on('end', () => response.end('ok'))
  response.write('begin')
  held.push(response)
})
new WebSocketServer({ server: agent })

let port: number
let address: Address
const sockets: net.Socket[] = []
beforeEach(async () => {
  complete = []
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  port = await freePort()
})
afterEach(async () => {
  for (const response of held.splice(0)) response.end()
  for (const socket of sockets.splice(0)) socket.destroy()
  await address.close()
  agent.closeAllConnections()
  agent.close()
})

/** Opens an address with these bounds, and resolves when it listens. */
async function open(bounds: Partial<Bounds>): Promise<void> {
  address = new Address(openListeners('bounded'), 'bounded')
  const opened = new Promise<void>((resolve) => {
    address.onListening = () => resolve()
  })
  apply(bounds)
  await opened
}

function apply(bounds: Partial<Bounds>, held = false): void {
  const upstream = { id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port }
  const place = { port, host: '0.0.0.0' }
  address.apply({ address: place, upstream, held, ending: [], bounds: { ...NONE, ...bounds } })
}

/** Resolves with the head of the answer; its body may go on. */
async function call(options: http.RequestOptions = {}, body = ''): Promise<http.IncomingMessage> {
  const request = http.request({ host: '127.0.0.1', port, agent: false, ...options })
  request.on('error', () => undefined)
  request.end(body)
  const [response] = await once(request, 'response')
  return response
}
const statusOf = async (options?: http.RequestOptions, body?: string) => {
  const response = await call(options, body)
  response.resume()
  return response.statusCode
}
async function json(response: http.IncomingMessage) {
  let text = ''
  for await (const chunk of response) text += chunk
  return JSON.parse(text)
}
function connect(text: string): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined).write(text)
  return socket
}

test('requests above the limit of open ones get 503 until one ends; streams and WebSockets count', async () => {
  await open({ requests: 2 })
  const stream = await call({ path: '/held' })
  stream.resume()
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(socket, 'open')

  const refused = await call()
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '2'])
  expect(await json(refused)).toMatchObject({ code: 'UNAVAILABLE', detail: expect.stringContaining('open requests') })
  const [error] = await once(new WebSocket(`ws://127.0.0.1:${port}`), 'error')
  expect(error.message).toContain('503')

  socket.close()
  await once(socket, 'close')
  expect(await statusOf()).toBe(200)
})

test('a client above its rate gets 429, and another client is served', async () => {
  await open({ clientRequestsPerSecond: SLOW })
  expect(await statusOf()).toBe(200)
  const refused = await call()
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '1000'])
  expect(await json(refused)).toMatchObject({ code: 'RATE_LIMITED', detail: expect.stringContaining('This client') })
  expect(await statusOf({ localAddress: '127.0.0.2' })).toBe(200)
  expect(await statusOf({ headers: { 'x-forwarded-for': '192.0.2.1' } })).toBe(429)
})

test('behind a trusted proxy, X-Forwarded-For names the client', async () => {
  await open({ clientRequestsPerSecond: SLOW, trustProxy: ['127.0.0.1', '10.0.0.0/8'] })
  const from = (clients: string) => statusOf({ headers: { 'x-forwarded-for': clients } })
  expect(await from('192.0.2.1')).toBe(200)
  expect(await from('192.0.2.2')).toBe(200)
  // what the client sends itself does not count
  expect(await from('192.0.2.3, 192.0.2.1, 10.0.0.1')).toBe(429)
})

test('a deployment above its rate gets 429 from all clients, and a new state does not refill it', async () => {
  await open({ requestsPerSecond: SLOW })
  expect(await statusOf()).toBe(200)
  apply({ requestsPerSecond: SLOW }, true)
  apply({ requestsPerSecond: SLOW })
  expect(await statusOf({ localAddress: '127.0.0.2' })).toBe(429)
})

test.for([
  ['with a length', { 'content-length': '11' }],
  ['without a length', { 'transfer-encoding': 'chunked' }],
] as const)('a body %s above the limit gets 413, and the agent never gets a complete request', async ([, headers]) => {
  await open({ bodyBytes: 10 })
  expect(await statusOf({ method: 'POST', path: '/allowed' }, '1234567890')).toBe(200)
  const large = { ...headers }
  const refused = await call({ method: 'POST', path: '/large', headers: large }, '12345678901')
  expect(refused.statusCode).toBe(413)
  expect(await json(refused)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  expect(await statusOf({ path: '/after' })).toBe(200)
  expect(complete).toEqual(['/allowed', '/after'])
})

test('a client that sends on after 413 is read, and its connection can be used again', async () => {
  await open({ bodyBytes: 10 })
  const socket = connect('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n1234567890')
  const [first] = await once(socket, 'data')
  expect(String(first)).toContain('HTTP/1.1 413 ')
  socket.write('1234567890GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [second] = await once(socket, 'data')
  expect(String(second)).toContain('HTTP/1.1 200 ')
})

test('a connection whose headers do not arrive is closed', async () => {
  await open({ headerMs: 100 })
  const socket = connect('GET / HTTP/1.1\r\nHost')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 408 ')
  await once(socket, 'close')
})

test('a connection without traffic is closed, and a stream with traffic stays open', async () => {
  await open({ idleMs: 400 })
  const idle = await call({ path: '/held' })
  const silent = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(silent, 'open')
  const busy = await call({ path: '/held' })
  busy.resume()
  const traffic = setInterval(() => held[1]!.write('more'), 50)
  idle.resume()
  const [[error]] = await Promise.all([once(idle, 'error'), once(silent, 'close')])
  expect(error.message).toBe('aborted')
  held[1]!.end()
  clearInterval(traffic)
  await once(busy, 'end')
  expect(busy.complete).toBe(true)
})

test('an offer of WebSocket among other protocols gets 400', async () => {
  await open({})
  const socket = connect('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, other\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toContain('HTTP/1.1 400 ')
})

test.each([
  ['eight of a deployment that is alone', 8],
  ['one of a deployment that is not alone', 1],
])('of many requests at one moment, %s begin in each turn of the event loop, in their order', async (_, perTurn) => {
  const turns = new Turns()
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  turns.take(() => undefined)
  vi.advanceTimersByTime(100)
  if (perTurn === 1) new Turns().take(() => undefined)
  const begun: number[] = []
  for (let n = 0; n < 21; n++) turns.take(() => begun.push(n))
  const counts = [begun.length]
  while (counts.at(-1) !== 21) {
    await new Promise((resolve) => setImmediate(resolve))
    counts.push(begun.length)
  }
  expect(Math.max(...counts.map((count, i) => count - (counts[i - 1] ?? 0)))).toBe(perTurn)
  expect(begun).toEqual([...begun].sort((a, b) => a - b))
})
