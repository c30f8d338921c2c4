// The door's access log: what a line says of a request, and what it never says.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { Bounds } from '../../src/dataplane/process/door/messages.ts'
import { AccessLog } from '../../src/door/access-log.ts'
import { Listeners } from '../../src/door/listeners.ts'
import { AppProxy } from '../../src/door/proxy.ts'
import { CertificateStore } from '../../src/door/stores.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/process.ts'
import { newGuard, openPort } from './support.ts'

const KEY = 'cpk_canary_key_of_a_caller'
const OTHER = 'cpk_canary_key_of_another_workspace'
const TRACE = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'
const BOUNDS: Bounds = {
  requests: 2,
  requestsPerSecond: null,
  clientRequestsPerSecond: null,
  bodyBytes: 5000,
  headerMs: 60_000,
  idleMs: null,
  trustProxy: [],
}
const linkKey = generateKeyPairSync('ed25519')
const held: http.ServerResponse[] = []

/** The agent. Its answers are named by the path. */
const agent = http.createServer((request, response) => {
  if (request.url === '/cut') {
    response.writeHead(200, { 'content-length': '100' }).write('begin')
    setTimeout(() => response.destroy(), 50)
  } else if (request.url === '/held') response.write('begin', () => held.push(response))
  else void text(request).then((body) => response.end(`${body.length} bytes`))
})
new WebSocketServer({ server: agent }).on('connection', (socket) => {
  socket.on('message', (message) => (String(message) === 'crash' ? socket.terminate() : socket.send(message)))
})

let folder: { path: string; remove(): Promise<void> }
let file: string
let log: AccessLog
let port: number
let close: () => void
let proxy: AppProxy
beforeAll(async () => {
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
})
afterAll(() => void agent.close())
beforeEach(async () => {
  folder = await temporaryFolder()
  file = path.join(folder.path, 'access.log')
  log = new AccessLog()
  log.setFile(file)
  proxy = new AppProxy()
  proxy.bounds.set(BOUNDS)
  const { port: agentPort } = agent.address() as AddressInfo
  proxy.setUpstream({ id: 'start', host: '127.0.0.1', port: agentPort, revision: 'a-revision' })
  port = await freePort()
  close = await openPort({ port, host: '127.0.0.1', name: 'bot', hosts: ['bot.localhost'] }, proxy, guarded())
})
afterEach(async () => {
  for (const response of held.splice(0)) response.end()
  close()
  await proxy.close()
  agent.closeAllConnections()
  log.close()
  await folder.remove()
})

/** One deployment `bot`, which needs a key. */
function guarded(): Listeners {
  const { guard } = newGuard()
  const hashOf = (key: string) => createHash('sha256').update(key).digest('hex')
  const keyOf = (id: string, key: string, workspace: string) =>
    ({ id, hash: hashOf(key), organization: 'org', workspace, role: 'caller', expires: null }) as const
  const copy = {
    deployments: [{ id: 'bot', name: 'bot', workspace: 'ours', organization: 'org', access: 'workspace' }],
    keys: [keyOf('key-id', KEY, 'ours'), keyOf('other-id', OTHER, 'theirs')],
    sessions: ['session-id'],
    linkKeys: [{ id: 'l1', jwk: linkKey.publicKey.export({ format: 'jwk' }) }],
  } as const
  const settings = { issuer: 'http://us', hosts: '{name}.localhost', secure: false, offlineHours: 24, jwt: null }
  guard.set(copy, { ...settings, trustProxy: ['127.0.0.2'] })
  return new Listeners(guard, new CertificateStore(), log)
}

function linkToken(): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const act = { kind: 'session', id: 'session-id' }
  const exp = Math.floor(Date.now() / 1000) + 600
  const claims = { aud: 'link', sub: 'bot', act, org: 'org', ws: 'ours', role: 'viewer', exp }
  const signed = `${encode({ alg: 'EdDSA', kid: 'l1' })}.${encode(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), linkKey.privateKey).toString('base64url')}`
}

type Line = Record<string, unknown>
const lines = (): Line[] =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
/** Waits for this number of lines. */
async function logged(count = 1): Promise<Line[]> {
  await expect.poll(() => fs.existsSync(file) && lines().length).toBe(count)
  return lines()
}

async function call(url: string, options: http.RequestOptions = {}, body = ''): Promise<number> {
  const headers = { host: 'bot.localhost', 'x-api-key': KEY, ...options.headers }
  const request = http.request({ agent: false, port, host: '127.0.0.1', path: url, ...options, headers })
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  await text(response)
  return response.statusCode!
}
const withoutKey = { 'x-api-key': '' }

