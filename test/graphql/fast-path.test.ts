/**
 * The fast path answers like Yoga. Two servers share a database: one always uses Yoga, the other also the fast path. Each
 * request goes to both, and the answers must be equal.
 */
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/api/auth/authenticate.ts'
import { mountGraphql } from '../../src/api/graphql/mount.ts'
import { createGraphql } from '../../src/api/graphql/yoga.ts'
import { Admission } from '../../src/api/limits/admission.ts'
import { Heartbeat } from '../../src/api/responses/heartbeat.ts'
import { ResponseCache } from '../../src/api/responses/response-cache.ts'
import { createHttp } from '../../src/api/server/http.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { agentKey, gitDeployment, listener, listenerKey } from '../support/factories.ts'

const LIST = `query List($first: Int) { deployments(first: $first) { nodes { id name status latestRevision { number status } } } }`
const TWO = `query A { deployments(first: 1) { nodes { id } } } query B { deployments(first: 1) { nodes { name } } }`
const TYPE = { 'content-type': 'application/json' }

let app: TestApp
let keys: Record<'listener' | 'agent', string>
/** log lines of requests to both servers */
const logged: { requestId: string; status: number; subject: string | null; route: string }[] = []
/** `yoga`: number of requests that reached Yoga */
let quick: Server
let plain: Server

interface Server {
  fastify: FastifyInstance
  port: number
  yoga: number
}

interface Sent {
  /** default: the viewer's key */
  key?: 'viewer' | 'admin'
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

interface Got {
  status: number
  /** headers that are equal for each request, in order */
  headers: string[]
  all: http.IncomingHttpHeaders
  body: Buffer
}

async function server(options: {
  past: boolean
  introspection?: boolean
  atOnce?: number
  bodyTime?: number
}): Promise<Server> {
  const { core, relay } = app.app
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(JSON.parse(line)) })
  const admission = new Admission({
    // no token is refilled during a test
    key: { perSecond: 0.001, burst: 100_000 },
    address: { perSecond: 1000, burst: 1000 },
    maxConcurrent: options.atOnce ?? 0,
    maxHeavy: 0,
  })
  const authenticate = createAuthenticator(core, { jwt: null, admission })
  const fastify = createHttp({ log, notReadyReason: async () => null, bodyTimeoutMs: options.bodyTime ?? 60_000 })
  const { yoga, fastPath } = createGraphql({
    core,
    authenticate,
    relay,
    heartbeat: new Heartbeat(),
    responseCache: new ResponseCache(1024 * 1024),
    admission,
    graphiql: false,
    introspection: options.introspection ?? true,
  })
  const made: Server = { fastify, port: 0, yoga: 0 }
  const counted = new Proxy(yoga, {
    get(target, name) {
      if (name === 'handle') made.yoga++
      return Reflect.get(target, name)
    },
  })
  mountGraphql(fastify, {
    core,
    authenticate,
    yoga: counted,
    fastPath: options.past ? fastPath : { tryAnswer: async () => false },
    stopping: new AbortController().signal,
  })
  made.port = Number(new URL(await fastify.listen({ host: '127.0.0.1', port: 0 })).port)
  return made
}

async function send(
  { port }: Server,
  { key = 'viewer', method = 'POST', path = '/graphql', headers, body }: Sent,
): Promise<Got> {
  const length =
    body === undefined || headers?.['transfer-encoding'] ? {} : { 'content-length': Buffer.byteLength(body) }
  const request = http.request({ port, method, path, headers: { 'x-api-key': app.keys[key], ...length, ...headers } })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const raw = answer.rawHeaders.map((text, i) =>
    i % 2 === 0 ? `${text.toLowerCase()}: ${answer.rawHeaders[i + 1]}` : '',
  )
  const same = raw.filter((text) => text !== '' && !/^(date|x-request-id|ratelimit):/.test(text))
  return { status: answer.statusCode!, headers: same, all: answer.headers, body: Buffer.concat(chunks) }
}

const ask = (query: string, more: object = {}, headers: Record<string, string> = {}): Sent => ({
  headers: { ...TYPE, ...headers },
  body: JSON.stringify({ query, ...more }),
})

