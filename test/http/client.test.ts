/** The HTTP client of the listener and of the Kubernetes API: the requests it sends, and the ones it never sends. */
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ConnectionError, HttpClient, type HttpRequest, readText } from '../../src/platform/http/client.ts'

type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void

const open: { close(): void }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** A server with the test's responses, and a client for it. */
async function pair(connections: number, answer: Answer) {
  const asked: string[] = []
  let opened = 0
  const server = http.createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  server.on('connection', () => opened++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new HttpClient({ origin, connections, connectMs: 5000 })
  open.push({ close: () => client.destroy() }, { close: () => server.close().closeAllConnections() })
  const get = (path: string, more: Partial<HttpRequest> = {}) =>
    client.send({ method: 'GET', path, headers: {}, signal: new AbortController().signal, ...more })
  return { asked, client, get, opened: () => opened, origin }
}

test('a request aborted while it waits for a connection is never sent and uses no connection', async () => {
  const pending: http.ServerResponse[] = []
  const { asked, get, opened } = await pair(1, (_, response) => void pending.push(response))
  const first = get('/first')
  await expect.poll(() => pending.length).toBe(1)
  const abort = new AbortController()
  const second = get('/second', { signal: abort.signal }).catch((error) => error)
  await new Promise((resolve) => setTimeout(resolve, 20))
  abort.abort(new Error('given up'))
  expect(await second).toMatchObject({ message: 'given up' })
  pending[0]!.end('one')
  expect(await readText((await first).body, 100)).toBe('one')
  const third = get('/third')
  await expect.poll(() => pending.length).toBe(2)
  pending[1]!.end('three')
  expect(await readText((await third).body, 100)).toBe('three')
  expect(asked).toEqual(['GET /first', 'GET /third'])
  expect(opened()).toBe(1)
})

test('a request aborted while its connection opens is never sent', async () => {
  // TCP connects immediately, TLS never: the server sends nothing
  const received: Buffer[] = []
  const sockets: net.Socket[] = []
  const server = net.createServer((socket) => {
    sockets.push(socket)
    socket.on('data', (chunk) => received.push(chunk)).on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new HttpClient({
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connectMs: 300,
  })
  open.push({ close: () => client.destroy() }, server)
  const abort = new AbortController()
  let looked = 0
  const sending = client.send({
    method: 'PATCH',
    path: '/x',
    headers: {},
    body: '{}',
    signal: abort.signal,
    beforeSend: () => void looked++,
  })
  const outcome = sending.catch((error) => error)
  await expect.poll(() => received.length).toBeGreaterThan(0)
  abort.abort(new Error('given up'))
  expect(await outcome).toMatchObject({ message: 'given up' })
  // the connection is closed, too
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  expect(looked).toBe(0)
})

test('beforeSend runs on an open connection, and its error prevents sending', async () => {
  const { asked, get, opened } = await pair(1, (_, response) => void response.end('x'))
  const refuse = () => {
    throw new Error('the lease is over')
  }
  await expect(get('/a', { beforeSend: refuse })).rejects.toThrow('the lease is over')
  expect(opened()).toBe(1)
  expect(await readText((await get('/b')).body, 1)).toBe('x')
  expect(asked).toEqual(['GET /b'])
  expect(opened()).toBe(1)
})

test('a broken connection is a ConnectionError, stale only if it had been used before', async () => {
  const { get } = await pair(1, (request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    else if (request.url === '/half') {
      response.writeHead(200, { connection: 'close' })
      response.write('half', () => request.socket.destroy())
    } else response.end('x')
  })
  const fresh = await get('/cut').catch((error) => error)
  expect(fresh).toBeInstanceOf(ConnectionError)
  expect(fresh).toMatchObject({ code: 'ECONNRESET', stale: false })
  await readText((await get('/ok')).body, 1)
  expect(await get('/cut').catch((error) => error)).toMatchObject({ code: 'ECONNRESET', stale: true })
  const half = await get('/half')
  await expect(readText(half.body, 100)).rejects.toThrow()
})

test('a response has a size limit, and a redirect is returned, not followed', async () => {
  const { asked, get } = await pair(
    1,
    (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end('x'.repeat(1000)),
  )
  const { status, body } = await get('/a')
  expect(status).toBe(302)
  await expect(readText(body, 999)).rejects.toThrow('larger than 999 bytes')
  expect(asked).toEqual(['GET /a'])
})

test('a streamed response ends with its signal and waits for its reader', async () => {
  let written = 0
  let closed = false
  const { get } = await pair(1, (_, response) => {
    const more = () => {
      while (!closed && response.write('x'.repeat(65_536))) written++
      response.once('drain', more)
    }
    response.on('close', () => {
      closed = true
    })
    more()
  })
  const abort = new AbortController()
  const { body } = await get('/a', { signal: abort.signal })
  await new Promise((resolve) => setTimeout(resolve, 200))
  // unread data stays at the server, except for buffers on the way
  expect(written * 65_536).toBeLessThan(64 * 1024 * 1024)
  abort.abort(new Error('enough'))
  await expect(readText(body, Number.POSITIVE_INFINITY)).rejects.toThrow('enough')
  await expect.poll(() => closed).toBe(true)
})

test('after renew() no kept connection is used', async () => {
  const { client, get, opened } = await pair(1, (_, response) => void response.end('x'))
  await readText((await get('/a')).body, 1)
  client.renew()
  await readText((await get('/b')).body, 1)
  expect(opened()).toBe(2)
})

test('a proxy that closes its connection is called once, not repeatedly', async () => {
  let asked = 0
  const proxy = net.createServer((socket) => {
    asked++
    socket.on('error', () => undefined).end()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const uri = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const client = new HttpClient({ origin: 'https://127.0.0.1:1', connectMs: 5000, proxy: uri })
  open.push({ close: () => client.destroy() }, proxy)
  const { signal } = new AbortController()
  await expect(client.send({ method: 'GET', path: '/', headers: {}, signal })).rejects.toThrow(ConnectionError)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(asked).toBeLessThan(3)
})
