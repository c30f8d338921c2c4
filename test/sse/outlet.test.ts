/** The bytes of a stream's response: HTTP/1.1 and 1.0, behind another answer, and for clients that read nothing. */
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { Batch, type Outlet } from '../../src/api/realtime/frames.ts'
import { Heartbeat } from '../../src/api/responses/heartbeat.ts'
import { openSse, type SseFormat, sseEvent } from '../../src/api/responses/outlet.ts'

const form: SseFormat = {
  name: 'test',
  frame: ({ cursor, text }) => sseEvent({ id: cursor, event: 'next', data: text }),
  complete: 'event: complete\ndata:\n\n',
  error: (error) => sseEvent({ event: 'error', data: (error as Error).message }),
}
const batch = (...texts: string[]) =>
  new Batch(
    texts.map((text, i) => ({ cursor: `c${i + 1}`, position: BigInt(i + 1), value: null, text })),
    BigInt(texts.length),
  )

/** The server's handlers by path. */
const routes: Record<string, (response: http.ServerResponse) => void> = {}
const server = http.createServer((request, response) => routes[request.url!]!(response))
const sockets: net.Socket[] = []
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => server.close())

/** A connection that sends requests unchanged, and everything that it received. */
async function connect(...requests: string[]) {
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1')
  sockets.push(socket)
  await once(socket, 'connect')
  const heard = { text: '', closed: false, socket, send: (request: string) => socket.write(`${request}\r\n\r\n`) }
  socket.setEncoding('utf8').on('data', (chunk) => {
    heard.text += chunk
  })
  socket.on('close', () => {
    heard.closed = true
  })
  for (const request of requests) heard.send(request)
  return heard
}

/** Opens an outlet for each request of the path as soon as it arrives. */
function streamAt(path: string, heartbeat = new Heartbeat(), stalled?: number): Promise<Outlet> {
  return new Promise((resolve) => {
    routes[path] = (response) => resolve(openSse(response, form, heartbeat, stalled))
  })
}

const body = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4)

/** Without the chunk sizes. */
const unchunked = (text: string) =>
  body(text)
    .replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
    .replace(/\r\n$/, '')

test('A stream has its position, events with their cursors, and a clean end, after which the connection serves the next request', async () => {
  const opened = streamAt('/stream')
  routes['/next'] = (response) => void response.end('next answer')
  const client = await connect('GET /stream HTTP/1.1\r\nHost: x')
  const outlet = await opened
  outlet.begin!('c0')
  outlet.send(batch('{"a":1}', '{"a":2}'))
  outlet.end({ complete: true })
  const events =
    ':\nid: c0\n\nid: c1\nevent: next\ndata: {"a":1}\n\nid: c2\nevent: next\ndata: {"a":2}\n\nevent: complete\ndata:\n\n'
  await expect.poll(() => unchunked(client.text)).toBe(events)
  expect(client.text).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  expect(client.text).toMatch(/^content-type: text\/event-stream/m)
  expect(client.text).toMatch(/^Transfer-Encoding: chunked/m)
  expect(client.text).toMatch(/\r\n0\r\n\r\n$/)
  client.send('GET /next HTTP/1.1\r\nHost: x')
  await expect.poll(() => client.text).toContain('next answer')
})

