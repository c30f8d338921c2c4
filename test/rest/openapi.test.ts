/** The OpenAPI document and its page: complete, public, generated from the operations. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { operations } from '../../src/api/rest/operations.ts'
import { CATALOGUE, type ErrorCode } from '../../src/domain/errors/errors.ts'
import { VERSION } from '../../src/platform/files/checkout.ts'
import { useRestApp } from './support.ts'

const app = useRestApp()
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document
let document: any
beforeAll(async () => {
  const answer = await app.rest('GET', '/openapi.json', { key: null })
  expect(answer.status).toBe(200)
  document = answer.body
})

test('it equals the reviewed snapshot', async () => {
  // the port differs in each run, the version in each release
  const info = { ...document.info, version: '0.0.0' }
  const reviewed = { ...document, info, servers: [{ url: 'https://control.example.com' }] }
  await expect(`${JSON.stringify(reviewed, null, 2)}\n`).toMatchFileSnapshot('__snapshots__/openapi.json')
})

test('it is OpenAPI 3.1 of the server’s version at the public URL, with its security schemes', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(document.info).toMatchObject({ title: 'Pilothouse', version: VERSION, license: { identifier: 'Apache-2.0' } })
  expect(document.servers).toEqual([{ url: app.url }])
  // the page's dialog lists them in this order
  expect(Object.keys(document.components.securitySchemes)).toEqual([
    'ApiKey',
    'TenantId',
    'SessionCookie',
    'SessionHalf',
    'LoginSecret',
    'BearerAuth',
  ])
  expect(document.components.securitySchemes).toMatchObject({
    ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
    TenantId: { type: 'apiKey', in: 'header', name: 'X-Tenant-Id' },
    SessionCookie: { type: 'apiKey', in: 'cookie' },
    SessionHalf: { type: 'apiKey', in: 'header', name: 'X-Session' },
    LoginSecret: { type: 'apiKey', in: 'header', name: 'X-Login-Secret' },
    BearerAuth: { type: 'http', scheme: 'bearer' },
  })
})

describe('The document', () => {
  test('has every operation under a unique id, and no others', () => {
    const documented = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    // the realm of the container registry, sign-in and logins have separate credentials: they are no operations, but clients
    const declared = [
      ...operations.map(({ method, path }) => `${method} ${path}`),
      'GET /v1/registry/token',
      'POST /v2/sessions',
      'GET /v2/sessions/methods',
      'GET /.well-known/jwks.json',
      'POST /v2/logins',
      'GET /v2/logins/{login_id}',
      'GET /v2/builders/claims/{claim_id}/tarball',
    ]
    expect(documented.sort()).toEqual(declared.sort())
    const ids = operations.map((operation) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(operations.map((operation) => [operation.operationId, operation] as const))(
    '%s has a summary, a tag, its parameters and all its answers',
    (operationId, { method, path, input, responses, errors, ifMatch, idempotency, stream, headers }) => {
      const found = document.paths[path][method.toLowerCase()]
      expect(found).toMatchObject({ operationId, summary: expect.any(String), tags: [expect.any(String)] })
      const names = (place: string) =>
        (found.parameters ?? []).filter((p: { in: string }) => p.in === place).map((p: { name: string }) => p.name)
      expect(names('path')).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
      const query = (input.shape.query as { shape?: object } | undefined)?.shape ?? {}
      expect(names('query')).toEqual(Object.keys(query))
      const isTagged = method === 'GET' && headers?.['cache-control'] !== 'no-store'
      const condition = ifMatch ? ['If-Match'] : isTagged ? ['If-None-Match'] : []
      const key = method === 'GET' || idempotency === 'not-documented' ? [] : ['Idempotency-Key']
      expect(names('header')).toEqual([...condition, ...key, ...(stream ? ['Last-Event-ID'] : [])])
      expect('requestBody' in found).toBe('body' in input.shape)
      const conditional = ifMatch ? [412] : isTagged ? [304] : []
      const statuses = [...Object.keys(responses), ...errors, ...conditional, 401, 403, 422, 500].map(String)
      expect(Object.keys(found.responses)).toEqual(expect.arrayContaining(statuses))
      for (const answer of Object.values<{ description: string }>(found.responses))
        expect(answer.description).toBeTruthy()
    },
  )
})

describe('the example', () => {
  const JSON_BODY = 'application/json'
  test.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'of every body of %s is one that it takes, or answers, as it stands',
    (_operationId, { method, path, input, responses: declared }) => {
      const { requestBody, responses } = document.paths[path][method.toLowerCase()]
      const body = (input.shape as { body?: z.ZodType }).body
      if (body) {
        const { example } = requestBody.content[JSON_BODY]
        // as JSON: a time is parsed to a Date
        expect(JSON.parse(JSON.stringify(body.parse(example)))).toMatchObject(example)
      }
      for (const [status, { schema, types }] of Object.entries(declared)) {
        if (!schema || types) continue
        const { example } = responses[status].content[JSON_BODY]
        // equal: nothing is missing, and nothing is unknown to the schema
        expect(schema.parse(example)).toEqual(example)
      }
      for (const [status, { content }] of Object.entries<{ content?: Record<string, { example: unknown }> }>(
        responses,
      )) {
        const { code } = (content?.[JSON_BODY]?.example ?? {}) as { code?: ErrorCode }
        if (Number(status) >= 400) expect(CATALOGUE[code!].status).toBe(Number(status))
      }
    },
  )
})

test('every reference resolves', () => {
  for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    expect(document.components.schemas).toHaveProperty([name!])
  }
})

test('/docs is a page that loads nothing from elsewhere and needs no credential', async () => {
  const page = await app.rest('GET', '/docs', { key: null })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
  const loaded = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!)
  expect(loaded.length).toBeGreaterThan(2)
  for (const file of loaded) {
    expect(file).toMatch(/^\/docs\//)
    expect((await app.rest('GET', file, { key: null })).status).toBe(200)
  }
  const own = await app.rest('GET', '/docs/json', { key: null })
  expect(own.body).toEqual(document)
  expect(await app.rest('GET', '/docs/static/nothing.js', { key: null })).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
})
