/** Sessions on WebSockets, for pages of other origins, and at the URL of an agent. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { AppProxy } from '../../src/door/proxy.ts'
import { openPort } from '../door/support.ts'
import { newKey, useApp } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { type Browser, signIn } from './support.ts'

const FRIEND = 'https://friend.example.com'
const app = useApp(() => ({ settings: { CORS_ORIGINS: FRIEND } }))
let page: Browser
beforeAll(async () => {
  page = await signIn(app, { api_key: app.keys.deployer })
})

describe('on a WebSocket', () => {
  const address = () => `${app.url.replace('http', 'ws')}/graphql`

  /** Sends a query on a connection with these headers and this payload. Returns the result or the close code. */
  async function asked(headers: Record<string, string>, payload: Record<string, unknown>): Promise<unknown> {
    class Browserlike extends WebSocket {
      constructor(url: string, protocols: string | string[]) {
        super(url, protocols, { headers })
      }
    }
    const client = createClient({
      url: address(),
      webSocketImpl: Browserlike,
      connectionParams: payload,
      retryAttempts: 0,
    })
    onTestFinished(() => void client.dispose())
    const events = client.iterate({ query: '{ me { role session { id current } } }' })
    return events.next().then(
      ({ value }) => value,
      (closed) => closed.code,
    )
  }

  test('the half is in connection_init, the cookie in the upgrade, and the page is checked by its origin', async () => {
    const { cookie, half } = page
    const own = { cookie, origin: app.url }
    expect(await asked(own, { 'X-Session': half })).toEqual({
      data: { me: { role: 'deployer', session: { id: page.id, current: true } } },
    })
    for (const [headers, payload] of [
      [own, {}],
      [{ origin: app.url }, { 'X-Session': half }],
      [{ cookie }, { 'X-Session': half }],
      [{ cookie, origin: 'http://evil.example.com' }, { 'X-Session': half }],
      [{ cookie, origin: FRIEND }, { 'X-Session': half }],
      // only a non-browser can set headers, and a payload of a page is not trusted
      [{ cookie, 'sec-fetch-site': 'same-origin' }, { 'X-Session': half }],
      [{ cookie }, { 'X-Session': half, Origin: app.url, 'Sec-Fetch-Site': 'same-origin' }],
      [{ origin: app.url }, { 'X-Session': half, Cookie: cookie }],
    ] as const)
      expect(await asked(headers as never, payload), JSON.stringify(Object.keys(headers))).toBe(4403)
  })

  test('a key in connection_init takes precedence', async () => {
    const payload = { 'X-Session': page.half, 'X-Api-Key': app.keys.viewer }
    expect(await asked({ cookie: page.cookie, origin: app.url }, payload)).toEqual({
      data: { me: { role: 'viewer', session: null } },
    })
  })

  test('the connection ends with the session', async () => {
    const key = await newKey(app.app.core, { ...app.tenant, role: 'viewer' })
    const { cookie, half, id } = await signIn(app, { api_key: key })
    const socket = new WebSocket(address(), 'graphql-transport-ws', { headers: { cookie, origin: app.url } })
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-session': half } }))
    await once(socket, 'message')
    const closed = once(socket, 'close')
    await app.rest('DELETE', `/v2/sessions/${id}`)
    expect((await closed)[0]).toBe(4403)
  })
})