/** The answer of both servers, which must be equal except for request ids. */
async function both(sent: Sent): Promise<Got> {
  const masked = ({ status, headers, body }: Got) => ({
    status,
    headers,
    body: body.toString('latin1').replace(/"requestId":"[^"]+"/, ''),
  })
  const expected = await send(plain, sent)
  const got = await send(quick, sent)
  expect(masked(got)).toEqual(masked(expected))
  return got
}

beforeAll(async () => {
  app = await testApp()
  for (const name of ['one', 'two', 'three']) await gitDeployment(app, { name })
  keys = { listener: await listenerKey(app, await listener(app)), agent: await agentKey(app, 'bot') }
  quick = await server({ past: true })
  plain = await server({ past: false })
  for (let i = 0; i < 2; i++) {
    await send(quick, ask(LIST))
    for (const operationName of ['A', 'B']) await send(quick, ask(TWO, { operationName }))
  }
})
afterAll(async () => {
  await quick?.fastify.close()
  await plain?.fastify.close()
  await app.close()
})
beforeEach(() => {
  quick.yoga = 0
  plain.yoga = 0
})

describe('a query that was executed before', () => {
  test.each<[string, Sent]>([
    ['the same text', ask(LIST)],
    ['other variables', ask(LIST, { variables: { first: 2 } })],
    [
      'null for variables, operation name and extensions',
      ask(LIST, { variables: null, operationName: 'List', extensions: null }),
    ],
    ['empty extensions', ask(LIST, { extensions: {} })],
    ['one of two operations, by name', ask(TWO, { operationName: 'B' })],
    ['a charset in the content type', ask(LIST, {}, { 'content-type': 'application/json; charset=utf-8' })],
    ['another key', { ...ask(LIST), key: 'admin' }],
    [
      'spaces and other members first',
      { headers: TYPE, body: ` { "variables": {"first":1}, "query": ${JSON.stringify(LIST)} } ` },
    ],
    [
      'a repeated member, of which the last counts',
      { headers: TYPE, body: `{"query":"{nonsense}","query":${JSON.stringify(LIST)}}` },
    ],
  ])('is answered without Yoga, byte by byte the same: %s', async (_what, sent) => {
    const { status, body } = await both(sent)
    expect(status).toBe(200)
    expect(JSON.parse(body.toString()).data.deployments.nodes.length).toBeGreaterThan(0)
    expect(quick.yoga).toBe(0)
    expect(plain.yoga).toBe(1)
  })

  test('is answered in the requested content type after Yoga chose it once', async () => {
    for (const accept of ['application/graphql-response+json', 'application/json, */*;q=0.1', '*/*'])
      for (let i = 0; i < 2; i++) {
        quick.yoga = 0
        const { all } = await both(ask(LIST, {}, { accept }))
        expect(all['content-type']).toMatch(accept.startsWith('application/g') ? /^application\/graphql-r/ : /json/)
        if (i === 1) expect(quick.yoga).toBe(0)
      }
  })

  test('has a request id, a log line and rate limit headers like any request', async () => {
    const remaining = ({ all }: Got) => Number(/r=(\d+)/.exec(String(all.ratelimit))![1])
    logged.length = 0
    const headers = { ...TYPE, 'x-api-key': app.keys.deployer, 'x-request-id': 'mine' }
    const sent = { ...ask(LIST), headers }
    const first = await send(quick, sent)
    const second = await send(quick, sent)
    expect(quick.yoga).toBe(0)
    expect(first.all['x-request-id']).toBe('mine')
    expect(first.all['ratelimit-policy']).toMatch(/^"key";q=/)
    expect(remaining(first) - remaining(second)).toBe(1)
    await expect.poll(() => logged.length).toBe(2)
    const subject = (await app.context(app.keys.deployer)).actor.subject
    expect(logged[0]).toMatchObject({ requestId: 'mine', status: 200, route: '/graphql', subject })
  })

  test('is counted once if Yoga must answer', async () => {
    const remaining = ({ all }: Got) => Number(/r=(\d+)/.exec(String(all.ratelimit))![1])
    const sent = ask('{ viewer { role nonsense } }', {}, { 'x-api-key': app.keys.secretsReader })
    const first = await send(quick, sent)
    const second = await send(quick, sent)
    expect(quick.yoga).toBe(2)
    expect(remaining(first) - remaining(second)).toBe(1)
  })
})

