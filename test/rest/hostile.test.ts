/** Requests that no sane client sends are refused in the shape of every other error, never with a 500. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { errorHandler } from '../../src/api/rest/framework/errors.ts'
import { createLogger } from '../../src/app/logger.ts'
import { bodies, set, useRestApp, violations } from './support.ts'

const app = useRestApp()

const post = (body: unknown) => app.call('POST', '/v2/deployments', { body })
const SPEC = 'source_config.resource_spec'

describe('numbers', () => {
  /** JSON can contain numbers that JavaScript can't represent. */
  const huge = (field: string, digits: string) =>
    post(JSON.stringify(set(bodies.internal_container(), `${SPEC}.${field}`, '#')).replace('"#"', digits))

  test.each([
    ['min_scale', '1e30', 'less_than_equal'],
    ['min_scale', '-1e30', 'greater_than_equal'],
    ['memory_mb', '3000000000', 'less_than_equal'],
    ['db_cpu', '1e308', 'less_than_equal'],
    ['orchestrator_cpu', '1e308', 'less_than_equal'],
    ['cpu', '1e400', 'float_type'],
  ])('%s %s is one violation', async (field, digits, type) => {
    expect(violations(await huge(field, digits))).toEqual([`body.${SPEC}.${field} ${type}`])
  })

  test('a number beyond all bounds is refused also where any value is allowed', async () => {
    const body = set(bodies.internal_container(), `${SPEC}.volumes`, [{ name: 'v', emptyDir: { sizeLimit: '#' } }])
    expect(violations(await post(JSON.stringify(body).replace('"#"', '1e400')))).toEqual([
      `body.${SPEC}.volumes.0.emptyDir.sizeLimit finite_number`,
    ])
  })

  test.each(['0x10', '1e1', ' 5', '1.0', '٣'])('a limit of «%s» is no integer', async (limit) => {
    expect(violations(await app.call('GET', '/v2/deployments', { query: { limit } }))).toEqual([
      'query.limit int_parsing',
    ])
  })
})

describe('nesting', () => {
  const nested = (depth: number) =>
    JSON.stringify(set(bodies.internal_container(), `${SPEC}.volumes`, [{ name: 'v', configMap: { x: '#' } }])).replace(
      '"#"',
      `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    )

  test('as deep as a volume needs is stored unchanged', async () => {
    const answer = await post(nested(20))
    expect(answer.status).toBe(201)
    expect(JSON.stringify(answer.body)).toContain('{"a":'.repeat(20))
  })

  test.each([100, 5_000, 150_000])('%d levels are refused', async (depth) => {
    const { status, body } = await post(nested(depth))
    expect([status, body.detail.map((v: { type: string }) => v.type)]).toEqual([422, ['recursion_depth']])
  })
})

test('an index in a violation’s path is a number, for shape and rules', async () => {
  const places = async (secrets: unknown) =>
    (await post({ ...bodies.internal_container(), secrets })).body.detail.map((v: { loc: unknown }) => v.loc)
  expect(await places([{ name: 'A', value: 1 }])).toEqual([['body', 'secrets', 0, 'value']])
  expect(await places([{ name: 'PORT', value: '1' }])).toEqual([['body', 'secrets', 0, 'name']])
})

test('an id may be written in upper case', async () => {
  const git = bodies.gitprovider(app.tenant.integrationId.toUpperCase())
  const { id, source_config } = await app.create(git)
  expect(source_config.integration_id).toBe(app.tenant.integrationId)
  const same = await app.call('PATCH', `/v2/deployments/${id.toUpperCase()}`, {
    body: { source_config: git.source_config },
  })
  expect(same.status, same.text).toBe(200)
  const deployment_ids = [id, id.toUpperCase()]
  const { body } = await app.call('DELETE', '/v2/deployments', { query: { deployment_ids } })
  expect(body.results).toEqual([{ deployment_id: id, status: 204, detail: null }])
})

describe('An unreadable request', () => {
  const CLOSE = 'Connection: close\r\n\r\n'

  async function send(request: string): Promise<{ head: string; body: { code: string; request_id: string } }> {
    const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(request)
    const [head, body] = (await text(socket)).split('\r\n\r\n') as [string, string]
    return { head, body: JSON.parse(/\{.*\}/.exec(body)![0]) }
  }

  test.each([
    ['no HTTP', 'HELLO\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    ['an unknown expectation', `POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n${CLOSE}`, 417, 'EXPECTATION_FAILED'],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    ['an address of 20 KiB', `GET /?${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
  ])('%s', async (_what, request, status, code) => {
    const { head, body } = await send(request)
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toMatch(/^Content-Type: application\/json/im)
    expect(head.toLowerCase()).toContain(`x-request-id: ${body.request_id}`)
    expect(body).toEqual({ detail: expect.any(String), code, request_id: expect.any(String) })
  })
})

test('a caller that disconnects in the middle of its body is no error of the server', async () => {
  const lines: string[] = []
  const server = Fastify()
  server.setErrorHandler(errorHandler(createLogger('error', { write: (line: string) => void lines.push(line) })))
  server.post('/', async () => null)
  const answered = new Promise<number>((resolve) => {
    server.addHook('onSend', async (_request, reply) => resolve(reply.statusCode))
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  try {
    const socket = net.connect((server.server.address() as AddressInfo).port, '127.0.0.1')
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100'
    socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n{`)
    // `100 Continue`: the server has read the headers and waits for the body
    await once(socket, 'data')
    socket.destroy()
    expect(await answered).toBe(400)
    expect(lines).toEqual([])
  } finally {
    await server.close()
  }
})
