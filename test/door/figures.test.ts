// What the door counts of a deployment's requests, and the ids that it gives them.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { AppProxy } from '../../src/door/proxy.ts'
import { freePort } from '../support/free-port.ts'
import { openPort } from './support.ts'

let seen: http.IncomingHttpHeaders = {}
const agent = http.createServer((request, response) => {
  seen = request.headers
  if (request.url === '/missing') response.statusCode = 404
  if (request.url === '/events') {
    response.setHeader('content-type', 'text/event-stream')
    return void response.write('data: one\n\n')
  }
  request.resume().on('end', () => response.end('x'.repeat(1000)))
})
new WebSocketServer({ server: agent }).on('connection', (_socket, request) => {
  seen = request.headers
})

let url: string
let proxy: AppProxy
let closePort: () => void
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
})
beforeEach(async () => {
  closePort?.()
  proxy = new AppProxy()
  const port = await freePort()
  closePort = await openPort({ port, host: '127.0.0.1' }, proxy)
  proxy.setUpstream({ id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  url = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  closePort()
  await proxy.close()
  agent.closeAllConnections()
  agent.close()
})

test('requests are counted by status, with their durations and bytes', async () => {
  for (const path of ['/', '/', '/missing']) await (await fetch(url + path)).text()
  await (await fetch(url, { method: 'POST', body: 'x'.repeat(500) })).text()
  await expect.poll(() => proxy.figures.read().requestsOpen).toBe(0)
  const { answers, durations, durationSum, received, sent } = proxy.figures.read()
  expect(answers).toEqual({ none: 0, '1xx': 0, '2xx': 3, '3xx': 0, '4xx': 1, '5xx': 0 })
  expect(durations.at(-1)).toEqual({ le: null, count: 4 })
  expect(durations.map(({ count }) => count)).toEqual(durations.map(({ count }) => count).sort((a, b) => a - b))
  expect(durationSum).toBeGreaterThan(0)
  // each byte once, on connections that are used again, too
  expect(received).toBeGreaterThan(500)
  expect(received).toBeLessThan(3000)
  expect(sent).toBeGreaterThan(4000)
  expect(sent).toBeLessThan(7000)
})

test('streams and WebSockets are counted while they are open, and streams have no duration', async () => {
  const stream = await fetch(`${url}/events`)
  const socket = new WebSocket(url.replace('http', 'ws'))
  await once(socket, 'open')
  expect(proxy.figures.read()).toMatchObject({ requestsOpen: 1, webSocketsOpen: 1 })
  await stream.body!.cancel()
  socket.close()
  await expect.poll(() => proxy.figures.read()).toMatchObject({ requestsOpen: 0, webSocketsOpen: 0 })
  const { answers, durations } = proxy.figures.read()
  expect(answers).toMatchObject({ '1xx': 1, '2xx': 1 })
  expect(durations.at(-1)!.count).toBe(0)
})

test('a request without ids gets them, and the answer has the id of the request', async () => {
  const answer = await fetch(url)
  expect(seen.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  expect(seen['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  expect(answer.headers.get('x-request-id')).toBe(seen['x-request-id'])
})

test('ids of the client are passed on, for WebSockets too', async () => {
  const headers = {
    'x-request-id': 'mine',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
    tracestate: 'a=1',
  }
  expect((await fetch(url, { headers })).headers.get('x-request-id')).toBe('mine')
  expect(seen).toMatchObject(headers)
  const socket = new WebSocket(url.replace('http', 'ws'), { headers })
  await once(socket, 'open')
  expect(seen).toMatchObject(headers)
  socket.terminate()
})

test('an invalid traceparent is replaced', async () => {
  const traceparent = '00-00000000000000000000000000000000-00f067aa0ba902b7-01'
  await fetch(url, { headers: { traceparent, tracestate: 'a=1' } })
  expect(seen.traceparent).not.toBe(traceparent)
  expect(seen.tracestate).toBeUndefined()
})