describe('all other requests are answered by Yoga', () => {
  const text = JSON.stringify(LIST)
  const long = LIST.padEnd(3000)
  test.each<[string, Sent]>([
    ['a GET', { method: 'GET', path: `/graphql?query=${encodeURIComponent(LIST)}` }],
    ['a POST with a query in the URL as well', { ...ask(LIST), path: '/graphql?query={viewer{role}}' }],
    ['a PUT', { ...ask(LIST), method: 'PUT' }],
    ['a text/plain body', ask(LIST, {}, { 'content-type': 'text/plain' })],
    ['an application/graphql body', { headers: { 'content-type': 'application/graphql' }, body: LIST }],
    ['a content type in capitals', ask(LIST, {}, { 'content-type': 'Application/JSON' })],
    ['a body in another charset', ask(LIST, {}, { 'content-type': 'application/json; charset=latin1' })],
    ['a body without a content type', { body: JSON.stringify({ query: LIST }) }],
    ['a request without a body', { headers: TYPE }],
    ['an empty body', { headers: TYPE, body: '' }],
    ['a chunked body', ask(LIST, {}, { 'transfer-encoding': 'chunked' })],
    ['a body with a byte order mark', { headers: TYPE, body: `\ufeff{"query":${text}}` }],
    [
      'a body with invalid UTF-8',
      { headers: TYPE, body: Buffer.from(`{"query":${text},"operationName":"\xff"}`, 'latin1') },
    ],
    ['a body with invalid JSON', { headers: TYPE, body: `{"query":${text}` }],
    ['JSON followed by other text', { headers: TYPE, body: `{"query":${text}} x` }],
    ['a JSON array', { headers: TYPE, body: `[{"query":${text}}]` }],
    ['the JSON value null', { headers: TYPE, body: 'null' }],
    ['an unknown member', ask(LIST, { nonsense: 1 })],
    ['an unknown member with the value null', ask(LIST, { nonsense: null })],
    ['a __proto__ member', { headers: TYPE, body: `{"query":${text},"__proto__":{"variables":{"first":1}}}` }],
    ['non-empty extensions', ask(LIST, { extensions: { persistedQuery: { version: 1 } } })],
    ['extensions as an array', ask(LIST, { extensions: [] })],
    ['variables as an array', ask(LIST, { variables: [] })],
    ['variables as a string', ask(LIST, { variables: '{}' })],
    ['a variable of the wrong type', ask(LIST, { variables: { first: 'x' } })],
    ['an undefined variable', ask(LIST, { variables: { first: 1, last: 2 } })],
    ['a page size above the maximum', ask(LIST, { variables: { first: 1000 } })],
    ['a negative page size', ask(LIST, { variables: { first: -1 } })],
    ['an unknown operation name', ask(LIST, { operationName: 'Other' })],
    ['an empty operation name', ask(LIST, { operationName: '' })],
    ['a number as operation name', ask(LIST, { operationName: 1 })],
    ['two operations without an operation name', ask(TWO)],
    ['a number as query', ask(1 as never)],
    ['a request without a credential', ask(LIST, {}, { 'x-api-key': '' })],
    ['a wrong key', ask(LIST, {}, { 'x-api-key': 'cpk_wrong' })],
    ['a workspace id that is not a UUID', ask(LIST, {}, { 'x-tenant-id': 'x' })],
    ['another tenant’s workspace', ask(LIST, {}, { 'x-tenant-id': '00000000-0000-4000-8000-000000000000' })],
    ['an If-Match header', ask(LIST, {}, { 'if-match': '"1"' })],
    ['an If-None-Match header', ask(LIST, {}, { 'if-none-match': '"1"' })],
    ['an Idempotency-Key header', ask(LIST, {}, { 'idempotency-key': 'abc' })],
    ['a request that accepts HTML', ask(LIST, {}, { accept: 'text/html' })],
    ['a request that accepts an event stream', ask(LIST, {}, { accept: 'text/event-stream' })],
    ['a request that accepts multipart/mixed', ask(LIST, {}, { accept: 'multipart/mixed' })],
    ['a request that accepts only an image', ask(LIST, {}, { accept: 'image/png' })],
    [
      'a request that accepts only an unsupported charset',
      ask(LIST, {}, { accept: 'application/json;charset=latin1' }),
    ],
    ['a long document', ask(long)],
    ['a body of 100 KiB', ask(LIST, { variables: { nonsense: 'x'.repeat(100 * 1024) } })],
    ['a body above the size limit', ask(LIST, { variables: { nonsense: 'x'.repeat(2 * 1024 * 1024) } })],
    [
      'a query above the cost limit',
      ask('{ deployments(first: 100) { nodes { revisions(first: 100) { nodes { id number status } } } } }'),
    ],
    ['an unknown field', ask('{ nonsense }')],
    ['an id that does not exist', ask('{ deployment(id: "00000000-0000-4000-8000-000000000000") { id } }')],
    ['a mutation', ask('mutation { deleteDeployments(input: { ids: [] }) { __typename } }')],
    [
      'a subscription without an event stream',
      ask('subscription { events { id } }', {}, { accept: 'application/json' }),
    ],
  ])('%s', async (_how, sent) => {
    for (let i = 0; i < 2; i++) await both(sent)
  })

  test('keys of limited roles', async () => {
    for (const key of Object.values(keys))
      for (const sent of [ask(LIST), ask(long), ask(TWO, { operationName: 'A' })])
        await both({ ...sent, headers: { ...sent.headers!, 'x-api-key': key } })
  })

  test('introspection that is turned off, for a second request as well', async () => {
    const closed = await server({ past: true, introspection: false })
    try {
      const sent = ask('{ __schema { queryType { name } } }')
      expect((await send(quick, sent)).status).toBe(200)
      for (let i = 0; i < 2; i++) {
        const { body } = await send(closed, sent)
        expect(JSON.parse(body.toString())).not.toHaveProperty('data')
      }
    } finally {
      await closed.fastify.close()
    }
  })
})

