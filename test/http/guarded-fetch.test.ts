/** The guarded fetch: which addresses it reaches, and how it reports each failure. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { createConnection, type ResolveHost } from '../../src/platform/http/guarded-connect.ts'
import { createOutbound, type Outbound } from '../../src/platform/http/guarded-fetch.ts'
import { OutboundFailure } from '../../src/platform/http/outbound-failure.ts'
import { run } from '../support/process.ts'

const SECRET = 'hunter2'
const NOTHING = createOutbound({ allow: [] })
const LOOPBACK = createOutbound({ allow: ['127.0.0.1'] })
const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url))

const running: { server: Server; sockets: Set<Socket> }[] = []

afterEach(async () => {
  for (const { server, sockets } of running.splice(0)) {
    server.close()
    for (const socket of sockets) socket.destroy()
    await once(server, 'close')
  }
})

/** Listens on a free port. `sockets` grows with each connection. */
async function listen(server: Server, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, host)
  await once(server, 'listening')
  running.push({ server, sockets })
  const { port } = server.address() as AddressInfo
  return { port, sockets, url: `http://${host}:${port}/token?secret=${SECRET}` }
}

async function web(answer: RequestListener) {
  const requests: (IncomingMessage & { text: string })[] = []
  const record = async (...[request, response]: Parameters<RequestListener>) => {
    requests.push(Object.assign(request, { text: await text(request) }))
    answer(request, response)
  }
  const server = createServer((request, response) => void record(request, response))
  return { ...(await listen(server)), requests }
}

/** Resolves when the other side has closed all of them. */
async function closed(sockets: Set<Socket>) {
  await Promise.all([...sockets].map((socket) => socket.closed || once(socket.resume(), 'close')))
}

/** A raw TCP server. `speak` runs after a request has arrived. */
async function raw(speak: (socket: Socket) => void) {
  return listen(createTcpServer((socket) => socket.once('data', () => speak(socket))))
}

/** A failing call, as "kind: message". The message never contains a part of the request. */
async function failure(call: Promise<Response>): Promise<string> {
  const error = await call.then(
    (response) => expect.fail(`answered ${response.status}`),
    (error: unknown) => error,
  )
  if (!(error instanceof OutboundFailure)) throw error
  expect(error.cause).toBeUndefined()
  expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(SECRET)
  return `${error.kind}: ${error.message}`
}

function post(outbound: Outbound, url: string, init: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  return outbound.fetch(url, { method: 'POST', body: new URLSearchParams({ refresh_token: SECRET }), ...init })
}

/** Resolves every name to these addresses. */
function names(...answers: string[][]): ResolveHost {
  let asked = 0
  return (_name, _options, done) => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!
    process.nextTick(() =>
      done(
        null,
        answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    )
  }
}

