/** The server's sockets: its port in both address families, or systemd's sockets. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import os from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { inheritedSockets } from '../../src/platform/config/inherited-sockets.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { testDatabase } from '../support/database.ts'
import { ROOT, startInVain, temporaryFolder } from '../support/process.ts'

const hasIpv6 = Object.values(os.networkInterfaces()).some((of) => of?.some(({ address }) => address === '::1'))

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function server(settings: Record<string, string> = {}): Promise<TestApp & { port: number }> {
  const app = await testApp({ settings })
  closing.push(() => app.close())
  return { ...app, port: Number(new URL(app.url).port) }
}

/** The status of an answer, or the code of the error. */
async function statusOf(host: string, port: number, path = '/healthz', agent?: http.Agent): Promise<unknown> {
  const request = http.get({ host, port, path, agent })
  return new Promise((resolve) => {
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    request.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
  })
}

/** Error code that another program gets when it listens there; null: none. */
async function listenError(options: net.ListenOptions): Promise<string | null> {
  const other = net.createServer().listen(options)
  const code = await once(other, 'listening').then(
    () => null,
    (error) => error.code,
  )
  other.close()
  return code
}

describe.skipIf(!hasIpv6)('on a machine with IPv4 and IPv6', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['localhost', 'localhost'],
    ['::1', '[::1]'],
    ['0.0.0.0', 'localhost'],
    ['::', 'localhost'],
  ])('HOST=%s holds the port in both families, against every other program', async (HOST, printed) => {
    const { app, port } = await server({ HOST })
    expect(app.publicUrl()).toBe(`http://${printed}:${port}`)
    for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::'])
      expect(await listenError({ host, port })).toBe('EADDRINUSE')
    // connections to the wildcard address arrive at the loopback address
    for (const host of ['127.0.0.1', '::1']) expect(await statusOf(host, port)).toBe(200)
  })

  test('the second address takes WebSockets, counts connections and refuses non-HTTP data, as the first does', async () => {
    const { port } = await server({ CONNECTIONS_PER_ADDRESS: '2' })
    const socket = new WebSocket(`ws://[::1]:${port}/graphql`, 'graphql-transport-ws')
    await once(socket, 'open')
    const odd = net.connect(port, '::1').setEncoding('utf8')
    await once(odd, 'connect')
    const third = net.connect(port, '::1')
    await once(third, 'close')
    odd.write('no HTTP at all\r\n\r\n')
    const [text] = await once(odd, 'data')
    expect(text).toMatch(/^HTTP\/1\.1 400 .*"code":"MALFORMED_REQUEST"/s)
    socket.close()
  })

  test('a server that stops finishes the requests of its second address and frees the port of both', async () => {
    const app = await testApp()
    const { port } = new URL(app.url)
    const agent = new http.Agent({ keepAlive: true })
    closing.push(() => agent.destroy())
    expect(await statusOf('::1', Number(port), '/healthz', agent)).toBe(200)
    const body = JSON.stringify({ query: '{ viewer { role } }' })
    const request = http.request({ host: '::1', port, path: '/graphql', method: 'POST', agent: false })
    request.setHeader('x-api-key', app.keys.viewer).setHeader('content-type', 'application/json')
    request.setHeader('content-length', body.length).write(body.slice(0, 5))
    // another request was answered, so this earlier one has arrived
    await statusOf('::1', Number(port))
    const closed = app.close()
    await expect.poll(() => statusOf('::1', Number(port))).toBe('ECONNREFUSED')
    request.end(body.slice(5))
    const [response] = await once(request, 'response')
    expect(response.statusCode).toBe(200)
    response.resume()
    await closed
    for (const host of ['127.0.0.1', '::1']) expect(await listenError({ host, port: Number(port) })).toBeNull()
  })

  test('a server whose port is taken in one address family does not start and names the address', async () => {
    const database = await testDatabase()
    const folder = await temporaryFolder()
    const other = net.createServer().listen(0, '::1')
    await once(other, 'listening')
    closing.push(database.drop, folder.remove, () => other.close())
    const { port } = other.address() as AddressInfo
    const env = { DATABASE_URL: database.url, PORT: String(port), DATA_DIR: folder.path }
    const { code, stderr } = await startInVain(env)
    expect(code).toBe(1)
    expect(stderr).toContain(`Port ${port} of ::1 is in use: stop what uses it, or set PORT.\n`)
  })
})

test('a process ignores systemd sockets that were passed to another process', () => {
  expect(inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS: '2' }, 7)).toEqual([3, 4])
  expect(inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS: '2' }, 8)).toEqual([])
  expect(inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS: 'two' }, 7)).toEqual([])
  expect(inheritedSockets({}, 7)).toEqual([])
})

test('a server uses systemd’s sockets, whose port stays open while it is down', async () => {
  const database = await testDatabase()
  const folder = await temporaryFolder()
  closing.push(database.drop, folder.remove)
  const sockets = [net.createServer().listen(0, '127.0.0.1')]
  await once(sockets[0]!, 'listening')
  const { port } = sockets[0]!.address() as AddressInfo
  if (hasIpv6) {
    sockets.push(net.createServer().listen({ host: '::1', port }))
    await once(sockets[1]!, 'listening')
  }
  const hosts = ['127.0.0.1', '::1'].slice(0, sockets.length)
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    PORT: '1',
    WORKER: 'off',
    LISTEN_FDS: String(sockets.length),
  }
  const holder = holderOf(sockets, env)
  closing.push(() => holder.kill('SIGKILL'))
  // the server has copies of the sockets
  for (const socket of sockets) socket.close()

  const pid = await holder.started()
  for (const host of hosts) expect(await statusOf(host, port)).toBe(200)
  expect(holder.text).toContain(`Pilothouse   http://127.0.0.1:${port}\n`)
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => holder.text).toContain(`ended ${pid} 0`)
  for (const host of hosts) expect(await listenError({ host, port })).toBe('EADDRINUSE')
  const waiting = hosts.map((host) => statusOf(host, port))

  holder.stdin!.write('\n')
  const next = await holder.started()
  expect(await Promise.all(waiting)).toEqual(hosts.map(() => 200))
  process.kill(next, 'SIGTERM')
  await expect.poll(() => holder.text).toContain(`ended ${next} 0`)
}, 30_000)

/** A program that holds sockets like systemd and starts the server with them, again for each input line. */
function holderOf(sockets: net.Server[], env: NodeJS.ProcessEnv) {
  const start = 'echo started $$; LISTEN_PID=$$ exec "$0" src/start/start.mjs main'
  const script = `while :; do sh -c '${start}' "$0" & wait $!; echo "ended $! $?"; read -r _; done`
  const fds = sockets.map((socket) => (socket as unknown as { _handle: { fd: number } })._handle.fd)
  const child: ChildProcess = spawn('sh', ['-c', script, process.execPath], {
    cwd: ROOT,
    env,
    stdio: ['pipe', 'pipe', 'pipe', ...fds],
  })
  const holder = Object.assign(child, { text: '', started })
  for (const output of [child.stdout!, child.stderr!])
    output.setEncoding('utf8').on('data', (text: string) => {
      holder.text += text
    })
  let turns = 0
  /** Resolves with the pid of the next server when it listens. */
  async function started(): Promise<number> {
    turns++
    await expect.poll(() => holder.text.split('Pilothouse   http').length, { timeout: 20_000 }).toBe(turns + 1)
    return Number([...holder.text.matchAll(/started (\d+)/g)].at(-1)![1])
  }
  return holder
}
