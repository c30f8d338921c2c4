// Protocols at the door: HTTP/1.1, HTTP/2 over TLS, and HTTP/2 without TLS behind a proxy.
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Listener } from '../../src/door/listener.ts'
import { AppProxy } from '../../src/door/proxy.ts'
import { FIRST_CERTIFICATE } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { openListeners } from './support.ts'

const HINT = '</style.css>; rel=preload; as=style'

/** The agent. Its answers are named by the path. */
async function respond(request: http.IncomingMessage, response: http.ServerResponse) {
  asked = request
  switch (request.url) {
    case '/hints':
      return response.writeEarlyHints({ link: [HINT, '</b.js>; rel=preload'], 'set-cookie': 'a=b' }, () =>
        response.end('done'),
      )
    case '/trailers': {
      const body = await text(request)
      response.writeHead(200, { trailer: 'X-Sum' })
      response.write(JSON.stringify({ body, trailers: request.trailers }))
      response.addTrailers({ 'x-sum': '7', 'set-cookie': 'a=b' })
      return response.end()
    }
    case '/echo':
      return request.pipe(response)
    case '/cut':
      response.writeHead(200).write('begin')
      return setImmediate(() => response.destroy())
    case '/999':
      return request.socket.end('HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nhi')
    case '/headers':
      return response.end(JSON.stringify(request.headers))
    default:
      response.setHeader('x-url', request.url!)
      return response.end(`${request.method} ${await text(request)}`)
  }
}
const agent = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => void respond(request, response))
let asked: http.IncomingMessage

const listeners = openListeners('one')
const proxy = new AppProxy()
let port: number
let listener: Listener
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  proxy.setUpstream({ id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  listeners.certificates.set(FIRST_CERTIFICATE)
  port = await freePort()
  await new Promise<void>((resolve) => {
    const place = { port, host: '127.0.0.1', name: 'one', hosts: ['one.localhost'], tls: true }
    listener = listeners.add({ deployment: 'one', place, proxy, onListening: () => resolve() })
  })
})
afterAll(async () => {
  listener.close()
  await proxy.close()
  agent.close()
})

const sessions: http2.ClientHttp2Session[] = []
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy()
})
function connect(scheme: 'http' | 'https'): http2.ClientHttp2Session {
  const lookup = { host: '127.0.0.1', ca: FIRST_CERTIFICATE.cert, servername: 'one.localhost' }
  const session = http2.connect(`${scheme}://one.localhost:${port}`, lookup as http2.SecureClientSessionOptions)
  session.on('error', () => undefined)
  sessions.push(session)
  return session
}

interface Result {
  status: number
  headers: http2.IncomingHttpHeaders
  body: string
}
async function read(stream: http2.ClientHttp2Stream): Promise<Result> {
  const answered = once(stream, 'response')
  const body = text(stream)
  const [headers] = await answered
  return { status: headers[':status'], headers, body: await body }
}
const ask = (session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders, body?: string) => {
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return read(stream)
}

test.for(['https', 'http'] as const)(
  '%s: requests over HTTP/2 share a connection, and the agent gets HTTP/1.1',
  async (scheme) => {
    const session = connect(scheme)
    const requests = [
      ask(session, { ':path': '/x?y' }),
      ask(session, { ':method': 'POST', ':path': '/x?y' }, 'body'),
      ask(session, { ':method': 'GET', ':path': '/x?y' }, 'body'),
      ask(session, { ':method': 'DELETE', ':path': '/x?y' }, ''),
    ]
    const answers = await Promise.all(requests)
    expect(answers.map(({ body }) => body)).toEqual(['GET ', 'POST body', 'GET body', 'DELETE '])
    expect(answers.map(({ status, headers }) => [status, headers['x-url']])).toEqual(Array(4).fill([200, '/x?y']))
    const head = await ask(session, { ':method': 'HEAD', ':path': '/' })
    expect([head.status, head.body]).toEqual([200, ''])
    const headers = JSON.parse(
      (await ask(session, { ':path': '/headers', cookie: ['a=1', 'b=2'], te: 'trailers' })).body,
    )
    expect(headers).toMatchObject({
      host: `one.localhost:${port}`,
      cookie: 'a=1; b=2',
      'x-forwarded-proto': scheme,
      'x-forwarded-for': '127.0.0.1',
    })
    expect(Object.keys(headers).filter((name) => name.startsWith(':'))).toEqual([])
    expect((await ask(session, { ':path': '/', ':authority': 'two.localhost' })).status).toBe(401)
  },
)