describe('a call', () => {
  test('sends method, headers and body, and returns the complete response', async () => {
    const { url, requests } = await web((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json', 'www-authenticate': ['Basic', 'DPoP'] })
      response.end('{"error":"invalid_client"}')
    })
    const headers = { Accept: 'application/json', Authorization: 'Basic x' }
    const response = await LOOPBACK.fetch(url, { method: 'POST', headers, body: new URLSearchParams({ a: 'b c' }) })
    expect(response).toBeInstanceOf(Response)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Basic, DPoP')
    expect(await response.json()).toEqual({ error: 'invalid_client' })
    expect(requests[0]).toMatchObject({ method: 'POST', url: `/token?secret=${SECRET}`, text: 'a=b+c' })
    expect(requests[0]!.headers).toMatchObject({ accept: 'application/json', authorization: 'Basic x' })
  })

  test('uses a new connection and closes it', async () => {
    const { url, sockets, requests } = await web((_request, response) => response.end('ok'))
    await LOOPBACK.fetch(url)
    await LOOPBACK.fetch(url)
    expect(sockets.size).toBe(2)
    expect(requests[0]!.headers.connection).toBe('close')
    await closed(sockets)
  })

  test('opens no second connection', async () => {
    const { port, sockets } = await web((_request, response) => response.end())
    const connection = createConnection('127.0.0.1', { allow: ['127.0.0.1'] })
    const connect = () =>
      new Promise((resolve) => {
        connection.connect({ hostname: '127.0.0.1', protocol: 'http:', port: String(port) }, (...[error]) =>
          resolve(error),
        )
      })
    expect(await connect()).toBeNull()
    expect(await connect()).toMatchObject({ kind: 'unanswered' })
    connection.destroy()
    expect(sockets.size).toBe(1)
  })

  test('accepts a response without a body and headers with any bytes', async () => {
    const { url } = await raw((socket) =>
      socket.end('HTTP/1.1 204 No Content\r\nX-Greeting: gr\u00fc\u00df \u{1f600}\r\n\r\n'),
    )
    const response = await LOOPBACK.fetch(url)
    expect(response.status).toBe(204)
    expect(response.headers.get('x-greeting')).toBe(Buffer.from('gr\u00fc\u00df \u{1f600}').toString('latin1'))
    expect(await response.text()).toBe('')
  })

  test('decompresses a response that was compressed without a request', async () => {
    const { url, requests } = await web((_request, response) => {
      response.setHeader('content-encoding', 'GZIP')
      response.end(gzipSync('{"a":1}'))
    })
    const response = await LOOPBACK.fetch(url)
    expect(await response.json()).toEqual({ a: 1 })
    expect(response.headers.has('content-encoding')).toBe(false)
    expect(response.headers.has('content-length')).toBe(false)
    expect(requests[0]!.headers['accept-encoding']).toBe('identity')
  })

  test('sends a POST once, even after a 421', async () => {
    const { url, requests } = await web((_request, response) => response.writeHead(421).end())
    expect((await post(LOOPBACK, url)).status).toBe(421)
    expect(requests).toHaveLength(1)
  })
})

describe('a private address', () => {
  test('receives nothing, neither as an IP address nor by a local name', async () => {
    const { port, sockets, url } = await web((_request, response) => response.end())
    expect(await failure(post(NOTHING, url))).toBe(
      'unreachable: has a forbidden address: it is at a private address (127.0.0.1); see OUTBOUND_ALLOW',
    )
    expect(await failure(post(NOTHING, `http://localhost:${port}`))).toBe(
      'unreachable: has a forbidden address: it is at this machine itself; see OUTBOUND_ALLOW',
    )
    expect(sockets.size).toBe(0)
  })

  test('receives nothing by a name, and the message does not show the address', async () => {
    const { port, sockets } = await web((_request, response) => response.end())
    for (const ip of [
      '127.0.0.1',
      '::1',
      '::ffff:127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      'fe80::1%eth0',
      'nonsense',
    ]) {
      const outbound = createOutbound({ allow: ['other.example'] }, names([ip]))
      expect(await failure(post(outbound, `https://provider.example:${port}/`))).toBe(
        'unreachable: has a host name that leads to a private address; see OUTBOUND_ALLOW',
      )
    }
    expect(sockets.size).toBe(0)
  })

  test('receives nothing when the second look-up of a name returns it', async () => {
    const { port, requests } = await web((_request, response) => response.end())
    const outbound = createOutbound({ allow: ['127.0.0.1'] }, names(['127.0.0.1'], ['127.0.0.2']))
    await outbound.fetch(`http://provider.localhost:${port}/`)
    expect(await failure(outbound.fetch(`http://provider.localhost:${port}/`))).toMatch(
      'unreachable: has a host name that leads to a private',
    )
    expect(requests).toHaveLength(1)
  })

  test('is skipped when a name also has public addresses', async () => {
    const { port, sockets } = await web((_request, response) => response.end('ok'))
    const elsewhere = await listen(createTcpServer(), '127.0.0.2')
    const outbound = createOutbound({ allow: ['127.0.0.1'] }, names(['127.0.0.2', '127.0.0.1', 'fd00::1']))
    expect(await (await outbound.fetch(`http://provider.localhost:${port}/`)).text()).toBe('ok')
    expect(sockets.size).toBe(1)
    expect(await failure(outbound.fetch(`http://provider.localhost:${elsewhere.port}/`))).toMatch(
      'refused the connection',
    )
    expect(elsewhere.sockets.size).toBe(0)
  })

  test('is called when OUTBOUND_ALLOW names the host', async () => {
    const { port } = await web((_request, response) => response.end('ok'))
    for (const entry of ['localhost', 'LOCALHOST', '127.0.0.0/8']) {
      const response = await createOutbound({ allow: [entry] }).fetch(`http://localhost:${port}/`)
      expect(await response.text()).toBe('ok')
    }
  })

  test('receives no plain http unless it is loopback', async () => {
    const outbound = createOutbound({ allow: ['localhost', '10.0.0.0/8'] }, names(['10.0.0.1'], ['8.8.8.8']))
    expect(await failure(outbound.fetch('http://localhost/'))).toMatch('unreachable: has a host name that leads to')
    expect(await failure(outbound.fetch('http://localhost/'))).toMatch('unreachable: has a host name that leads to')
  })
})

