/** How the HTTP server stops and handles slow or broken requests. Tests of the transports cover its responses. */
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { closeHttp, createHttp } from '../../src/api/server/http.ts'

test('a response that its client never reads does not prevent the server’s stop', async () => {
  const fastify = createHttp({ log: pino({ level: 'silent' }), notReadyReason: async () => null })
  fastify.get('/endless', (_request, reply) => {
    reply.hijack()
    reply.raw.write('begun')
  })
  await fastify.listen({ port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const request = http.get({ port, path: '/endless' })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const cut = expect(once(response, 'end')).rejects.toThrow('aborted')
  await closeHttp(fastify, 20)
  await cut
})

/** A server that reads the body of POST /body and /slow, and a request whose body stops halfway. */
async function stalled(target: string) {
  const fastify = createHttp({ log: pino({ level: 'silent' }), notReadyReason: async () => null, bodyTimeoutMs: 100 })
  fastify.post('/body', async () => 'done')
  fastify.post('/slow', { config: { hasOwnBodyTimeout: true } }, async () => 'done')
  await fastify.listen({ port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const headers = { 'content-type': 'text/plain', 'content-length': 2 }
  const request = http.request({ port, path: target, method: 'POST', headers, agent: false })
  request.on('error', () => {})
  request.write('a')
  return { fastify, request }
}

test('a body that takes too long to arrive is answered with 408', async () => {
  const { fastify, request } = await stalled('/body')
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(response.statusCode).toBe(408)
  await closeHttp(fastify, 20)
})

test('a route with its own body timeout is not cut off', async () => {
  const { fastify, request } = await stalled('/slow')
  const { fastify: other, request: cut } = await stalled('/body')
  // when this one is cut off, the first would have been, too
  await once(cut, 'response')
  request.end('b')
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(response.statusCode).toBe(200)
  await Promise.all([closeHttp(fastify, 20), closeHttp(other, 20)])
})

const GET = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** A server that answers GET /slow when `answer` is called, and a connection to it. */
async function connected() {
  const fastify = createHttp({ log: pino({ level: 'silent' }), notReadyReason: async () => null })
  let answer: () => void = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  fastify.get('/slow', async () => {
    await answered
    return 'slow'
  })
  return { fastify, answer, connect: () => connectTo(fastify) }
}

async function connectTo(fastify: ReturnType<typeof createHttp>) {
  if (!fastify.server.listening) await fastify.listen({ port: 0 })
  const socket = net.connect((fastify.server.address() as AddressInfo).port).setEncoding('utf8')
  const heard = { text: '', socket, closed: once(socket, 'close') }
  socket.on('data', (text) => {
    heard.text += text
  })
  return heard
}

test('a WebSocket request pipelined behind an open request closes its connection, not the server', async () => {
  const { fastify, answer, connect } = await connected()
  const { socket, closed } = await connect()
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
  socket.write(GET('/slow') + GET('/graphql', upgrade))
  await closed
  const other = await connect()
  other.socket.write(GET('/healthz'))
  await expect.poll(() => other.text).toContain('"ok"')
  other.socket.destroy()
  answer()
  await closeHttp(fastify, 20)
})

test('a pipelined request notices that its client is gone', async () => {
  const { fastify, answer, connect } = await connected()
  let gone = 0
  fastify.get('/behind', (_request, reply) => {
    reply.hijack()
    reply.raw.once('close', () => {
      if (reply.raw.closed) gone++
    })
    socket.destroy()
  })
  const { socket } = await connect()
  socket.write(GET('/slow') + GET('/behind') + GET('/behind'))
  await expect.poll(() => gone).toBe(2)
  answer()
  await closeHttp(fastify, 20)
})

const WEB_SOCKET = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'

test.each([
  ['of HTTP/1.1', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['of HTTP/1.0', 'GET /healthz HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['in other letters', 'GET /healthz HTTP/1.1\r\nhost: x\r\nHOST: x\r\n\r\n'],
  ['with an absolute target', 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['to an unknown path', 'GET /nowhere HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
  ['that asks for a WebSocket', `GET /graphql HTTP/1.1\r\nHost: x\r\nHost: y\r\n${WEB_SOCKET}\r\n`],
])('a request %s with two Host headers is refused', async (_name, text) => {
  const { fastify, connect } = await connected()
  const heard = await connect()
  heard.socket.write(text)
  await heard.closed
  expect(heard.text).toMatch(/^HTTP\/1\.1 400 .*"code":"MALFORMED_REQUEST"/s)
  await closeHttp(fastify, 20)
})

test('a request on a kept connection to a stopping server gets a retryable answer', async () => {
  const { fastify, answer, connect } = await connected()
  const heard = await connect()
  const { socket, closed } = heard
  socket.write(GET('/slow'))
  await once(fastify.server, 'request')
  const stopped = closeHttp(fastify)
  await expect.poll(() => fastify.server.listening).toBe(false)
  socket.write(GET('/healthz'))
  await once(fastify.server, 'request')
  answer()
  await Promise.all([closed, stopped])
  const [, , second] = heard.text.split('HTTP/1.1 ')
  expect(second).toMatch(/^503 .*retry-after: 1.*"code":"UNAVAILABLE"/is)
})