test('a line says what was asked, by whom, how it was answered, and which revision answered', async () => {
  const headers = { traceparent: TRACE, 'x-request-id': 'r1', 'user-agent': 'curl "8"' }
  const before = Date.now()
  expect(await call('/a%20b?secret=1', { method: 'POST', headers }, 'x'.repeat(3000))).toBe(200)
  const [line] = await logged()
  const { time, first_byte_ms: firstByte, duration_ms: duration, ...rest } = line as Record<string, string & number>
  expect(rest).toEqual({
    request_id: 'r1',
    trace_id: '0123456789abcdef0123456789abcdef',
    client: '127.0.0.1',
    method: 'POST',
    host: 'bot.localhost',
    path: '/a%20b',
    protocol: 'HTTP/1.1',
    status: 200,
    ended_by: null,
    bytes_in: 3000,
    bytes_out: '3000 bytes'.length,
    deployment_id: 'bot',
    deployment_name: 'bot',
    revision_id: 'a-revision',
    caller: 'key',
    caller_id: 'key-id',
    caller_workspace: 'ours',
    user_agent: 'curl "8"',
  })
  expect(new Date(time!).getTime()).toBeGreaterThanOrEqual(before)
  expect(duration).toBeGreaterThanOrEqual(firstByte!)
  expect(firstByte).toBeGreaterThan(0)
})

test('a request without ids has those that the agent gets', async () => {
  await call('/')
  const [line] = await logged()
  expect(line).toMatchObject({ request_id: expect.any(String), trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) })
})

test('requests that the door refuses have lines, too', async () => {
  const host = 'unknown.localhost'
  const chunked = { headers: { 'transfer-encoding': 'chunked' }, method: 'POST' }
  const statuses = [
    await call('/', { headers: withoutKey }),
    await call('/', { headers: { 'x-api-key': OTHER } }),
    await call('/', { headers: { host, 'x-api-key': '' } }),
    await call('/', { headers: { host: 'not a host' } }),
    await call('/', chunked, 'x'.repeat(6000)),
  ]
  expect(statuses).toEqual([401, 403, 401, 400, 413])
  proxy.setUpstream(null)
  proxy.bounds.set({ ...BOUNDS, requestsPerSecond: 0.001 })
  expect([await call('/'), await call('/')]).toEqual([503, 429])
  const found = await logged(7)
  const nobody = { caller: 'none', caller_id: null, caller_workspace: null }
  expect(found).toMatchObject([
    { status: 401, deployment_id: 'bot', deployment_name: 'bot', ...nobody },
    { status: 403, deployment_id: 'bot', caller: 'key', caller_id: 'other-id', caller_workspace: 'theirs' },
    { status: 401, deployment_id: null, deployment_name: null, host, ...nobody },
    { status: 400, deployment_id: null },
    { status: 413, deployment_id: 'bot', revision_id: 'a-revision', bytes_in: 6000 },
    { status: 503, deployment_id: 'bot', revision_id: null },
    { status: 429, deployment_id: 'bot', caller: 'key' },
  ])
})

test('no credential, query string or session is in a line', async () => {
  const token = linkToken()
  const cookie = `pilothouse_session=canary-session; __Host-pilothouse_link=${token}`
  await call(`/?pilothouse_link=${token}`, { headers: withoutKey })
  await call('/?api_key=canary-query#canary-fragment')
  await call('/', { headers: { authorization: `Bearer ${KEY}`, 'x-api-key': '', cookie } })
  await call('/', { headers: { 'x-api-key': '', cookie } })
  await call('/', { headers: { ...withoutKey, 'x-pilothouse-link': token } })
  await call('/', { headers: { ...withoutKey, authorization: 'Basic canary-basic', 'x-session': 'canary-half' } })
  await call(`http://ada:canary-password@bot.localhost/a?canary-absolute`)
  await call(`/~bot/b?pilothouse_link=${token}`, { headers: { host: `127.0.0.1:${port}` } })
  const found = await logged(8)
  expect(found.map(({ status, caller }) => `${status} ${caller}`)).toEqual([
    '303 link',
    '200 key',
    '200 key',
    '200 link',
    '200 link',
    '401 none',
    '400 none',
    '200 key',
  ])
  expect(found.slice(-2)).toMatchObject([
    { path: '/a', host: 'bot.localhost' },
    { path: '/~bot/b', host: `127.0.0.1:${port}` },
  ])
  const written = fs.readFileSync(file, 'utf8')
  for (const secret of ['canary', 'cpk_', ...token.split('.')]) expect(written).not.toContain(secret)
})

test('a line says who ended an answer that is not complete', async () => {
  await expect(call('/cut')).rejects.toThrow('aborted')
  const request = http.get({ port, path: '/held', headers: { host: 'bot.localhost', 'x-api-key': KEY } })
  await once(request, 'response')
  request.on('error', () => undefined).destroy()
  await logged(2)
  const waiting = http.get({ port, path: '/held', headers: { host: 'bot.localhost', 'x-api-key': KEY } })
  const [response] = await once(waiting, 'response')
  proxy.markEnding(['start'])
  held.at(-1)!.destroy()
  expect(await text(response)).toBe('begin')
  expect(await logged(3)).toMatchObject([
    { status: 200, ended_by: 'agent', bytes_out: 5 },
    { status: 200, ended_by: 'client', bytes_out: 5 },
    { status: 200, ended_by: 'agent', bytes_out: 5 },
  ])
})

