/** GraphQL over HTTP: the protocol's own audits, credentials, GraphiQL, limits, and masked internal errors. */
import { auditServer } from 'graphql-http'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { testApp, useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'

/** the server's log of errors, line by line */
const logged: object[] = []
const log = pino({ level: 'error' }, { write: (line: string) => logged.push(JSON.parse(line)) })
const app = useApp(() => ({ overrides: { log } }))

test('the server passes every audit of GraphQL over HTTP', async () => {
  const fetchFn = (input: string, init: RequestInit = {}) =>
    fetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), 'x-api-key': app.keys.viewer } })
  const audits = await auditServer({ url: `${app.url}/graphql`, fetchFn })
  const missed = audits.flatMap((audit) => (audit.status === 'ok' ? [] : [[audit.id, audit.name, audit.reason]]))
  expect(missed).toEqual([])
  expect(audits).toHaveLength(61)
})

test('a refused credential is one error, before the document is read', async () => {
  const { body } = await app.gql('{ nonsense', {}, { key: 'cpk_wrong' })
  expect(body.errors).toEqual([
    { message: expect.any(String), extensions: { code: 'UNAUTHENTICATED', status: 401, retryable: false } },
  ])
})

describe('an unreadable request', () => {
  const call = async (method: string, target: string, contentType: string, body?: string) => {
    const answer = await app.rest(method, target, { body, headers: { 'content-type': contentType } })
    return [answer.status, answer.body?.errors.map((error: { extensions: { code: string } }) => error.extensions.code)]
  }
  const query = '/graphql?query={viewer{role}}'
  const text = '{"query":"{viewer{role}}"}'

  test.each([
    ['variables with invalid JSON', 'GET', `${query}&variables=nonsense`, 'text/plain', undefined, 400],
    ['extensions with invalid JSON', 'GET', `${query}&extensions={`, 'text/plain', undefined, 400],
    [
      'a form with invalid variables',
      'POST',
      '/graphql',
      'application/x-www-form-urlencoded',
      'query={a}&variables=x',
      400,
    ],
    ['a body with invalid JSON', 'POST', '/graphql', 'application/json', '{"query":', 400],
    ['a body with another content type', 'POST', '/graphql', 'text/plain', text, 415],
    ['a method that GraphQL over HTTP does not use', 'PUT', '/graphql', 'application/json', text, 405],
  ])('%s', async (_what, method, target, contentType, body, status) => {
    logged.length = 0
    const code = { 400: 'VALIDATION_FAILED', 405: 'METHOD_NOT_ALLOWED', 415: 'UNSUPPORTED_MEDIA_TYPE' }[status]
    expect(await call(method, target, contentType, body)).toEqual([status, [code]])
    expect(logged).toEqual([])
  })

  test('a variable of the wrong type is named without its value', async () => {
    const { errors } = await app.gql('query ($first: Int) { deployments(first: $first) { totalCount } }', {
      first: 'hush',
    })
    expect(errors?.[0].message).toBe('first: Int cannot represent non-integer value')
  })
})

