// Names of deployments: one port leads to all of them, by host name and by path.
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { AppProxy } from '../../src/door/proxy.ts'
import { freePort } from '../support/free-port.ts'
import { openListeners, openPort } from './support.ts'

/** Answers with its name and what it got. */
async function startAgent(name: string) {
  const agent = http.createServer((request, response) => {
    const { host, cookie, 'x-forwarded-prefix': prefix } = request.headers
    response.setHeader('set-cookie', 'theirs=1')
    response.end(JSON.stringify({ name, path: request.url, host, cookie, prefix }))
  })
  new WebSocketServer({ server: agent }).on('connection', (socket, request) => socket.send(`${name} ${request.url}`))
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const proxy = new AppProxy()
  proxy.setUpstream({ id: name, host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  return { agent, proxy }
}

const listeners = openListeners('one', 'two', 'late')
let port: number
const ended: (() => void)[] = []
beforeAll(async () => {
  port = await freePort()
  for (const [name, hosts] of Object.entries({ one: ['one.localhost'], two: ['two.localhost', 'agent.example.com'] })) {
    const { agent, proxy } = await startAgent(name)
    const close = await openPort({ port, host: '127.0.0.1', name, hosts }, proxy, listeners)
    ended.push(
      close,
      () => void proxy.close(),
      () => void agent.close(),
    )
  }
})
afterAll(() => {
  for (const end of ended) end()
  listeners.handOver()
})

/** Sends the text, which has `Connection: close`, and returns status and body. */
async function raw(head: string, address = '127.0.0.1'): Promise<[status: number, body: string]> {
  const socket = net.connect(port, address)
  socket.write(`${head}\r\nConnection: close\r\n\r\n`)
  let all = ''
  for await (const data of socket) all += data
  return [Number(all.split(' ')[1]), /\{.*\}/.exec(all)?.[0] ?? '']
}

test.for([
  ['its host', 'GET /x?y HTTP/1.1\r\nHost: one.localhost:8081', 'one', '/x?y'],
  ['its host in capitals', 'GET / HTTP/1.1\r\nHost: ONE.LocalHost', 'one', '/'],
  ['its host with a trailing dot', 'GET / HTTP/1.1\r\nHost: one.localhost.:80', 'one', '/'],
  ['a second host', 'GET / HTTP/1.1\r\nHost: agent.example.com', 'two', '/'],
  ['the host of its custom_url', 'GET /x HTTP/1.1\r\nHost: One.example.com:8081', 'one', '/x'],
  ['a whole URL, which wins over Host', 'GET http://two.localhost/x HTTP/1.1\r\nHost: one.localhost', 'two', '/x'],
  ['its path', 'GET /~two/x?y HTTP/1.1\r\nHost: 127.0.0.1', 'two', '/x?y'],
  ['its path without more', 'GET /~two HTTP/1.1\r\nHost: 127.0.0.1', 'two', '/'],
  ['its path with a query', 'GET /~two?x HTTP/1.1\r\nHost: 127.0.0.1', 'two', '/?x'],
  ['another agent’s path below its host', 'GET /~two/ HTTP/1.1\r\nHost: one.localhost', 'one', '/~two/'],
] as const)('an agent is reached by %s', async ([, head, name, path]) => {
  const [status, body] = await raw(head)
  expect(status).toBe(200)
  expect(JSON.parse(body)).toMatchObject({ name, path })
})

test.for([
  ['an unknown host', 'GET / HTTP/1.1\r\nHost: three.localhost', 401],
  ['a host that only begins like an agent’s', 'GET / HTTP/1.1\r\nHost: one.localhost.example.com', 401],
  ['an unknown path', 'GET /~three/ HTTP/1.1\r\nHost: 127.0.0.1', 401],
  ['a path that only begins like an agent’s', 'GET /~oneself HTTP/1.1\r\nHost: 127.0.0.1', 401],
  ['no name at all', 'GET / HTTP/1.1\r\nHost: 127.0.0.1', 401],
  ['two hosts', 'GET / HTTP/1.1\r\nHost: one.localhost\r\nhost: two.localhost', 400],
  ['a URL that is not of HTTP', 'GET ftp://one.localhost/ HTTP/1.1\r\nHost: one.localhost', 400],
  ['no path', 'OPTIONS * HTTP/1.1\r\nHost: one.localhost', 400],
  ['a host with a user', 'GET / HTTP/1.1\r\nHost: one.localhost@two.localhost', 400],
  ['a whole URL with a user', 'GET http://x@one.localhost/ HTTP/1.1\r\nHost: one.localhost', 400],
] as const)('%s leads to no agent', async ([, head, expected]) => {
  const [status, body] = await raw(head)
  expect([status, JSON.parse(body).code]).toEqual([
    expected,
    expected === 401 ? 'UNAUTHENTICATED' : 'MALFORMED_REQUEST',
  ])
})

test('an agent that is reached by its path learns the prefix, and gets and sets no cookies', async () => {
  const headers = { cookie: 'other=1', 'x-forwarded-prefix': '/forged' }
  const byPath = await fetch(`http://127.0.0.1:${port}/~one/x`, { headers })
  expect(await byPath.json()).toEqual({ name: 'one', path: '/x', host: `127.0.0.1:${port}`, prefix: '/~one' })
  expect(byPath.headers.get('set-cookie')).toBeNull()
  expect(byPath.headers.get('content-security-policy')).toContain('sandbox')

  const byHost = await fetch(`http://one.localhost:${port}/x`, { headers })
  expect(await byHost.json()).toEqual({ name: 'one', path: '/x', host: `one.localhost:${port}`, cookie: 'other=1' })
  expect(byHost.headers.get('set-cookie')).toBe('theirs=1')
  expect(byHost.headers.get('content-security-policy')).toBeNull()
})

test('WebSockets reach the agent of their host or path, and no other', async () => {
  const first = async (url: string) => String((await once(new WebSocket(url), 'message'))[0])
  expect(await first(`ws://two.localhost:${port}/x`)).toBe('two /x')
  expect(await first(`ws://127.0.0.1:${port}/~one/x`)).toBe('one /x')
  const [error] = await once(new WebSocket(`ws://three.localhost:${port}`), 'error')
  expect(error.message).toContain('401')
})

test('a reverse proxy can ask whether a host is known', async () => {
  const ask = (domain: string) => fetch(`http://127.0.0.1:${port}/.well-known/pilothouse/host?domain=${domain}`)
  const domains = ['one.localhost', 'AGENT.example.com', 'two.example.com', 'three.localhost', '']
  const answers = await Promise.all(domains.map(async (domain) => (await ask(domain)).status))
  expect(answers).toEqual([200, 200, 200, 404, 404])
})

test.skipIf(!(await hasIpv6()))('the port is open on both loopbacks', async () => {
  expect((await raw('GET / HTTP/1.1\r\nHost: one.localhost', '::1'))[0]).toBe(200)
})

test('a deployment that comes later is served, and one that leaves is unknown', async () => {
  const { agent, proxy } = await startAgent('late')
  const leave = await openPort({ port, host: '127.0.0.1', name: 'late', hosts: ['late.localhost'] }, proxy, listeners)
  const status = () => fetch(`http://late.localhost:${port}`).then((response) => response.status)
  expect(await status()).toBe(200)
  leave()
  expect(await status()).toBe(401)
  expect((await fetch(`http://one.localhost:${port}`)).status).toBe(200)
  await proxy.close()
  agent.close()
})

test.skipIf(!(await hasIpv6())).for(['127.0.0.1', '::1', '0.0.0.0', '::'])(
  'no other program can listen on the port of a door at %s, in neither family',
  async (host) => {
    const [held, proxy] = [await freePort(), new AppProxy()]
    const close = await openPort({ port: held, host, name: 'one', hosts: [] }, proxy, openListeners('one'))
    for (const address of ['127.0.0.1', '::1', '0.0.0.0', '::']) {
      const other = net.createServer().listen(held, address)
      const [error] = await once(other, 'error')
      expect(error.code, address).toBe('EADDRINUSE')
    }
    close()
  },
)

async function hasIpv6(): Promise<boolean> {
  const probe = net.createServer().listen(0, '::1')
  const [opened] = await Promise.race([
    once(probe, 'listening').then(() => [true]),
    once(probe, 'error').then(() => [false]),
  ])
  probe.close()
  return opened!
}

test('an open connection reaches an agent again after its keeper was away, also when it was the only one', async () => {
  const only = openListeners('alone')
  const { agent, proxy } = await startAgent('alone')
  const place = { port: await freePort(), host: '127.0.0.1', name: 'alone', hosts: ['alone.localhost'] }
  const leave = await openPort(place, proxy, only)
  const connection = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const statusOf = async () => {
    const request = http.get({ ...place, agent: connection, headers: { host: 'alone.localhost' } })
    const [response] = await once(request, 'response')
    await once(response.resume(), 'end')
    return [response.statusCode, request.reusedSocket]
  }
  expect(await statusOf()).toEqual([200, false])
  leave()
  expect(await statusOf()).toEqual([401, true])
  const leaveAgain = await openPort(place, proxy, only)
  expect(await statusOf()).toEqual([200, true])
  leaveAgain()
  only.handOver()
  connection.destroy()
  agent.close()
})
