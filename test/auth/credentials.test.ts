/** Authentication (docs/api-rules.md#who-is-calling): API keys, tenants, and the errors of rejected callers. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/api/auth/authenticate.ts'
import { generateKey, hashKey } from '../../src/domain/keys/key.ts'
import { type Call, newKey, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageBody } from '../support/factories.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))

const list = (call: Call) => app.rest('GET', '/v2/deployments', call)
const update = (key: string, data: object) => app.app.core.db.apiKey.update({ where: { hash: hashKey(key) }, data })
const mine = () => ({ organizationId: app.tenant.organizationId, workspaceId: app.tenant.workspaceId })
const bearer = (text: string, scheme = 'Bearer') => ({ key: null, headers: { authorization: `${scheme} ${text}` } })

describe.each([
  ['REST', list],
  ['GraphQL', (call: Call) => app.gql('{ viewer { role } }', {}, call)],
])('over %s', (_, ask) => {
  const status = async (call: Call) => (await ask(call)).status
  const code = async (call: Call) => {
    const { status, body } = await ask(call)
    return [status, body.code ?? body.errors[0].extensions.code]
  }

  describe('a credential', () => {
    test('that is missing, unknown or not a Bearer is a 401 that says how to authenticate', async () => {
      const none = [{}, { authorization: 'Basic dXNlcjpwYXNz' }, { authorization: 'Bearer' }, { 'x-api-key': '' }]
      const wrong = [{ 'x-api-key': generateKey() }, { authorization: `Bearer ${generateKey()}` }]
      for (const headers of [...none, ...wrong] as Record<string, string>[]) {
        expect(await code({ key: null, headers })).toEqual([401, 'UNAUTHENTICATED'])
        const answer = await ask({ key: null, headers })
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
        expect(answer.headers.get('x-request-id')).toBeTruthy()
      }
    })

    test('may be an API key as Bearer, in any spelling of the scheme', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER'])
        expect(await status(bearer(app.keys.viewer, scheme))).toBe(200)
    })

    test('in X-Api-Key takes precedence over one in Authorization', async () => {
      expect(await status({ ...bearer(app.keys.viewer), key: generateKey() })).toBe(401)
      expect(await status({ ...bearer(generateKey()), key: app.keys.viewer })).toBe(200)
    })

    test('chosen by the operator may contain dots', async () => {
      const text = `aaaaaaaaaaaaaaa.${randomUUID()}.c`
      await newKey(app.app.core, { ...mine(), text })
      expect(await status(bearer(text))).toBe(200)
    })

    test('that is a JWT is a 401 on a server without an issuer', async () => {
      const jwt = [{ alg: 'none' }, { sub: 'me' }].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      )
      expect(await status(bearer(`${jwt.join('.')}.x`))).toBe(401)
    })
  })

  describe('the tenant', () => {
    test('must match the workspace key, if it is sent', async () => {
      for (const tenant of [app.tenant.workspaceId, app.tenant.workspaceId.toUpperCase()])
        expect(await status({ tenant })).toBe(200)
      for (const tenant of [app.sibling.workspaceId, app.other.workspaceId, randomUUID()])
        expect(await code({ tenant })).toEqual([403, 'FORBIDDEN'])
    })

    test('of an organization key is required, and any workspace of the organization', async () => {
      const key = app.keys.organization
      expect(await code({ key })).toEqual([403, 'TENANT_REQUIRED'])
      for (const { workspaceId: tenant } of [app.tenant, app.sibling]) expect(await status({ key, tenant })).toBe(200)
      for (const tenant of [app.other.workspaceId, randomUUID()])
        expect(await code({ key, tenant })).toEqual([403, 'FORBIDDEN'])
    })

    test('that is not a UUID is a 422 with a valid credential and a 401 without one', async () => {
      for (const key of [app.keys.viewer, app.keys.organization])
        expect(await code({ key, tenant: 'nonsense' })).toEqual([422, 'VALIDATION_FAILED'])
      for (const [key, tenant] of [
        [generateKey(), 'nonsense'],
        [null, app.tenant.workspaceId],
      ] as const)
        expect(await status({ key, tenant })).toBe(401)
    })
  })

  test('the caller’s request id is returned, if it is well-formed', async () => {
    const idOf = async (id: string) => (await ask({ headers: { 'x-request-id': id } })).headers.get('x-request-id')
    expect(await idOf('ci-run.42_a')).toBe('ci-run.42_a')
    for (const id of ['has space', 'x'.repeat(129), '"quoted"']) expect(await idOf(id)).toMatch(/^[0-9a-f-]{36}$/)
  })
})

test('a credential that has expired is a 401, even if it was valid a moment ago', async () => {
  const expired = await newKey(app.app.core, { ...mine(), expiresAt: new Date(Date.now() - 1_000) })
  expect((await list({ key: expired })).status).toBe(401)
  const soon = await newKey(app.app.core, { ...mine(), expiresAt: new Date(Date.now() + 5_000) })
  expect((await list({ key: soon })).status).toBe(200)
  // before the cache's TTL of 10 s ends
  await expect.poll(async () => (await list({ key: soon })).status, { timeout: 9_000 }).toBe(401)
})

test('the refusals have the specified messages', async () => {
  expect((await list({ key: app.keys.organization })).body.detail).toBe(
    "This API key is org-scoped and requires workspace specification. Please provide the 'X-Tenant-Id' header.",
  )
  const invalid = { loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' }
  expect((await list({ tenant: 'nonsense' })).body.detail).toEqual([invalid])
  const { errors } = await app.gql('{ viewer { role } }', {}, { tenant: 'nonsense' })
  expect(errors?.[0].extensions.issues[0]).toMatchObject({ path: invalid.loc, code: invalid.type })
  const { body } = await app.rest('POST', '/v2/deployments', { key: app.keys.viewer, body: imageBody() })
  expect(body.detail).toBe('This needs the role deployer; the credential has the role viewer.')
})

test('the workspace of a call is the key’s, or the named one', async () => {
  const { id } = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(app.keys.deployer) } })
  const viewer = async (call: Call) =>
    (await app.gql('{ viewer { subject role secretsRead workspace { id } } }', {}, call)).data.viewer
  for (const call of [{ key: app.keys.deployer }, bearer(app.keys.deployer)])
    expect(await viewer(call)).toEqual({
      ...{ subject: id, role: 'deployer', secretsRead: false, workspace: { id: app.tenant.workspaceId } },
    })
  const named = { key: app.keys.organization, tenant: app.sibling.workspaceId }
  expect((await viewer(named)).workspace.id).toBe(app.sibling.workspaceId)
  const made = await app.rest('POST', '/v2/deployments', { ...named, body: imageBody() })
  expect(made.body.tenant_id).toBe(app.sibling.workspaceId)
})

describe('a key look-up', () => {
  test('takes one statement the first time and none soon afterwards', async () => {
    const key = await newKey(app.app.core, mine())
    await update(key, { lastUsedAt: new Date() })
    const authenticate = createAuthenticator(app.app.core, { jwt: null })
    const call = async () => authenticate({ 'x-api-key': key }, 'r')
    expect(await countStatements(app.app.database, call)).toHaveLength(1)
    expect(await countStatements(app.app.database, call)).toHaveLength(0)
  })

  test('takes one statement for many concurrent calls', async () => {
    const key = await newKey(app.app.core, mine())
    await update(key, { lastUsedAt: new Date() })
    const authenticate = createAuthenticator(app.app.core, { jwt: null })
    const crowd = () => Promise.all(Array.from({ length: 50 }, () => authenticate({ 'x-api-key': key }, 'r')))
    expect(await countStatements(app.app.database, crowd)).toHaveLength(1)
  })

  test('records the last use at most once a minute', async () => {
    const key = await newKey(app.app.core, mine())
    const lastUsed = async () =>
      (await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(key) } })).lastUsedAt
    await app.context(key)
    await expect.poll(lastUsed).toBeInstanceOf(Date)
    const recently = new Date(Date.now() - 30_000)
    await update(key, { lastUsedAt: recently })
    await app.context(key)
    const longAgo = await newKey(app.app.core, mine())
    await update(longAgo, { lastUsedAt: new Date(Date.now() - 90_000) })
    await app.context(longAgo)
    await expect
      .poll(async () => {
        const row = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(longAgo) } })
        return Date.now() - row.lastUsedAt!.getTime()
      })
      .toBeLessThan(60_000)
    expect(await lastUsed()).toEqual(recently)
  })
})