describe('GraphiQL', () => {
  test('is shown to a browser without a credential', async () => {
    const { status, text } = await app.rest('GET', '/graphql', { key: null, headers: { accept: 'text/html' } })
    expect(status).toBe(200)
    expect(text).toContain('GraphiQL')
    // no other site sees what users type, and the page works without a network
    expect(text).not.toMatch(/(src|href)="?https?:/)
  })

  test('has a content security policy: nothing from other origins, and no framing', async () => {
    const { headers } = await app.rest('GET', '/graphql', { key: null, headers: { accept: 'text/html' } })
    const policy = headers.get('content-security-policy')!.split('; ')
    for (const rule of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(rule)
    expect((await app.rest('POST', '/graphql', { body: {} })).headers.get('content-security-policy')).toBeNull()
  })

  test('and introspection can both be turned off', async () => {
    const closed = await testApp({ beside: app, settings: { GRAPHIQL: 'off', INTROSPECTION: 'off' } })
    const page = await closed.rest('GET', '/graphql', { key: null, headers: { accept: 'text/html' } })
    expect(page.status).toBe(401)
    const { data, errors } = await closed.gql('{ __schema { queryType { name } } }')
    expect([data, errors?.[0].extensions.code]).toEqual([undefined, 'VALIDATION_FAILED'])
    expect((await closed.gql('{ viewer { role } }')).data.viewer.role).toBe('admin')
    await closed.close()
  })
})

describe('limits', () => {
  const refused = async (query: string) => {
    const { data, errors } = await app.gql(query)
    expect(data ?? null).toBeNull()
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', status: 422 })
    return errors?.[0].message as string
  }

  test('a document that is too deep is rejected', async () => {
    const nested = 'latestRevision { deployment { '
    const query = `{ deployments { nodes { ${nested.repeat(8)} id ${'} } '.repeat(8)} } } }`
    expect(await refused(query)).toMatch(/depth/i)
  })

  test('a document with too many aliases is rejected', async () => {
    const aliases = Array.from({ length: 40 }, (_, i) => `a${i}: viewer { role }`).join(' ')
    expect(await refused(`{ ${aliases} }`)).toMatch(/alias/i)
  })

  test('a document with too many tokens is rejected', async () => {
    expect(await refused(`{ viewer { ${'role '.repeat(5000)} } }`)).toMatch(/token/i)
  })

  test('the cost of nested pages multiplies', async () => {
    const query = `{ deployments(first: 100) { nodes { revisions(first: 100) { nodes { events(first: 100) { nodes { type } } } } } } }`
    expect(await refused(query)).toMatch(/costs/)
  })

  test('a body over 1 MiB is a 413, and batched operations are rejected', async () => {
    const body = { query: `{ viewer { role } } #${'x'.repeat(1024 * 1024)}` }
    const large = await app.rest('POST', '/graphql', { body })
    expect([large.status, large.body?.errors[0].extensions.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const batch = await app.rest('POST', '/graphql', { body: [{ query: '{ viewer { role } }' }] })
    expect(batch.status).toBe(400)
  })

  test('a full introspection and a dashboard’s query are accepted', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    expect((await app.gql(getIntrospectionQuery())).errors).toBeUndefined()
    const dashboard = `{ viewer { role workspace { name organization { name } } }
      deployments(first: 50) { totalCount edges { node { id name status secrets { name value } tags { key value }
        sourceConfig { resourceSpec { cpu memoryMb } } listener { id status }
        latestRevision { id status statusMessage } activeRevision { id number }
        revisions(first: 5) { totalCount nodes { id status sourceRevisionConfig { repoRef repoCommitSha } } } } }
        pageInfo { hasNextPage endCursor } } }`
    expect((await app.gql(dashboard)).errors).toBeUndefined()
  })
})

describe('an internal error', () => {
  test('is masked, and logged once with its cause and the request id', async () => {
    const { id } = await gitDeployment(app)
    // damaged on purpose: these secrets can't be decrypted
    await app.app.core.db.secretSet.updateMany({
      where: { deploymentId: id },
      data: { names: ['A'], ciphertext: new Uint8Array(40) },
    })
    logged.length = 0
    const { status, data, errors, headers } = await app.gql(
      'query ($id: ID!) { deployment(id: $id) { secrets { value } } }',
      { id },
    )
    const requestId = headers.get('x-request-id')
    expect([status, data]).toEqual([200, { deployment: null }])
    expect(errors).toEqual([
      {
        message: 'Internal error',
        locations: expect.anything(),
        path: ['deployment', 'secrets'],
        extensions: { code: 'INTERNAL', status: 500, retryable: false, requestId },
      },
    ])
    expect(logged).toEqual([
      expect.objectContaining({ requestId, err: expect.objectContaining({ stack: expect.any(String) }) }),
    ])
  })
})
