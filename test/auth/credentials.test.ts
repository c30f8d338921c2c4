/** Authentication (docs/api-rules.md#who-is-calling): API keys, tenants, and the errors of rejected callers. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/api/auth/authenticate.ts'
import { generateKey, hashKey } from '../../src/domain/keys/key.ts'
import { type Call, newKey, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageBody, imageDeployment, listener } from '../support/factories.ts'

let app: TestApp
beforeAll(async () => {
  // no sweep: its statements would be counted
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
})
afterAll(() => app.close())

const list = (call: Parameters<TestApp['rest']>[2]) => app.rest('GET', '/v2/deployments', call)
const update = (key: string, data: object) => app.app.core.db.apiKey.update({ where: { hash: hashKey(key) }, data })
const mine = () => ({ organizationId: app.tenant.organizationId, workspaceId: app.tenant.workspaceId })

describe('a credential', () => {
  test('that is missing, unknown or not a Bearer is a 401 that says how to authenticate', async () => {
    const none = [{}, { authorization: 'Basic dXNlcjpwYXNz' }, { authorization: 'Bearer' }, { 'x-api-key': '' }]
    const wrong = [{ 'x-api-key': generateKey() }, { authorization: `Bearer ${generateKey()}` }]
    for (const headers of [...none, ...wrong] as Record<string, string>[]) {
      const answer = await list({ key: null, headers })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
      expect(answer.body).toMatchObject({ code: 'UNAUTHENTICATED', detail: expect.any(String) })
      expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'))
    }
  })

  test('may be an API key as Bearer, in any spelling of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const answer = await list({ key: null, headers: { authorization: `${scheme} ${app.keys.viewer}` } })
      expect(answer.status).toBe(200)
    }
  })

  test('in X-Api-Key takes precedence over one in Authorization', async () => {
    const good = { authorization: `Bearer ${app.keys.viewer}` }
    expect((await list({ key: generateKey(), headers: good })).status).toBe(401)
    const bad = { authorization: `Bearer ${generateKey()}` }
    expect((await list({ key: app.keys.viewer, headers: bad })).status).toBe(200)
  })

  test('chosen by the operator may contain dots', async () => {
    const text = `aaaaaaaaaaaaaaa.${randomUUID()}.c`
    await newKey(app.app.core, { ...mine(), text })
    expect((await list({ key: null, headers: { authorization: `Bearer ${text}` } })).status).toBe(200)
  })

  test('that has expired is a 401, even if it was valid a moment ago', async () => {
    const expired = await newKey(app.app.core, { ...mine(), expiresAt: new Date(Date.now() - 1_000) })
    expect((await list({ key: expired })).status).toBe(401)
    const soon = await newKey(app.app.core, { ...mine(), expiresAt: new Date(Date.now() + 5_000) })
    expect((await list({ key: soon })).status).toBe(200)
    // before the cache's TTL of 10 s ends
    await expect.poll(async () => (await list({ key: soon })).status, { timeout: 9_000 }).toBe(401)
  })

  test('that is a JWT is a 401 on a server without an issuer', async () => {
    const jwt = [{ alg: 'none' }, { sub: 'me' }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    const answer = await list({ key: null, headers: { authorization: `Bearer ${jwt.join('.')}.x` } })
    expect(answer.status).toBe(401)
  })
})

describe('a role', () => {
  test('of a viewer reads but does not write', async () => {
    expect((await list({ key: app.keys.viewer })).status).toBe(200)
    const answer = await app.rest('POST', '/v2/deployments', { key: app.keys.viewer, body: imageBody() })
    expect(answer.status).toBe(403)
    expect(answer.body.code).toBe('FORBIDDEN')
  })

  test('that is too low is reported before errors of the body', async () => {
    const answer = await app.rest('POST', '/v2/deployments', { key: app.keys.viewer, body: {} })
    expect(answer.status).toBe(403)
  })

  test('of a deployer writes', async () => {
    const answer = await app.rest('POST', '/v2/deployments', { key: app.keys.deployer, body: imageBody() })
    expect(answer.status).toBe(201)
  })

  test('of a listener, an agent or a builder can’t read or write deployments', async () => {
    const { id } = await listener(app, { workspaceId: app.other.workspaceId })
    for (const data of [{ role: 'listener', listenerId: id }, { role: 'agent', agentId: 'bot' }, { role: 'builder' }]) {
      const key = await newKey(app.app.core, mine())
      await update(key, data)
      expect((await list({ key })).status).toBe(403)
    }
  })

  test('and its permission decide who reads the values of secrets', async () => {
    const made = await imageDeployment(app, { secrets: [{ name: 'TOKEN', value: 's3cret-value' }] })
    const seenBy = async (key: string) =>
      (await app.rest('GET', `/v2/deployments/${made.id}`, { key })).body.secrets[0].value
    expect(await seenBy(app.keys.admin)).toBe('s3cret-value')
    expect(await seenBy(app.keys.secretsReader)).toBe('s3cret-value')
    expect(await seenBy(app.keys.deployer)).toBe('••••••••')
    expect(await seenBy(app.keys.viewer)).toBe('••••••••')
  })
})

describe('the tenant', () => {
  test('is the workspace of a workspace key, named or not', async () => {
    const made = await imageDeployment(app)
    expect(made.tenant_id).toBe(app.tenant.workspaceId)
    for (const tenant of [app.tenant.workspaceId, app.tenant.workspaceId.toUpperCase()]) {
      const answer = await app.rest('GET', `/v2/deployments/${made.id}`, { tenant })
      expect(answer.status).toBe(200)
    }
  })

  test('must match the workspace key, if it is sent', async () => {
    for (const tenant of [app.sibling.workspaceId, app.other.workspaceId, randomUUID()]) {
      const answer = await list({ tenant })
      expect(answer.status).toBe(403)
      expect(answer.body.code).toBe('FORBIDDEN')
    }
  })

  test('is required for an organization key, with the specified message', async () => {
    const answer = await list({ key: app.keys.organization })
    expect(answer.status).toBe(403)
    expect(answer.body).toMatchObject({
      code: 'TENANT_REQUIRED',
      detail:
        "This API key is org-scoped and requires workspace specification. Please provide the 'X-Tenant-Id' header.",
    })
  })

  test('of an organization key is any workspace of the organization, and no other', async () => {
    const key = app.keys.organization
    const made = await app.rest('POST', '/v2/deployments', { key, tenant: app.sibling.workspaceId, body: imageBody() })
    expect(made.body.tenant_id).toBe(app.sibling.workspaceId)
    expect((await list({ key, tenant: app.tenant.workspaceId })).status).toBe(200)
    for (const tenant of [app.other.workspaceId, randomUUID()]) {
      const answer = await list({ key, tenant })
      expect(answer.status).toBe(403)
      expect(answer.body.code).toBe('FORBIDDEN')
    }
  })

  test('that is not a UUID is a 422 with a valid credential and a 401 without one', async () => {
    for (const key of [app.keys.viewer, app.keys.organization]) {
      const answer = await list({ key, tenant: 'nonsense' })
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toEqual([
        { loc: ['header', 'X-Tenant-Id'], msg: 'Must be a UUID.', type: 'uuid_parsing' },
      ])
    }
    expect((await list({ key: generateKey(), tenant: 'nonsense' })).status).toBe(401)
  })

  test('without a credential is a 401', async () => {
    expect((await list({ key: null, tenant: app.tenant.workspaceId })).status).toBe(401)
  })

  test('hides the resources of other workspaces', async () => {
    const made = await imageDeployment(app)
    for (const key of [app.sibling.keys.admin, app.other.keys.admin]) {
      const answer = await app.rest('GET', `/v2/deployments/${made.id}`, { key })
      expect(answer.status).toBe(404)
      expect(answer.body.detail).toBe(`Deployment ID ${made.id} not found.`)
    }
  })
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

describe('a request id', () => {
  test('is the caller’s, if it is well-formed', async () => {
    const answer = await list({ headers: { 'x-request-id': 'ci-run.42_a' } })
    expect(answer.headers.get('x-request-id')).toBe('ci-run.42_a')
  })

  test('is generated otherwise', async () => {
    for (const id of ['has space', 'x'.repeat(129), '"quoted"']) {
      const answer = await list({ headers: { 'x-request-id': id } })
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect((await app.rest('GET', '/nothing-here')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('GraphQL authenticates like REST', () => {
  const VIEWER = '{ viewer { subject role secretsRead workspace { id } } }'

  test('by key or Bearer, in the key’s workspace or the named one', async () => {
    const { id } = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(app.keys.deployer) } })
    const bearer = { key: null, headers: { authorization: `Bearer ${app.keys.deployer}` } }
    for (const call of [{ key: app.keys.deployer }, bearer]) {
      expect((await app.gql(VIEWER, {}, call)).data.viewer).toEqual({
        subject: id,
        role: 'deployer',
        secretsRead: false,
        workspace: { id: app.tenant.workspaceId },
      })
    }
    const named = { key: app.keys.organization, tenant: app.sibling.workspaceId }
    expect((await app.gql(VIEWER, {}, named)).data.viewer.workspace.id).toBe(app.sibling.workspaceId)
  })

  test('and rejects callers with the same errors', async () => {
    const refused = async (call: Call) => {
      const { status, headers, errors } = await app.gql(VIEWER, {}, call)
      return { status, code: errors?.[0].extensions.code, challenge: headers.get('www-authenticate') }
    }
    for (const key of [null, generateKey()]) {
      expect(await refused({ key })).toEqual({
        status: 401,
        code: 'UNAUTHENTICATED',
        challenge: expect.stringMatching(/^Bearer /),
      })
    }
    const organization = app.keys.organization
    expect(await refused({ key: organization })).toMatchObject({ status: 403, code: 'TENANT_REQUIRED' })
    const foreign = { key: organization, tenant: app.other.workspaceId }
    expect(await refused(foreign)).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect(await refused({ tenant: app.other.workspaceId })).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect(await refused({ tenant: 'nonsense' })).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' })
  })

  test('and keeps a viewer from writing', async () => {
    const input = {
      name: 'never-made',
      source: 'external_container',
      sourceConfig: {},
      sourceRevisionConfig: { imageUri: 'registry.example.com/agent:1' },
      secrets: [],
    }
    const create = `mutation ($input: CreateDeploymentInput!) {
      createDeployment(input: $input) { __typename ... on Error { message } }
    }`
    const { data } = await app.gql(create, { input }, { key: app.keys.viewer })
    expect(data.createDeployment).toEqual({
      __typename: 'ForbiddenError',
      message: 'This needs the role deployer; the credential has the role viewer.',
    })
  })

  test('and answers with the caller’s request id', async () => {
    const answer = await app.gql(VIEWER, {}, { headers: { 'x-request-id': 'ci-run.43' } })
    expect(answer.headers.get('x-request-id')).toBe('ci-run.43')
  })
})