test.for(['https', 'http'] as const)('%s: bodies stream both ways at the same time over HTTP/2', async (scheme) => {
  const stream = connect(scheme).request({ ':method': 'POST', ':path': '/echo' }, { endStream: false })
  for (const part of ['one', 'two', 'three']) {
    stream.write(part)
    expect(String((await once(stream, 'data'))[0])).toBe(part)
  }
  stream.end()
  await once(stream.resume(), 'end')
})

test('a large body passes both ways over HTTP/2', async () => {
  const stream = connect('https').request({ ':method': 'POST', ':path': '/echo' }, { endStream: false })
  const parts = Array.from({ length: 32 }, () => Buffer.alloc(1 << 20, 'x'))
  Readable.from(parts).pipe(stream)
  let received = 0
  for await (const part of stream) received += part.length
  expect(received).toBe(32 << 20)
})

test.for(['https', 'http'] as const)('%s: Early Hints and trailers pass over HTTP/2', async (scheme) => {
  const session = connect(scheme)
  const hinted = session.request({ ':path': '/hints' })
  const hints = once(hinted, 'headers')
  expect((await read(hinted)).body).toBe('done')
  const [{ link, 'set-cookie': cookie, ':status': status }] = await hints
  expect([status, link, cookie]).toEqual([103, `${HINT}, </b.js>; rel=preload`, undefined])

  const stream = session.request(
    { ':method': 'POST', ':path': '/trailers' },
    { endStream: false, waitForTrailers: true },
  )
  stream.on('wantTrailers', () =>
    stream.sendTrailers({ 'x-mine': '1', 'x-pilothouse-caller': 'forged', authorization: 'a' }),
  )
  const trailers = once(stream, 'trailers')
  stream.end('body')
  expect(JSON.parse((await read(stream)).body)).toEqual({ body: 'body', trailers: { 'x-mine': '1' } })
  expect(Object.entries((await trailers)[0])).toEqual([['x-sum', '7']])
})

/** Sends the text without TLS and returns all bytes received. */
async function raw(send: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  socket.write(send)
  return text(socket)
}

test('Early Hints and trailers pass over HTTP/1.1, and an HTTP/1.0 client gets neither', async () => {
  const host = 'Host: one.localhost\r\nConnection: close\r\n'
  const hinted = await raw(`GET /hints HTTP/1.1\r\n${host}\r\n`)
  expect(hinted).toMatch(/^HTTP\/1.1 103 Early Hints\r\nLink: .*\r\n\r\nHTTP\/1.1 200 OK\r\n/)
  expect(await raw(`GET /hints HTTP/1.0\r\n${host}\r\n`)).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\ndone$/)
  const chunked = 'Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Mine: 1\r\nX-Api-Key: secret\r\n\r\n'
  const answered = await raw(`POST /trailers HTTP/1.1\r\n${host}${chunked}`)
  expect(answered).toContain('{"body":"body","trailers":{"x-mine":"1"}}')
  expect(answered).toMatch(/\r\n0\r\nx-sum: 7\r\n\r\n$/i)
})