describe('a body that arrives slowly', () => {
  const body = JSON.stringify({ query: LIST })
  const head = (length: number) =>
    `POST /graphql HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${app.keys.viewer}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

  /** Sends each part as a separate packet, and returns everything that was received until the server closed. */
  async function pieces(parts: string[], until: RegExp, { port } = quick): Promise<string> {
    const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
    let got = ''
    try {
      await once(socket, 'connect')
      const answered = new Promise<void>((resolve, reject) => {
        socket.on('data', (data) => {
          got += data
          if (until.test(got)) resolve()
        })
        socket.once('close', resolve).once('error', reject)
      })
      for (const part of parts) {
        socket.write(part)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await answered
      return got
    } finally {
      socket.destroy()
    }
  }

  test('is answered, with a cached query or a new one', async () => {
    expect(await pieces([head(body.length), ...body], /"deployments"/)).toMatch(/^HTTP\/1.1 200/)
    expect(quick.yoga).toBe(0)
    const unknown = JSON.stringify({ query: `{ viewer { role } } # ${Math.random()}` })
    expect(await pieces([head(unknown.length), ...unknown], /"viewer"/)).toMatch(/^HTTP\/1.1 200/)
    expect(quick.yoga).toBe(1)
  })

  test('and stays incomplete is answered 408', async () => {
    const hasty = await server({ past: true, bodyTime: 200 })
    try {
      const got = await pieces([head(body.length), body.slice(0, 20)], /REQUEST_TIMEOUT/, hasty)
      expect(got).toMatch(/^HTTP\/1.1 408/)
    } finally {
      await hasty.fastify.close()
    }
  })

  test('several requests on one connection are answered in order on both paths', async () => {
    const unknown = JSON.stringify({ query: `{ viewer { role } } # ${Math.random()}` })
    const mixed = [body, unknown, body, unknown, body].map((one) => head(one.length) + one).join('')
    const got = await pieces([mixed], /(?:"data"[\s\S]*){5}/)
    expect(got.match(/"data":\{"(\w+)/g)).toEqual(
      ['deployments', 'viewer', 'deployments', 'viewer', 'deployments'].map((name) => `"data":{"${name}`),
    )
  })

  test('a client that disconnects frees its slot for the next request', async () => {
    const narrow = await server({ past: true, atOnce: 1 })
    try {
      await send(narrow, ask(LIST))
      const socket = net.connect(narrow.port, '127.0.0.1')
      await once(socket, 'connect')
      const arrived = once(narrow.fastify.server, 'request')
      socket.write(head(body.length) + body.slice(0, 20))
      await arrived
      const next = send(narrow, ask(LIST))
      socket.destroy()
      expect((await next).status).toBe(200)
    } finally {
      await narrow.fastify.close()
    }
  })
})