describe('a redirect', () => {
  const leading = (to: (request: IncomingMessage) => string, status = 302) =>
    web((request, response) => {
      if (request.url?.startsWith('/end')) response.end(`at ${request.url}`)
      else response.writeHead(status, { location: to(request) }).end('moved')
    })

  test('is not followed by fetch', async () => {
    const { url, requests } = await leading(() => '/end')
    const response = await post(LOOPBACK, url)
    expect(response.status).toBe(302)
    expect(response.headers.get('location')).toBe('/end')
    expect(requests).toHaveLength(1)
  })

  test.each([301, 302, 303, 307, 308])('with status %i is followed by get, without credentials', async (status) => {
    const end = await web((_request, response) => response.end('there'))
    const { url, requests } = await leading(() => `http://127.0.0.1:${end.port}/end?a=b#part`, status)
    const response = await LOOPBACK.get(url, { headers: { Accept: 'text/plain', Authorization: 'Bearer x' } })
    expect(await response.text()).toBe('there')
    expect(end.requests[0]).toMatchObject({ method: 'GET', url: '/end?a=b' })
    for (const { headers } of [requests[0]!, end.requests[0]!]) {
      expect(headers.accept).toBe('text/plain')
      expect(headers.authorization).toBeUndefined()
    }
  })

  test('is followed three times', async () => {
    const { url } = await leading((request) =>
      request.url === '/3' ? '/end' : `/${Number(request.url!.slice(1)) + 1}`,
    )
    expect(await (await LOOPBACK.get(new URL('/1', url).href)).text()).toBe('at /end')
    expect(await failure(LOOPBACK.get(new URL('/0', url).href))).toBe('unusable: redirects too often')
  })

  test.each([
    ['https://10.0.0.1/', 'it is at a private address (10.0.0.1); see OUTBOUND_ALLOW'],
    ['https://169.254.169.254/latest', 'it is at a private address (169.254.169.254); see OUTBOUND_ALLOW'],
    ['//[::ffff:10.0.0.1]/', 'it must be an https address (http only on this machine)'],
    ['http://provider.example/', 'it must be an https address (http only on this machine)'],
    ['file:///etc/passwd', 'it must be an absolute URL'],
    ['http://me:pw@127.0.0.1/', 'it must be without user name and password'],
  ])('to %s is refused', async (to, because) => {
    const { url } = await leading(() => to)
    expect(await failure(LOOPBACK.get(url))).toBe(`unreachable: redirects to a forbidden address: ${because}`)
  })

  test('to a name with a private address is refused', async () => {
    const { port, url } = await leading(() => `https://provider.example:${port}/end`)
    const outbound = createOutbound({ allow: ['127.0.0.1'] }, names(['127.0.0.3']))
    expect(await failure(outbound.get(url))).toBe(
      `unreachable: redirects to provider.example:${port}, which has a host name that leads to a private address; see OUTBOUND_ALLOW`,
    )
  })

  test('without a usable target is returned or unusable', async () => {
    const { url } = await web((_request, response) => response.writeHead(302).end('nowhere'))
    expect((await LOOPBACK.get(url)).status).toBe(302)
    const { url: nonsense } = await leading(() => 'https://[')
    expect(await failure(LOOPBACK.get(nonsense))).toBe('unusable: redirects to an invalid URL')
  })
})

