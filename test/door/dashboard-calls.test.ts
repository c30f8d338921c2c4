// Calls of the dashboard's page: CORS, and the signed link's token in a header.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppProxy } from '../../src/door/proxy.ts'
import { freePort } from '../support/free-port.ts'
import { openListeners, openPort } from './support.ts'

/** as in `openListeners` */
const DASHBOARD = 'http://us'
/** Answers with the request's headers, and lets every page read them. */
const agent = http.createServer((request, response) => {
  response.setHeader('access-control-allow-origin', '*')
  response.setHeader('access-control-allow-credentials', 'true')
  response.setHeader('x-agent', request.method!)
  response.end(JSON.stringify(request.headers))
})
const proxy = new AppProxy()
let port: number
let closePort: () => void
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  proxy.setUpstream({ id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  port = await freePort()
  const place = { port, host: '127.0.0.1', name: 'echo', hosts: ['echo.localhost'] }
  closePort = await openPort(place, proxy, openListeners('echo', 'closed'))
})
afterAll(async () => {
  closePort()
  await proxy.close()
  agent.close()
})

async function call(path: string, method: string, headers: Record<string, string>) {
  const request = http.request({ port, host: '127.0.0.1', path, method, headers }).end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const chunks: Buffer[] = await response.toArray()
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() }
}
const preflight = (path: string, origin: string, names = 'content-type, x-pilothouse-link') =>
  call(path, 'OPTIONS', {
    host: 'echo.localhost',
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': names,
  })

test('the dashboard may send any method and header, to every name alike', async () => {
  const known = await preflight('/', DASHBOARD)
  expect(known).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': DASHBOARD,
      'access-control-allow-methods': 'PUT',
      'access-control-allow-headers': 'content-type, x-pilothouse-link',
    },
  })
  const unknown = await preflight('/~nobody/', DASHBOARD)
  expect({ ...unknown.headers, date: '' }).toEqual({ ...known.headers, date: '' })
})

test.for([
  ['another origin', 'http://us.example.com', undefined],
  ['another port', 'http://us:81', undefined],
  ['a page without an address', 'null', undefined],
  ['a question without the header', DASHBOARD, 'content-type'],
] as const)('%s gets the agent’s own rules', async ([, origin, names]) => {
  const asked = await preflight('/', origin, names)
  expect(asked).toMatchObject({ status: 200, headers: { 'x-agent': 'OPTIONS', 'access-control-allow-origin': '*' } })
  expect(asked.headers).not.toHaveProperty('access-control-allow-headers')
})

test('the dashboard reads the answer by host and by path, and the agent sees no page', async () => {
  for (const [host, path] of [
    ['echo.localhost', '/x'],
    ['127.0.0.1', '/~echo/x'],
  ] as const) {
    const page = { origin: DASHBOARD, referer: `${DASHBOARD}/w/1`, 'sec-fetch-site': 'cross-site' }
    const answer = await call(path, 'POST', { host, ...page, 'x-pilothouse-link': '', other: 'stays' })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': DASHBOARD,
      'access-control-expose-headers': '*',
      'x-agent': 'POST',
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
    const received = JSON.parse(answer.body) as Record<string, string>
    expect(received.other).toBe('stays')
    for (const name of ['origin', 'referer', 'sec-fetch-site', 'x-pilothouse-link'])
      expect(received).not.toHaveProperty(name)
  }
})

test('the dashboard reads why the door refuses', async () => {
  const answer = await call('/~nobody/', 'GET', { host: '127.0.0.1', origin: DASHBOARD, 'x-pilothouse-link': 'wrong' })
  expect(answer).toMatchObject({ status: 401, headers: { 'access-control-allow-origin': DASHBOARD } })
  const foreign = await call('/~nobody/', 'GET', { host: '127.0.0.1', origin: 'http://x', 'x-pilothouse-link': '' })
  expect(foreign.headers).not.toHaveProperty('access-control-allow-origin')
})