test('a client that leaves before the answer has a line without a status', async () => {
  const resume = proxy.pause()
  const request = http.get({ port, headers: { host: 'bot.localhost', 'x-api-key': KEY } }).on('error', () => undefined)
  await once(request, 'finish')
  await expect.poll(() => proxy.figures.read().requestsOpen).toBe(1)
  request.destroy()
  expect(await logged()).toMatchObject([{ status: null, first_byte_ms: null, ended_by: 'client' }])
  resume()
})

test('a WebSocket has a line when it ends, which says who cut it', async () => {
  const open = async (headers: Record<string, string> = { 'x-api-key': KEY }) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat?x=1`, { headers: { host: 'bot.localhost', ...headers } })
    await once(socket, 'open')
    return socket
  }
  const proper = await open()
  proper.send('x'.repeat(1000))
  await once(proper, 'message')
  proper.close()
  await logged(1)
  ;(await open()).terminate()
  await logged(2)
  ;(await open()).send('crash')
  await logged(3)
  await expect(open({})).rejects.toThrow('401')
  const found = await logged(4)
  expect(found).toMatchObject([
    { status: 101, path: '/chat', ended_by: null, caller: 'key', revision_id: 'a-revision' },
    { status: 101, ended_by: 'client' },
    { status: 101, ended_by: 'agent' },
    { status: 401, ended_by: null, caller: 'none', deployment_id: 'bot' },
  ])
  expect(found[0]!.bytes_in).toBeGreaterThan(1000)
  expect(found[0]!.bytes_out).toBeGreaterThan(1000)
  expect(found[0]!.bytes_out).toBeLessThan(2000)
})

test('a request of HTTP/2 has the bytes of its own body', async () => {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  const headers = { ':authority': 'bot.localhost', 'x-api-key': KEY }
  const post = session.request({ ...headers, ':method': 'POST', ':path': '/one?x=1' })
  post.end('x'.repeat(2000))
  expect(await text(post)).toBe('2000 bytes')
  const cancelled = session.request({ ...headers, ':path': '/held' })
  await once(cancelled, 'response')
  cancelled.close(http2.constants.NGHTTP2_CANCEL)
  await once(cancelled, 'close')
  await expect(text(session.request({ ...headers, ':path': '/cut' }))).rejects.toThrow('INTERNAL_ERROR')
  expect(await logged(3)).toMatchObject([
    { protocol: 'HTTP/2.0', path: '/one', status: 200, bytes_in: 2000, bytes_out: 10, ended_by: null },
    { status: 200, bytes_in: 0, bytes_out: 5, ended_by: 'client' },
    { status: 200, bytes_out: 5, ended_by: 'agent' },
  ])
  session.destroy()
})

test('pipelined requests of one connection have a line each', async () => {
  const socket = net.connect(port, '127.0.0.1')
  const head = `Host: bot.localhost\r\nX-Api-Key: ${KEY}\r\n`
  socket.write(`GET /1 HTTP/1.1\r\n${head}\r\nGET /2 HTTP/1.1\r\n${head}Connection: close\r\n\r\n`)
  await text(socket)
  expect((await logged(2)).map((line) => [line.path, line.status, line.ended_by])).toEqual([
    ['/1', 200, null],
    ['/2', 200, null],
  ])
})

test('a client behind a trusted proxy is named, and only then', async () => {
  const headers = { 'x-forwarded-for': '198.51.100.7, 192.0.2.1' }
  await call('/', { headers })
  await call('/', { headers, localAddress: '127.0.0.2' })
  expect((await logged(2)).map(({ client }) => client)).toEqual(['127.0.0.1', '192.0.2.1'])
})

test('a connection that the door closes because it is idle is not the client’s fault', async () => {
  close()
  const listeners = guarded()
  const bounds = { ...BOUNDS, idleMs: 100 }
  proxy.bounds.set(bounds)
  const place = { port: await freePort(), host: '127.0.0.1', name: 'bot', hosts: ['bot.localhost'] }
  const listener = await new Promise<ReturnType<Listeners['add']>>((resolve) => {
    const made = listeners.add({
      ...{ deployment: 'bot', place, proxy },
      onListening: () => resolve(made),
    })
  })
  listener.setTimeouts(bounds)
  port = place.port
  await expect(call('/held')).rejects.toThrow('aborted')
  expect(await logged()).toMatchObject([{ status: 200, ended_by: 'idle' }])
  listener.close()
})