test('a client that waits for 100 Continue gets it when it is admitted, and only then', async () => {
  const expecting = (host: string) =>
    `POST / HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`
  const admitted = net.connect(port, '127.0.0.1')
  admitted.write(expecting('one.localhost'))
  expect(String((await once(admitted, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  admitted.write('body')
  expect(String((await once(admitted, 'data'))[0])).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(asked.headers.expect).toBeUndefined()
  admitted.destroy()
  // closed, because the client may or may not send its body
  expect(await raw(expecting('two.localhost'))).toMatch(/^HTTP\/1.1 401 Unauthorized\r\n[\s\S]*connection: close\r\n/i)

  const stream = connect('https').request(
    { ':method': 'POST', ':path': '/', expect: '100-continue' },
    { endStream: false },
  )
  await once(stream, 'continue')
  stream.end('body')
  expect((await read(stream)).body).toBe('POST body')
})

test('an answer that the agent breaks off is an error over HTTP/2, and an unknown status a 502', async () => {
  const session = connect('https')
  const cut = session.request({ ':path': '/cut' })
  await expect(read(cut)).rejects.toThrow()
  expect(cut.rstCode).toBe(http2.constants.NGHTTP2_INTERNAL_ERROR)
  expect((await ask(session, { ':path': '/999' })).status).toBe(502)
  expect((await ask(session, { ':path': '/' })).status).toBe(200)
})

test('limits of a deployment hold over HTTP/2', async () => {
  const none = { requestsPerSecond: null, clientRequestsPerSecond: null, idleMs: null }
  proxy.bounds.set({ ...none, requests: 1, bodyBytes: 5, headerMs: 10_000, trustProxy: [] })
  const session = connect('https')
  const post = (body: string, headers = {}) => ask(session, { ':method': 'POST', ':path': '/', ...headers }, body)
  expect((await post('12345')).body).toBe('POST 12345')
  expect([(await post('123456')).status, (await post('123456', { 'content-length': 6 })).status]).toEqual([413, 413])
  const open = session.request({ ':method': 'POST', ':path': '/echo' }, { endStream: false })
  open.write('x')
  await once(open, 'data')
  expect((await ask(session, { ':path': '/' })).status).toBe(503)
  const closed = once(open, 'close')
  open.close()
  await closed
  await expect.poll(async () => (await ask(session, { ':path': '/' })).status).toBe(200)
  proxy.bounds.set(undefined)
})

test('a client that resets thousands of streams loses its connection, and others are served', async () => {
  const [attacker, other] = [connect('http'), connect('http')]
  await once(attacker, 'connect')
  const lost = new Promise((resolve) => attacker.once('close', resolve))
  for (let i = 0; i < 5000 && !attacker.destroyed; i++) {
    const stream = attacker.request({ ':path': '/' })
    stream.on('error', () => undefined).close(http2.constants.NGHTTP2_CANCEL)
    if (i % 100 === 0) expect((await ask(other, { ':path': '/' })).status).toBe(200)
  }
  await lost
  expect((await ask(other, { ':path': '/' })).status).toBe(200)
})

/** A frame (RFC 9113, 4.1). */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.set([type, flags], 3)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
/** Fields as literals without indexing (RFC 7541, 6.2.2). */
const encode = (fields: string[][]) =>
  Buffer.concat(
    fields.flatMap(([name = '', value = '']) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  )
const [HEADERS, RST_STREAM, SETTINGS, GOAWAY] = [1, 3, 4, 7]

/** Sends a request that Node's client refuses to send. Returns the first byte of the answer's fields, or the kind of error. */
async function refused(fields: string[][]): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(Buffer.concat([frame(SETTINGS, 0, 0, Buffer.alloc(0)), frame(HEADERS, 5, 1, encode(fields))]))
  let all = Buffer.alloc(0)
  for await (const data of socket) {
    all = Buffer.concat([all, data])
    for (let at = 0; at + 9 <= all.length; at += 9 + all.readUIntBE(at, 3)) {
      const type = all[at + 3]
      if (type === RST_STREAM || type === GOAWAY) return 'error'
      // :status 400 in the static table (RFC 7541, A)
      if (type === HEADERS) return all[at + 9] === 0x8c ? '400' : `0x${all[at + 9]?.toString(16)}`
    }
  }
  return 'closed'
}
const [METHOD, SCHEME, PATH, AUTHORITY] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'one.localhost'],
]
const GOOD = [METHOD, SCHEME, PATH, AUTHORITY]

test('an authority in capitals, and a host that is the same, lead to the agent', async () => {
  expect(
    await refused([METHOD, SCHEME, PATH, [':authority', 'ONE.localhost.:80'], ['host', 'one.LOCALHOST.:80']]),
  ).toBe('0x88')
  expect(await refused([METHOD, SCHEME, PATH, ['host', 'one.localhost']])).toBe('0x88')
})

test('a header with a line break does not reach the agent', async () => {
  expect(await refused([...GOOD, ['x-name', 'a\r\nx-other: b']])).toBe('0x88')
  expect(Object.keys(asked.headers)).not.toEqual(expect.arrayContaining([expect.stringMatching('x-name|x-other')]))
})

test.for([
  ['another host than the authority', [...GOOD, ['host', 'two.localhost']], '400'],
  ['two hosts', [METHOD, SCHEME, PATH, ['host', 'one.localhost'], ['host', 'two.localhost']], 'error'],
  ['two authorities', [...GOOD, AUTHORITY], 'error'],
  ['no host', [METHOD, SCHEME, PATH], 'error'],
  ['an empty authority', [METHOD, SCHEME, PATH, [':authority', '']], 'error'],
  ['an authority with a user', [METHOD, SCHEME, PATH, [':authority', 'x@one.localhost']], '400'],
  ['a whole URL as path', [METHOD, SCHEME, [':path', 'http://two.localhost/'], AUTHORITY], 'error'],
  ['a connection header', [...GOOD, ['connection', 'close']], 'error'],
  ['a transfer-encoding', [...GOOD, ['transfer-encoding', 'chunked']], 'error'],
  ['an upgrade', [...GOOD, ['upgrade', 'websocket']], 'error'],
  ['a name in capitals', [...GOOD, ['X-Name', 'a']], 'error'],
  ['a line break in the path', [METHOD, SCHEME, [':path', '/ HTTP/1.1\r\nhost: two'], AUTHORITY], 'error'],
  ['a space in the method', [[':method', 'GET / HTTP/1.1'], SCHEME, PATH, AUTHORITY], 'error'],
  ['a pseudo-header after the others', [METHOD, SCHEME, PATH, ['x', 'y'], AUTHORITY], 'error'],
  ['a length and no body', [...GOOD, ['content-length', '5']], 'error'],
] as [string, string[][], string][])('a request over HTTP/2 with %s is refused', async ([, fields, expected]) => {
  expect(await refused(fields)).toBe(expected)
})

test('bytes that only begin like HTTP/2 are refused, and a slow preface is accepted', async () => {
  expect(await raw('PRI * HTTP/1.1\r\nHost: one.localhost\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
  const socket = net.connect(port, '127.0.0.1').setNoDelay()
  for (const byte of 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n') await new Promise((resolve) => socket.write(byte, resolve))
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  const [answer] = await once(socket, 'data')
  expect(answer[3]).toBe(SETTINGS)
  socket.destroy()
})

test('a door that hands over asks for a new connection, and its streams continue', async () => {
  const session = connect('https')
  const stream = session.request({ ':method': 'POST', ':path': '/echo' }, { endStream: false })
  stream.write('one')
  await once(stream, 'data')
  const asked = once(session, 'goaway')
  const drained = listener.handOver()
  await asked
  stream.write('two')
  expect(String((await once(stream, 'data'))[0])).toBe('two')
  stream.end()
  await once(stream.resume(), 'close')
  await drained
})