describe('nothing was sent', () => {
  test('when the connection is refused', async () => {
    const { url } = await listen(createTcpServer())
    running[0]!.server.close()
    expect(await failure(post(LOOPBACK, url))).toBe('unreachable: refused the connection')
  })

  test.each([
    ['ENOTFOUND', 'has a host name that is not known'],
    ['EAI_AGAIN', 'has a host name that cannot be resolved now'],
    ['EAI_FAIL', 'cannot be reached (EAI_FAIL)'],
  ])('when the look-up of the name fails with %s', async (code, message) => {
    const outbound = createOutbound({ allow: [] }, (_name, _options, done) =>
      done(Object.assign(new Error(`lookup ${SECRET}`), { code }), []),
    )
    expect(await failure(post(outbound, 'https://provider.example/'))).toBe(`unreachable: ${message}`)
  })

  test('when the look-up of the name times out', async () => {
    const outbound = createOutbound({ allow: [] }, () => undefined)
    expect(await failure(post(outbound, 'https://provider.example/', { timeoutMs: 100 }))).toBe(
      'unreachable: could not be reached within 0.1 s',
    )
  })

  test('when TLS fails or never completes', async () => {
    const silent = await listen(createTcpServer())
    const url = (port: number) => `https://127.0.0.1:${port}/`
    expect(await failure(post(LOOPBACK, url(silent.port), { timeoutMs: 200 }))).toBe(
      'unreachable: could not be reached within 0.2 s',
    )
    await closed(silent.sockets)
    const { port } = await web((_request, response) => response.end())
    expect(await failure(post(LOOPBACK, url(port)))).toMatch(/^unreachable: has no working TLS \(E\w+\)$/)
    const rude = await raw((socket) => socket.resetAndDestroy())
    expect(await failure(post(LOOPBACK, url(rude.port)))).toBe(
      'unreachable: cut the connection before anything was sent',
    )
  })

  test('when the certificate is not trusted', async () => {
    const requests: unknown[] = []
    const server = createTlsServer(
      { key: fixture('registry/rsa.key.pem'), cert: fixture('registry/rsa.certificate.pem') },
      (request, response) => {
        requests.push(request)
        response.end()
      },
    )
    const { port } = await listen(server)
    expect(await failure(post(LOOPBACK, `https://127.0.0.1:${port}/`))).toBe(
      'unreachable: has a certificate that is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    )
    expect(requests).toEqual([])
  })

  test('when a header contains a line break', async () => {
    const { url, sockets } = await web((_request, response) => response.end())
    const headers = { authorization: `Bearer ${SECRET}\r\nX-More: yes` }
    expect(await failure(LOOPBACK.fetch(url, { headers }))).toBe(
      'unreachable: cannot be asked: there are characters in the request that must not be sent',
    )
    expect(sockets.size).toBe(0)
  })

  test('when the caller’s signal was already aborted', async () => {
    const { url, sockets } = await web((_request, response) => response.end())
    expect(await failure(post(LOOPBACK, url, { signal: AbortSignal.abort() }))).toBe(
      'unreachable: was not waited for any longer',
    )
    expect(sockets.size).toBe(0)
  })
})

describe('the outcome is unknown', () => {
  test('when the server does not respond before the timeout', async () => {
    const { url, requests, sockets } = await web(() => undefined)
    expect(await failure(post(LOOPBACK, url, { timeoutMs: 1500 }))).toBe('unanswered: did not answer within 1.5 s')
    expect(requests).toHaveLength(1)
    await closed(sockets)
  })

  test('when the response does not end before the timeout', async () => {
    const { url } = await web((_request, response) => response.write('{'))
    expect(await failure(post(LOOPBACK, url, { timeoutMs: 1500 }))).toBe('unanswered: did not answer within 1.5 s')
  })

  test('when the caller aborts', async () => {
    const stop = new AbortController()
    const { url } = await web(() => stop.abort(new Error(SECRET)))
    expect(await failure(post(LOOPBACK, url, { signal: stop.signal }))).toBe(
      'unanswered: was not waited for any longer',
    )
  })

  const CUT = 'unanswered: cut the connection before its answer was complete'
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  test.each<[string, (socket: Socket) => void, string]>([
    ['resets the connection', (socket) => socket.resetAndDestroy(), CUT],
    ['closes the connection', (socket) => socket.end(), CUT],
    ['stops within the headers', (socket) => socket.end(HEAD), CUT],
    ['stops within its response', (socket) => socket.end(`${HEAD}content-length: 9\r\n\r\n{`), CUT],
    ['stops within a chunk', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n9\r\n{`), CUT],
    ['stops between chunks', (socket) => socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`), CUT],
    [
      'does not speak HTTP',
      (socket) => socket.end('220 ftp ready\r\n'),
      'unanswered: sent an answer that cannot be read',
    ],
    [
      'changes the protocol',
      (socket) => socket.end('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      CUT,
    ],
  ])('when the server %s', async (_what, speak, said) => {
    const { url, sockets } = await raw(speak)
    expect(await failure(post(LOOPBACK, url))).toMatch(said)
    expect(sockets.size).toBe(1)
  })

  test('when the server resets a new connection, and no second one is opened', async () => {
    const { url, sockets } = await listen(createTcpServer((socket) => socket.resetAndDestroy()))
    expect(await failure(post(LOOPBACK, url))).toMatch('cut the connection before')
    expect(sockets.size).toBe(1)
  })

  const LARGE = 'unanswered: sent an answer that is too large'
  test.each<[string, RequestListener]>([
    ['according to content-length', (_request, response) => response.end('x'.repeat(1024 * 1024 + 1))],
    [
      'because it never ends',
      (_request, response) => {
        const more = () => response.writable && response.write('x'.repeat(65_536), more)
        more()
      },
    ],
    [
      'only after decompression',
      (_request, response) => {
        response.setHeader('content-encoding', 'gzip')
        response.end(gzipSync(Buffer.alloc(64 * 1024 * 1024)))
      },
    ],
    ['because of its headers', (_request, response) => response.writeHead(200, { 'x-more': 'x'.repeat(70_000) }).end()],
  ])('when the response is too large: %s', async (_what, answer) => {
    const { url } = await web(answer)
    expect(await failure(post(LOOPBACK, url))).toBe(LARGE)
  })

  test('except that a response of exactly the limit succeeds', async () => {
    const { url } = await web((_request, response) => response.end('x'.repeat(1024 * 1024)))
    expect((await (await post(LOOPBACK, url)).text()).length).toBe(1024 * 1024)
  })

  test.each([
    ['gzip', 'no gzip'],
    ['gzip', gzipSync('{"a":1}').subarray(0, 12)],
    ['zip', 'no zip'],
    ['constructor', 'no code'],
  ])('when the response can’t be decompressed: %s', async (encoding, content) => {
    const { url } = await web((_request, response) => {
      response.setHeader('content-encoding', encoding)
      response.end(content)
    })
    expect(await failure(post(LOOPBACK, url))).toMatch('unanswered: sent an answer that cannot be read')
  })
})

test('an invalid status is unusable', async () => {
  const { url } = await raw((socket) => socket.end('HTTP/1.1 999 Why\r\ncontent-length: 0\r\n\r\n'))
  expect(await failure(post(LOOPBACK, url))).toBe('unusable: answered 999')
})

// the fixture: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost \
//   -addext subjectAltName=DNS:localhost,DNS:provider.localhost
test('https requires a trusted certificate for the host name', async () => {
  const server = createTlsServer(
    { key: fixture('oauth/localhost.key.pem'), cert: fixture('oauth/localhost.certificate.pem') },
    (request, response) => response.end(`${request.headers.host} ${(request.socket as TLSSocket).servername}`),
  )
  const { port } = await listen(server)
  const calls = [`https://localhost:${port}/`, `https://provider.localhost.:${port}/`, `https://127.0.0.1:${port}/`]
  const NODE_EXTRA_CA_CERTS = new URL('../fixtures/oauth/localhost.certificate.pem', import.meta.url).pathname
  const { stdout, stderr } = await run('test/oauth/refresh-process.ts', calls, { NODE_EXTRA_CA_CERTS }).ended
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual([
    `localhost:${port} localhost`,
    `provider.localhost.:${port} provider.localhost`,
    'unreachable: has a certificate for another name',
  ])
})