describe('a page of another origin', () => {
  const preflight = (path: string, origin: string) =>
    fetch(app.url + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' },
    })

  test('that CORS_ORIGINS allows can use a key, but no session', async () => {
    for (const path of ['/v2/deployments', '/graphql', '/v2/deployments/x/revisions']) {
      const { status, headers } = await preflight(path, FRIEND)
      expect(status).toBe(204)
      expect(headers.get('access-control-allow-origin')).toBe(FRIEND)
      expect(headers.get('access-control-allow-methods')).toContain('PATCH')
      expect(headers.get('access-control-allow-headers')).toContain('X-Api-Key')
      expect(headers.get('access-control-allow-headers')).not.toContain('X-Session')
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
    const rest = await app.rest('GET', '/v2/deployments', { headers: { origin: FRIEND } })
    const graphql = await app.gql('{ me { role } }', {}, { headers: { origin: FRIEND } })
    for (const { status, headers } of [rest, graphql]) {
      expect(status).toBe(200)
      expect(headers.get('access-control-allow-origin')).toBe(FRIEND)
      expect(headers.get('access-control-expose-headers')).toContain('ETag')
      expect(headers.get('vary')).toContain('Origin')
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
    const { cookie, half } = page
    const over = { cookie, 'x-session': half, origin: FRIEND }
    expect((await app.rest('GET', '/v2/deployments', { key: null, headers: over })).status).toBe(403)
  })

  test('that CORS_ORIGINS does not allow gets no data', async () => {
    for (const origin of ['https://evil.example.com', 'null', `${FRIEND}.evil.example`]) {
      expect((await preflight('/v2/deployments', origin)).headers.has('access-control-allow-origin')).toBe(false)
      const { headers } = await app.rest('GET', '/v2/deployments', { headers: { origin } })
      expect(headers.has('access-control-allow-origin')).toBe(false)
    }
  })
})

describe('an agent', () => {
  const seen: (string | undefined)[] = []
  const told = [
    'theirs=1; Path=/',
    'pilothouse_0123456789ab=x; Path=/v2',
    '__Host-Pilothouse_0=x',
    ' pilothouse_0_code=x',
    '=pilothouse_0=x',
    'pilothouse_0',
    'also=pilothouse_x',
  ]
  const answer = { 'set-cookie': told, 'clear-site-data': '"cookies", "storage"' }
  const agent = http.createServer((request, response) => {
    seen.push(request.headers.cookie)
    response.writeHead(200, request.url === '/all' ? { 'clear-site-data': '"*"' } : answer).end()
  })
  const proxy = new AppProxy()
  let port: number
  let closePort: () => void
  beforeAll(async () => {
    agent.on('upgrade', (request, socket) => {
      seen.push(request.headers.cookie)
      const [status, more] =
        request.url === '/'
          ? ['101 Switching Protocols', 'connection: upgrade\r\nupgrade: websocket\r\n']
          : ['403 No', '']
      socket.end(`HTTP/1.1 ${status}\r\n${more}${told.map((one) => `set-cookie: ${one}\r\n`).join('')}\r\n`)
    })
    agent.listen(0, '127.0.0.1')
    await once(agent, 'listening')
    port = await freePort()
    closePort = await openPort({ port, host: '127.0.0.1' }, proxy)
    proxy.setUpstream({ id: 'one', host: '127.0.0.1', port: (agent.address() as AddressInfo).port })
  })
  afterAll(async () => {
    closePort()
    await proxy.close()
    agent.close()
  })

  test('receives all cookies except the control plane’s, with requests and WebSockets', async () => {
    const sent = `theirs=1; ${page.cookie}; __Host-pilothouse_0123456789ab_code=x; also=2`
    for (const cookie of [sent, page.cookie, 'theirs=pilothouse_x'])
      await fetch(`http://127.0.0.1:${port}/`, { headers: { cookie } })
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { cookie: sent } })
    await once(socket, 'error')
    expect(seen).toEqual(['theirs=1; also=2', undefined, 'theirs=pilothouse_x', 'theirs=1; also=2'])
  })

  test('can set and clear all cookies except the control plane’s, by responses and WebSocket upgrades', async () => {
    const { headers } = await fetch(`http://127.0.0.1:${port}/`)
    expect(headers.getSetCookie()).toEqual([told[0], told.at(-1)])
    expect(headers.get('clear-site-data')).toBe('"storage"')
    const cleared = (await fetch(`http://127.0.0.1:${port}/all`)).headers.get('clear-site-data')
    expect(cleared).toContain('"storage"')
    expect(cleared).not.toMatch(/\*|cookies/)
    for (const path of ['/', '/refused']) {
      const request = http.get(`http://127.0.0.1:${port}${path}`, {
        headers: { connection: 'upgrade', upgrade: 'websocket' },
      })
      const [answered] = await Promise.race([once(request, 'upgrade'), once(request, 'response')])
      expect(answered.headers['set-cookie'], path).toEqual([told[0], told.at(-1)])
      answered.destroy()
      request.destroy()
    }
  })
})