test('Node’s own client reads it', async () => {
  const opened = streamAt('/stream')
  const reading = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`)
  const outlet = await opened
  outlet.begin!(null)
  outlet.send(batch('"ä€🙂"'))
  outlet.end({ error: new Error('why') })
  expect(await (await reading).text()).toBe(':\n\nid: c1\nevent: next\ndata: "ä€🙂"\n\nevent: error\ndata: why\n\n')
})

test('A proxy of HTTP/1.0 gets plain text until the connection ends', async () => {
  const opened = streamAt('/stream')
  const client = await connect('GET /stream HTTP/1.0')
  const outlet = await opened
  outlet.begin!(null)
  outlet.send(batch('1'))
  await expect.poll(() => body(client.text)).toBe(':\n\nid: c1\nevent: next\ndata: 1\n\n')
  outlet.end({ complete: true })
  await expect.poll(() => client.closed).toBe(true)
  expect(body(client.text)).toBe(':\n\nid: c1\nevent: next\ndata: 1\n\nevent: complete\ndata:\n\n')
  expect(client.text).not.toMatch(/chunked/i)
})

test('A request sent before the previous answer has ended waits for it, and gets everything', async () => {
  let answer: http.ServerResponse | null = null
  routes['/slow'] = (response) => {
    answer = response
  }
  const opened = streamAt('/stream')
  const client = await connect('GET /slow HTTP/1.1\r\nHost: x', 'GET /stream HTTP/1.1\r\nHost: x')
  const outlet = await opened
  outlet.begin!('c0')
  expect(outlet.full).toBe(true)
  const drained = outlet.drained()
  answer!.end('slow answer')
  await drained
  outlet.send(batch('1'))
  outlet.end({ complete: true })
  await expect.poll(() => client.text).toMatch(/event: complete\ndata:\n\n\r\n0\r\n\r\n$/)
  expect(client.text.indexOf('slow answer')).toBeLessThan(client.text.indexOf('id: c0'))
  expect(client.text.indexOf('id: c0')).toBeLessThan(client.text.indexOf('id: c1'))
})

test('A client that does not read is full, and drained when it reads on', async () => {
  const opened = streamAt('/stream')
  const client = await connect('GET /stream HTTP/1.1\r\nHost: x')
  client.socket.pause()
  const outlet = await opened
  outlet.begin!(null)
  while (!outlet.full) outlet.send(batch('x'.repeat(100_000)))
  const drained = outlet.drained()
  client.socket.resume()
  await drained
  expect(outlet.full).toBe(false)
})

test('A client that never reads is cut off, and its end reported, also when its stream had already ended', async () => {
  for (const over of [false, true]) {
    const opened = streamAt('/stream', new Heartbeat(), 20)
    const client = await connect('GET /stream HTTP/1.1\r\nHost: x')
    client.socket.pause()
    const outlet = await opened
    let left = false
    outlet.onGone(() => {
      left = true
    })
    while (!outlet.full) outlet.send(batch('x'.repeat(100_000)))
    if (over) outlet.end({ complete: true })
    else await outlet.drained()
    client.socket.resume()
    await expect.poll(() => client.closed).toBe(true)
    expect(left).toBe(!over)
  }
})

test('A client that disconnects is reported, also one that was gone before', async () => {
  const opened = streamAt('/stream')
  const client = await connect('GET /stream HTTP/1.1\r\nHost: x')
  const outlet = await opened
  const gone = new Promise<void>((resolve) => outlet.onGone(resolve))
  client.socket.destroy()
  await gone
  await new Promise<void>((resolve) => outlet.onGone(resolve))
  // ignored
  outlet.send(batch('1'))
  outlet.end({ complete: true })
})

test('All streams get heartbeats, until they end', async () => {
  const heartbeat = new Heartbeat(10)
  const outlets: Outlet[] = []
  routes['/stream'] = (response) => void outlets.push(openSse(response, form, heartbeat))
  const clients = await Promise.all(Array.from({ length: 5 }, () => connect('GET /stream HTTP/1.1\r\nHost: x')))
  for (const client of clients) await expect.poll(() => unchunked(client.text)).toMatch(/^(:\n\n){3}/)
  for (const outlet of outlets) outlet.end({ complete: true })
  for (const client of clients) await expect.poll(() => client.text).toMatch(/\r\n0\r\n\r\n$/)
})

test('A client that was gone before its stream began gets no heartbeats and raises no error, also behind another answer', async () => {
  const heartbeat = new Heartbeat(5)
  for (const behind of [false, true]) {
    routes['/slow'] = () => {}
    const asked = new Promise<http.ServerResponse>((resolve) => {
      routes['/stream'] = resolve
    })
    const GET = 'GET /stream HTTP/1.1\r\nHost: x'
    const client = await connect(...(behind ? ['GET /slow HTTP/1.1\r\nHost: x', GET] : [GET]))
    const response = await asked
    const { socket } = response.req
    client.socket.destroy()
    await once(socket, 'close')
    // as the server does (api/server/http.ts)
    if (behind) Object.assign(response, { _closed: true })
    const outlet = openSse(response, form, heartbeat)
    await new Promise<void>((resolve) => outlet.onGone(resolve))
  }
  const opened = streamAt('/stream', heartbeat)
  const other = await connect('GET /stream HTTP/1.1\r\nHost: x')
  await opened
  await expect.poll(() => unchunked(other.text)).toMatch(/^(:\n\n){3}/)
})
