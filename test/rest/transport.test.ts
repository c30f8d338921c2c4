/**
 * The rules of the REST transport (docs/api-rules.md#who-is-calling, docs/api-rules.md#errors): credentials, bodies,
 * unknown paths, request ids, hidden causes.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { operations } from '../../src/api/rest/operations.ts'
import { createLogger } from '../../src/app/logger.ts'
import { bodies, restApp, useRestApp, violations } from './support.ts'

const app = useRestApp()

/** The answer to a request that `fetch` would not send. */
async function requestOf(raw: string) {
  const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(raw)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(lines.map((line) => line.split(': ') as [string, string]))
  return { status: Number(first.split(' ')[1]), headers, body: JSON.parse(body) }
}

test.for([
  ['POST', '/graphql', 'text/plain', 415],
  ['POST', '/v2/nothing', 'application/json', 404],
] as const)(
  '%s %s as %s: when a body is refused in its middle, the next request of its connection is answered',
  async ([method, path, type, status]) => {
    const socket = net.connect(Number(new URL(app.url).port), '127.0.0.1')
    const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${app.keys.deployer}\r\nContent-Type: ${type}\r\n`,
    )
    socket.write(`Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(30)}0\r\n\r\n`)
    const [refused] = await once(socket, 'data')
    expect(Number(String(refused).split(' ')[1])).toBe(status)
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
  },
)

describe('credentials', () => {
  test('a missing or unknown one is 401 with a challenge, before anything else is checked', async () => {
    for (const key of [null, 'cpk_unknown']) {
      const answer = await app.call('POST', '/v2/deployments', { key, body: '{"malformed' })
      expect([answer.status, answer.body.code]).toEqual([401, 'UNAUTHENTICATED'])
      expect(answer.headers.get('www-authenticate')).toMatch(/realm/)
    }
  })

  const id = '11111111-1111-1111-1111-111111111111'
  test.each(operations.map(({ operationId, method, path }) => [operationId, method, path.replace(/\{\w+\}/g, id)]))(
    '%s: 401 without one; 403 for viewers if it writes or shows addresses of receivers, but for what is their own, and links',
    async (operationId, method, path) => {
      expect((await app.call(method!, path!, { key: null })).status).toBe(401)
      const viewer = await app.call(method!, path!, { key: app.keys.viewer })
      if (operationId === 'revokeSession') expect(viewer.status).toBe(404)
      else if (operationId === 'updateApiKey' || operationId === 'createDeploymentLink') expect(viewer.status).toBe(422)
      else if (method === 'GET' && !path!.includes('/webhook-endpoints'))
        expect([200, 404, 422]).toContain(viewer.status)
      else expect([viewer.status, viewer.body.code]).toEqual([403, 'FORBIDDEN'])
    },
  )
})

describe('bodies', () => {
  const post = (body: string, contentType: string, key?: string) =>
    app.call('POST', '/v2/deployments', { body, key, headers: { 'content-type': contentType } })

  test.each(['application/json', 'application/json; charset=utf-8', 'application/merge-patch+json'])(
    '%s is JSON',
    async (type) => {
      expect((await post(JSON.stringify(bodies.internal_container()), type)).status).toBe(201)
    },
  )

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])('%s is 415', async (type) => {
    const answer = await post('{}', type)
    expect([answer.status, answer.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('over 1 MiB is 413', async () => {
    const answer = await post(JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 'application/json')
    expect([answer.status, answer.body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
  })

  test('malformed JSON is 422 together with the path’s violations, and after 403', async () => {
    const answer = await app.call('PATCH', '/v2/deployments/nope', { body: '{"a": }' })
    expect(violations(answer)).toEqual(['body json_invalid', 'path.deployment_id uuid_parsing'])
    expect((await post('{', 'application/json', app.keys.viewer)).status).toBe(403)
  })
})

describe('paths', () => {
  test('an unknown one is 404 in JSON, with and without a credential', async () => {
    for (const key of [undefined, null]) {
      const answer = await app.call('GET', '/v2/nothing', { key })
      expect([answer.status, answer.body.code]).toEqual([404, 'NOT_FOUND'])
      expect(answer.body.detail).toBe('There is nothing at GET /v2/nothing.')
    }
  })

  test('a method that a path lacks is 405 and lists those that it has', async () => {
    const answer = await app.rest('PUT', '/v2/deployments')
    expect([answer.status, answer.body.code]).toEqual([405, 'METHOD_NOT_ALLOWED'])
    expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD, POST')
    const id = '11111111-1111-1111-1111-111111111111'
    const redeploy = await app.rest('GET', `/v2/deployments/${id}/revisions/${id}/redeploy`)
    expect([redeploy.status, redeploy.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test.each(['QUERY', 'TRACE', 'PROPFIND', 'BREW', 'get'])('%s, which no path has, is 405 too', async (method) => {
    const send = (path: string) => requestOf(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    for (const [path, allow] of [
      ['/v2/deployments?limit=1', 'DELETE, GET, HEAD, POST'],
      ['/healthz', 'GET, HEAD'],
      ['/graphql', 'GET, HEAD, OPTIONS, POST'],
      ['/v1/uploads/a/b', 'PUT'],
    ] as const) {
      const { status, headers, body } = await send(path)
      expect([status, headers.get('allow'), body.code]).toEqual([405, allow, 'METHOD_NOT_ALLOWED'])
      expect(body.request_id).toBe(headers.get('x-request-id'))
    }
    expect((await send('/v2/nothing')).body).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('HEAD is GET without the body', async () => {
    const answer = await app.rest('HEAD', '/v2/deployments')
    expect([answer.status, answer.text]).toEqual([200, ''])
  })

  test('a path that can’t be decoded, or has a very long part, is 422', async () => {
    // fetch would repair the path
    const status = await new Promise((resolve, reject) => {
      request(`${app.url}/v2/deployments/`, { path: '/v2/deployments/%zz' }, (response) => {
        response.resume()
        resolve([response.statusCode, response.headers['content-type'], response.headers['x-request-id']])
      })
        .on('error', reject)
        .end()
    })
    expect(status).toEqual([422, expect.stringMatching(/^application\/json/), expect.any(String)])
    expect(violations(await app.call('GET', `/v2/deployments/${'a'.repeat(500)}`))).toEqual([
      'path.deployment_id uuid_parsing',
    ])
    expect(violations(await app.call('GET', `/v2/deployments/${'a'.repeat(3000)}`))).toEqual(['path value_error'])
  })
})

test('the caller’s valid request id is returned, in the header and in errors', async () => {
  const sane = await app.call('GET', '/v2/nothing', { headers: { 'x-request-id': 'ci-42' } })
  expect([sane.headers.get('x-request-id'), sane.body.request_id]).toEqual(['ci-42', 'ci-42'])
  const insane = await app.call('GET', '/v2/nothing', { headers: { 'x-request-id': 'a b"c' } })
  expect(insane.body.request_id).not.toBe('a b"c')
})

test('an unexpected error is «Internal error», and the log has the cause under the request’s id, once', async () => {
  const lines: { requestId?: string; msg: string; err?: { message: string } }[] = []
  const log = createLogger('error', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const broken = await restApp({ overrides: { log } })
  await broken.core.db.$executeRaw`DROP TABLE integrations CASCADE`
  const answer = await broken.rest('GET', '/v1/integrations/gitprovider/install')
  const requestId = answer.headers.get('x-request-id')
  expect([answer.status, answer.body]).toEqual([
    500,
    { detail: 'Internal error', code: 'INTERNAL', request_id: requestId },
  ])
  const mine = lines.filter((line) => line.requestId === requestId)
  expect(mine).toHaveLength(1)
  expect(mine[0]!.err!.message).toContain('integrations')
  await broken.close()
})
