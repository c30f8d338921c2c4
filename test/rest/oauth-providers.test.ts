/** OAuth providers as a REST client sees them (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import type { TestTenant } from '../support/app.ts'
import { storedToken } from '../support/oauth-tokens.ts'
import { type CallOptions, type RestApp, restApp, uniqueName, violations } from './support.ts'

/** The log output at the most verbose level. */
const logged: string[] = []
let app: RestApp
beforeAll(async () => {
  app = await restApp({ overrides: { log: createLogger('debug', { write: (line) => logged.push(line) }) } })
})
afterAll(() => app.close())

const PATH = '/v2/auth/providers'
const body = (more: object = {}) => ({
  provider_id: uniqueName('provider'),
  name: 'Example',
  client_id: 'our-client',
  auth_url: 'https://accounts.example.com/authorize?access_type=offline',
  token_url: 'https://accounts.example.com/token',
  ...more,
})
const post = (what: object, options?: CallOptions) => app.call('POST', PATH, { body: what, ...options })
const patch = (id: string, what: object, options?: CallOptions) =>
  app.call('PATCH', `${PATH}/${id}`, { body: what, ...options })
const remove = (id: string, options?: CallOptions) => app.call('DELETE', `${PATH}/${id}`, options)
const get = (id: string, options?: CallOptions) => app.call('GET', `${PATH}/${id}`, options)
/** With a credential of the organization. */
const wide = (query?: CallOptions['query']): CallOptions => ({
  key: app.keys.organization,
  headers: { 'x-tenant-id': app.tenant.workspaceId },
  ...(query ? { query } : {}),
})
const list = async (options?: CallOptions) => (await app.call('GET', PATH, options)).body
async function made(more?: object, options?: CallOptions) {
  const answer = await post(body(more), options)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const row = (id: string) => app.core.db.oAuthProvider.findUniqueOrThrow({ where: { id } })
const lastEvent = () =>
  app.core.db.event.findFirst({ where: { workspaceId: app.tenant.workspaceId }, orderBy: { sequence: 'desc' } })

/** Resolves as soon as the server sends such a statement. */
function whenSent(part: string): Promise<void> {
  return new Promise((resolve) => {
    const stop = app.app.database.onQuery((sql) => {
      if (!sql.includes(part)) return
      stop()
      resolve()
    })
  })
}

const token = (oauthProviderId: string, { workspaceId }: TestTenant = app.tenant) => ({
  workspaceId,
  oauthProviderId,
  subject: 'somebody',
  scopes: [],
  sealed: 'nothing',
  refreshable: false,
  tokenUrl: 'https://accounts.example.com/token',
})
const authorization = (oauthProviderId: string) => ({
  workspaceId: app.tenant.workspaceId,
  oauthProviderId,
  subject: 'somebody',
  createdBy: 'somebody',
  scopes: [],
  stateHash: randomUUID(),
  redirectUri: 'https://pilothouse.example.com/v2/auth/callback/x',
  expiresAt: new Date(Date.now() + 60_000),
})

describe('Creating a provider', () => {
  test('returns it with its defaults; it can be read back by name and ID, and is in the event log', async () => {
    const sent = body()
    const answer = await post(sent)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toEqual({
      ...sent,
      id: expect.any(String),
      organization_id: app.tenant.organizationId,
      uses_pkce: false,
      code_challenge_method: 'S256',
      provider_type: null,
      mcp_server_url: null,
      token_endpoint_auth_method: 'client_secret_post',
      is_dynamic_client: false,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await get(sent.provider_id)).body).toEqual(answer.body)
    expect((await get(answer.body.id.toUpperCase())).body).toEqual(answer.body)
    expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.created', subjectId: answer.body.id })
  })

  test('accepts every member, and null for each optional one', async () => {
    const more = {
      uses_pkce: true,
      code_challenge_method: 'S256',
      provider_type: 'slack',
      token_endpoint_auth_method: 'client_secret_basic',
    }
    expect(await made({ ...more, client_secret: 's3cret' })).toMatchObject(more)
    const nothing = Object.fromEntries([...Object.keys(more), 'client_secret'].map((name) => [name, null]))
    expect(await made(nothing)).toMatchObject({ uses_pkce: false, token_endpoint_auth_method: 'client_secret_post' })
    expect(await made({ is_dynamic_client: true, mcp_server_url: 'https://x', unknown: 7 })).toMatchObject({
      is_dynamic_client: false,
      mcp_server_url: null,
    })
  })

  test('refuses private addresses for the server and for people', async () => {
    for (const url of ['https://10.0.0.1/x', 'https://127.0.0.1/x', 'https://[::1]/x', 'http://localhost:8080/x'])
      for (const field of ['token_url', 'auth_url'])
        expect(violations(await post(body({ [field]: url })))).toEqual([`body.${field} value_error`])
  })

  test('with a used name is refused in the organization, from any workspace, and works in another organization', async () => {
    const sent = body()
    expect((await post(sent)).status).toBe(200)
    for (const key of [app.keys.admin, app.sibling.keys.admin]) {
      const again = await post(sent, { key })
      expect([again.status, again.body.code]).toEqual([409, 'ALREADY_EXISTS'])
      expect(again.body.detail).toBe(
        `OAuth provider '${sent.provider_id}' of organization ID '${app.tenant.organizationId}' already exists.`,
      )
    }
    expect((await post(sent, { key: app.other.keys.admin })).status).toBe(200)
  })

  test('many times concurrently with one name creates one, and refuses the others', async () => {
    const sent = body()
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(sent)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
    for (const { status, body } of answers) if (status === 409) expect(body.code).toBe('ALREADY_EXISTS')
  })

  test.each([
    [
      { provider_id: undefined, name: undefined, client_id: undefined, auth_url: undefined, token_url: undefined },
      ['auth_url', 'client_id', 'name', 'provider_id', 'token_url'].map((name) => `body.${name} missing`),
    ],
    [{ provider_id: '' }, ['body.provider_id string_pattern_mismatch']],
    [{ provider_id: '-x' }, ['body.provider_id string_pattern_mismatch']],
    [{ provider_id: 'a/b' }, ['body.provider_id string_pattern_mismatch']],
    [{ provider_id: 'a\n' }, ['body.provider_id string_pattern_mismatch']],
    [{ provider_id: 'mcp-discover' }, ['body.provider_id value_error']],
    [{ provider_id: '00000000-0000-0000-0000-00000000000A' }, ['body.provider_id value_error']],
    [{ name: 'a\nb' }, ['body.name string_pattern_mismatch']],
    [{ client_id: '' }, ['body.client_id string_too_short']],
    [{ client_id: 'a\r\nb' }, ['body.client_id string_pattern_mismatch']],
    [{ client_secret: '' }, ['body.client_secret string_too_short']],
    [{ client_secret: 'é' }, ['body.client_secret string_pattern_mismatch']],
    [{ client_secret: 7 }, ['body.client_secret string_type']],
    [{ auth_url: 'accounts' }, ['body.auth_url value_error']],
    [{ auth_url: 'http://accounts.example.com/authorize' }, ['body.auth_url value_error']],
    [{ auth_url: 'javascript:alert(1)' }, ['body.auth_url value_error']],
    [{ auth_url: 'https://accounts.example.com/authorize#x' }, ['body.auth_url value_error']],
    [{ token_url: 'http://accounts.example.com/token' }, ['body.token_url value_error']],
    [{ token_url: 'https://accounts.example.com/token#x' }, ['body.token_url value_error']],
    [{ uses_pkce: 'yes' }, ['body.uses_pkce bool_type']],
    [{ code_challenge_method: 'plain' }, ['body.code_challenge_method enum']],
    [{ provider_type: 'google' }, ['body.provider_type enum']],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, ['body.token_endpoint_auth_method enum']],
    [{ token_endpoint_auth_method: 'none', client_secret: 'x' }, ['body.client_secret value_error']],
    [
      { auth_url: 'http://x.example.com', token_url: 'http://x.example.com', name: 'fine' },
      ['body.auth_url value_error', 'body.token_url value_error'],
    ],
  ])('%j is refused, naming each field', async (more, expected) => {
    expect(violations(await post(body(more)))).toEqual(expected)
  })

  test('refuses an authorization URL with parameters that the server sets, and names them', async () => {
    const refused = await post(body({ auth_url: 'https://x.example.com/a?state=1&prompt=consent&client_id=x&scope=' }))
    expect(refused.body.detail[0].msg).toBe(
      'Must not have client_id, scope, state in its query: each authorization sets that itself.',
    )
  })

  test('accepts the maximum length of everything, and not one character more', async () => {
    const longest = {
      provider_id: `x._${'-'.repeat(117)}${randomUUID().slice(0, 8)}`,
      name: 'ü'.repeat(128),
      client_id: 'x y~'.repeat(256),
      client_secret: '~'.repeat(4096),
      auth_url: `https://x.example.com/${'x'.repeat(2026)}`,
      token_url: `https://x.example.com/${'x'.repeat(2026)}`,
    }
    await made(longest)
    const longer = Object.fromEntries(Object.entries(longest).map(([name, text]) => [name, `${text}x`]))
    expect(violations(await post(body(longer)))).toEqual(
      Object.keys(longest)
        .map((name) => `body.${name} string_too_long`)
        .sort(),
    )
  })
})

test('the list has all of the organization, newest first', async () => {
  const own = await restApp()
  const make = async (key: string) =>
    (await own.call('POST', PATH, { body: body({ client_secret: 'x' }), key })).body.id as string
  const ids = [await make(own.keys.admin), await make(own.sibling.keys.admin), await make(own.keys.organization)]
  expect(ids[2]).toBeUndefined() // an organization key must name a workspace
  const wide = { key: own.keys.organization, headers: { 'x-tenant-id': own.sibling.workspaceId } }
  ids[2] = (await own.call('POST', PATH, { body: body(), ...wide })).body.id
  await make(own.other.keys.admin)
  for (const key of [own.keys.viewer, own.sibling.keys.viewer]) {
    const { body } = await own.call('GET', PATH, { key })
    expect(body.map(({ id }: { id: string }) => id)).toEqual([...ids].reverse())
  }
  await own.close()
})

describe('Changing a provider', () => {
  test('keeps absent and null members, and is in the event log', async () => {
    const one = await made({ client_secret: 's3cret', provider_type: 'slack' })
    const { clientSecret } = await row(one.id)
    const changes = {
      name: 'Another',
      client_id: 'another-client',
      auth_url: 'https://accounts.example.com/v2/authorize',
      token_url: 'https://accounts.example.com/v2/token',
      uses_pkce: true,
      token_endpoint_auth_method: 'client_secret_basic',
    }
    const next = await patch(one.provider_id, { ...changes, unknown: 7 })
    expect(next.status, next.text).toBe(200)
    expect(next.body).toEqual({ ...one, ...changes, updated_at: expect.any(String) })
    expect(next.body.updated_at > one.updated_at).toBe(true)
    expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.updated', subjectId: one.id })
    const nothing = Object.fromEntries([...Object.keys(changes), 'client_secret'].map((name) => [name, null]))
    expect((await patch(one.id, nothing)).body).toEqual(next.body)
    expect((await row(one.id)).clientSecret).toBe(clientSecret)
    await patch(one.id, { client_secret: 'another' })
    expect((await row(one.id)).clientSecret).not.toBe(clientSecret)
  })

  test.each([
    ['nothing', {}],
    ['what is there', { name: 'Example', client_secret: null, uses_pkce: false }],
  ])('to %s is no change: it keeps its time and emits no event', async (_, changes) => {
    const one = await made({ client_secret: 's3cret' })
    const stored = await row(one.id)
    const event = await lastEvent()
    const same = await patch(one.id, changes)
    expect([same.status, same.body]).toEqual([200, one])
    expect(await row(one.id)).toEqual(stored)
    expect(await lastEvent()).toEqual(event)
    // and without a secret
    await patch(one.id, { token_endpoint_auth_method: 'none' })
    const { updatedAt, clientSecret } = await row(one.id)
    expect(clientSecret).toBeNull()
    await patch(one.id, { ...changes, token_endpoint_auth_method: 'none' })
    expect((await row(one.id)).updatedAt).toEqual(updatedAt)
  })

  test('accepts the returned values, but some can never change', async () => {
    const one = await made({ provider_type: 'slack' })
    expect((await patch(one.id, one)).status).toBe(200)
    const others = {
      id: randomUUID(),
      organization_id: randomUUID(),
      provider_id: 'another',
      provider_type: 'microsoft',
      mcp_server_url: 'https://mcp.example.com',
      is_dynamic_client: true,
    }
    const refused = await patch(one.id, { ...others, name: 'Another' })
    expect(violations(refused)).toEqual(
      Object.keys(others)
        .map((name) => `body.${name} value_error`)
        .sort(),
    )
    for (const { msg } of refused.body.detail) expect(msg).toBe('Cannot be changed.')
    expect((await get(one.id)).body.name).toBe(one.name)
  })

  test.each([
    [{ name: '' }, ['body.name string_too_short']],
    [{ client_id: 'a\nb' }, ['body.client_id string_pattern_mismatch']],
    [{ auth_url: 'https://x.example.com/?code_challenge=x' }, ['body.auth_url value_error']],
    [{ auth_url: 'ftp://x.example.com/' }, ['body.auth_url value_error']],
    [{ token_url: 'https://192.168.0.1/token' }, ['body.token_url value_error']],
    [{ code_challenge_method: 'plain' }, ['body.code_challenge_method enum']],
    [{ token_endpoint_auth_method: 'none', client_secret: 'x' }, ['body.client_secret value_error']],
  ])('%j is refused', async (what, expected) => {
    expect(violations(await patch((await made()).id, what))).toEqual(expected)
  })

  test('never sends the stored secret to another origin: it must be given again', async () => {
    const one = await made({ client_secret: 's3cret' })
    const token_url = 'https://elsewhere.example.com/token'
    const refused = await patch(one.id, { token_url })
    expect(violations(refused)).toEqual(['body.client_secret missing'])
    expect(refused.body.detail[0].msg).toBe(
      'Required when token_url moves to another origin: only a caller who knows the secret may move it.',
    )
    const auth_url = 'https://elsewhere.example.com/authorize'
    expect(violations(await patch(one.id, { auth_url }))).toEqual(['body.client_secret missing'])
    expect((await patch(one.id, { auth_url, client_secret: 'another' })).body.auth_url).toBe(auth_url)
    expect((await patch(one.id, { token_url, client_secret: 'another' })).body.token_url).toBe(token_url)
    // a provider without a secret, or one that loses it, needs none
    expect((await patch((await made()).id, { token_url })).status).toBe(200)
    const drops = { token_url: one.token_url, token_endpoint_auth_method: 'none' }
    expect((await patch(one.id, drops)).status).toBe(200)
  })

  test('to the method none drops the stored secret, and accepts none while it is set', async () => {
    const one = await made({ client_secret: 's3cret' })
    await patch(one.id, { token_endpoint_auth_method: 'none' })
    expect((await row(one.id)).clientSecret).toBeNull()
    expect(violations(await patch(one.id, { client_secret: 'x' }))).toEqual(['body.client_secret value_error'])
    await patch(one.id, { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'x' })
    expect((await row(one.id)).clientSecret).toEqual(expect.any(String))
  })

  test('to another address forgets the published metadata; other changes do not', async () => {
    const known = { issuer: 'https://x', revocationUrl: 'https://x/r', userinfoUrl: 'https://x/u' }
    const unknown = { issuer: null, revocationUrl: null, userinfoUrl: null, metadataReadAt: null }
    const changed = async (what: object) => {
      const one = await made()
      const data = { ...known, metadataReadAt: new Date() }
      await app.core.db.oAuthProvider.update({ where: { id: one.id }, data })
      expect((await patch(one.id, { ...one, ...what })).status).toBe(200)
      return row(one.id)
    }
    expect(await changed({ name: 'Another', client_id: 'another' })).toMatchObject(known)
    expect(await changed({ auth_url: 'https://accounts.example.com/authorize' })).toMatchObject(unknown)
    expect(await changed({ token_url: 'https://accounts.example.com/token2' })).toMatchObject(unknown)
  })

  test('twice concurrently loses nothing, and stores no contradiction', async () => {
    const one = await made({ client_secret: 's3cret' })
    const answers = await Promise.all([
      patch(one.id, { name: 'Another' }),
      patch(one.id, { uses_pkce: true }),
      patch(one.id, { client_id: 'another' }),
      patch(one.id, { client_secret: 'another' }),
      patch(one.id, { token_endpoint_auth_method: 'none' }),
    ])
    expect(answers.slice(0, 3).map(({ status }) => status)).toEqual([200, 200, 200])
    expect([200, 422]).toContain(answers[3]!.status)
    expect(await row(one.id)).toMatchObject({
      name: 'Another',
      usesPkce: true,
      clientId: 'another',
      tokenEndpointAuthMethod: 'none',
      clientSecret: null,
    })
  })
})

describe('Deleting a provider', () => {
  test('returns its last state, and removes open authorizations', async () => {
    const one = await made({ client_secret: 's3cret' })
    const { id } = await app.core.db.oAuthAuthorization.create({ data: authorization(one.id) })
    const gone = await remove(one.provider_id)
    expect([gone.status, gone.body]).toEqual([200, one])
    expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.deleted', subjectId: one.id })
    expect((await get(one.id)).status).toBe(404)
    expect(await app.core.db.oAuthAuthorization.count({ where: { id } })).toBe(0)
    expect((await remove(one.id)).status).toBe(404)
    expect((await post(body({ provider_id: one.provider_id }))).status).toBe(200)
  })

  test('ends a wait for such an authorization immediately', async () => {
    const one = await made()
    const { subject: createdBy } = (await app.context(app.keys.admin)).actor
    const { id } = await app.core.db.oAuthAuthorization.create({ data: { ...authorization(one.id), createdBy } })
    const waiting = app.call('GET', `/v2/auth/wait/${id}`, { query: { timeout: 60 } })
    // its first look has found nothing to report
    await expect.poll(() => app.core.slots!.waits.inUse, { interval: 5 }).toBe(1)
    const notifier = app.core.oauthNotifier!
    const told = notifier.wait(id, notifier.mark(id), 60_000)
    expect((await remove(one.id)).status).toBe(200)
    await told
    expect(await waiting).toMatchObject({ status: 409, body: { code: 'AUTHORIZATION_FAILED' } })
  })

  test('is refused while it has tokens in any workspace; the answer only counts them', async () => {
    const one = await made()
    const data = [token(one.id), token(one.id, app.sibling)]
    await app.core.db.oAuthToken.createMany({ data })
    const refused = await remove(one.id, wide())
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    const says = (count: string) =>
      `OAuth provider ID ${one.id} still has ${count}, counted in all workspaces of the organization. Their owners ` +
      'have to delete them first; or delete the provider with force=true, which deletes and revokes its tokens, too.'
    expect(refused.body.detail).toBe(says('2 tokens'))
    await app.core.db.oAuthToken.deleteMany({ where: { workspaceId: app.tenant.workspaceId } })
    expect((await remove(one.id, wide())).body.detail).toBe(says('1 token'))
    await app.core.db.oAuthToken.deleteMany({ where: { oauthProviderId: one.id } })
    expect((await remove(one.id)).status).toBe(200)
  })

  test('with tokens in another workspace needs a credential of the organization, as do changes', async () => {
    const one = await made()
    await storedToken(app, { provider: one, key: app.sibling.keys.admin })
    const says = /belongs to the organization.*organization-wide credential/
    for (const refused of [await patch(one.id, { name: 'Mine' }), await remove(one.id)]) {
      expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
      expect(refused.body.detail).toMatch(says)
    }
    expect((await get(one.id)).body.name).toBe(one.name)
    expect((await patch(one.id, { name: 'Ours' }, wide())).body.name).toBe('Ours')
  })

  test('a change is in the log of every workspace that uses it', async () => {
    const one = await made()
    await storedToken(app, { provider: one, key: app.sibling.keys.admin })
    await patch(one.id, { name: 'Ours' }, wide())
    await remove(one.id, wide({ force: 'true' }))
    const events = await app.core.db.event.findMany({
      where: { subjectId: one.id, type: { in: ['oauth_provider.updated', 'oauth_provider.deleted'] } },
      orderBy: [{ workspaceId: 'asc' }, { sequence: 'asc' }],
    })
    const both = [app.tenant.workspaceId, app.sibling.workspaceId].sort()
    expect(events.map(({ workspaceId, type }) => [workspaceId, type])).toEqual(
      both.flatMap((id) => [
        [id, 'oauth_provider.updated'],
        [id, 'oauth_provider.deleted'],
      ]),
    )
  })

  test('concurrent changes by two workspaces wait for each other in one order', async () => {
    const one = await made()
    for (const key of [app.keys.admin, app.sibling.keys.admin]) await storedToken(app, { provider: one, key })
    const another = await made()
    for (const key of [app.keys.admin, app.sibling.keys.admin]) await storedToken(app, { provider: another, key })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => patch(i % 2 ? one.id : another.id, { name: `n${i}` }, wide())),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })

  test('by force revokes and deletes its own tokens; those of other workspaces only with a credential of the organization', async () => {
    const one = await made()
    const { db } = app.core
    await storedToken(app, { provider: one })
    await storedToken(app, { provider: one, key: app.keys.viewer })
    await storedToken(app, { provider: one, key: app.sibling.keys.admin })
    const another = await storedToken(app, { provider: await made() })
    const query = { force: 'true' }
    const path = `/v2/auth/providers/${one.id}`
    expect((await app.call('DELETE', path, { query, key: app.keys.deployer })).status).toBe(403)
    expect((await app.call('DELETE', path, { query, key: app.other.keys.admin })).status).toBe(404)
    const narrow = await app.call('DELETE', path, { query })
    expect([narrow.status, narrow.body.code]).toEqual([403, 'FORBIDDEN'])
    expect(await db.oAuthToken.count({ where: { oauthProviderId: one.id } })).toBe(3)
    const before = await db.tokenRevocation.count()
    const wide = { query, key: app.keys.organization, tenant: app.tenant.workspaceId }
    expect((await app.call('DELETE', path, wide)).status).toBe(200)
    expect(await db.oAuthToken.count({ where: { oauthProviderId: one.id } })).toBe(0)
    expect((await db.tokenRevocation.count()) - before).toBe(3)
    expect(await db.oAuthToken.count({ where: { id: another.id } })).toBe(1)
    expect((await get(one.id)).status).toBe(404)
  })

  test('with a force that is no boolean is refused', async () => {
    const one = await made()
    const refused = await app.call('DELETE', `/v2/auth/providers/${one.id}`, { query: { force: 'yes' } })
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['query', 'force']])
  })

  test('leaves no token without its provider, even if one is being stored', async () => {
    const one = await made()
    let deleting: ReturnType<typeof remove> | undefined
    await app.core.db.$transaction(async (sql) => {
      await sql.oAuthToken.create({ data: token(one.id) })
      const locking = whenSent('FOR UPDATE')
      deleting = remove(one.id)
      await locking
    })
    expect((await deleting!).status).toBe(409)
    expect((await get(one.id)).status).toBe(200)
  })

  test('twice concurrently succeeds once', async () => {
    const one = await made()
    const answers = await Promise.all([remove(one.id), remove(one.id), remove(one.provider_id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
  })
})

describe('The owner of a provider', () => {
  const DELETE = `mutation ($id: String!) { deleteOAuthProvider(input: { providerId: $id }) { __typename } }`
  const UPDATE = `mutation ($id: String!) { updateOAuthProvider(input: { providerId: $id, name: "Ours" }) { __typename } }`
  const typeOf = async (query: string, id: string, call: object) => {
    const { data } = await app.gql(query, { id }, call)
    return (Object.values(data)[0] as { __typename: string }).__typename
  }
  test.each([
    ['an admin of the workspace that created it', true, () => ({ key: app.keys.admin })],
    ['an admin of another workspace', false, () => ({ key: app.sibling.keys.admin })],
    [
      'an admin of the organization',
      true,
      () => ({ key: app.keys.organization, headers: { 'x-tenant-id': app.sibling.workspaceId } }),
    ],
  ])('%s: both transports change and delete it by the same rule', async (_who, may, as) => {
    const one = await made()
    const seen = [(await patch(one.id, { name: 'Ours' }, as())).status, await typeOf(UPDATE, one.id, as())]
    seen.push(await typeOf(DELETE, one.id, as()))
    const another = await made()
    seen.push((await app.call('DELETE', `/v2/auth/providers/${another.id}`, as())).status)
    expect(seen).toEqual(
      may
        ? [200, 'UpdateOAuthProviderSuccess', 'DeleteOAuthProviderSuccess', 200]
        : [403, 'ForbiddenError', 'ForbiddenError', 403],
    )
  })

  test('shows it to every workspace of the organization', async () => {
    const one = await made()
    const { admin: key } = app.sibling.keys
    expect((await get(one.id, { key })).body).toEqual(one)
    // one that an earlier version created has no workspace
    await app.core.db.oAuthProvider.update({ where: { id: one.id }, data: { createdIn: null } })
    expect((await patch(one.provider_id, { name: 'Ours' }, { key })).body.name).toBe('Ours')
    const { workspaceId } = app.sibling
    const event = await app.core.db.event.findFirst({ where: { workspaceId }, orderBy: { sequence: 'desc' } })
    expect(event).toMatchObject({ type: 'oauth_provider.updated', subjectId: one.id })
    expect((await remove(one.id, { key })).status).toBe(200)
  })

  test('hides it from another organization, by ID and name', async () => {
    const one = await made()
    const { admin: key } = app.other.keys
    for (const name of [one.id, one.provider_id]) {
      for (const answer of [
        await get(name, { key }),
        await patch(name, { name: 'x' }, { key }),
        await remove(name, { key }),
      ])
        expect([answer.status, answer.body.detail]).toEqual([404, `OAuth provider ID ${name} not found.`])
    }
    expect((await list({ key })).map(({ id }: { id: string }) => id)).not.toContain(one.id)
    expect((await get(one.id)).body).toEqual(one)
  })

  test('is not found for any other text', async () => {
    for (const name of [randomUUID(), 'nothing', '%20', 'x'.repeat(300)]) {
      const answers = [await get(name), await patch(name, {}), await remove(name)]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
    }
  })

  test.each(['viewer', 'deployer'] as const)('lets a %s read them but change none', async (role) => {
    const { id } = await made()
    const key = app.keys[role]
    expect((await get(id, { key })).status).toBe(200)
    expect(await list({ key })).not.toEqual([])
    for (const answer of [await post({}, { key }), await patch(id, { name: 7 }, { key }), await remove(id, { key })])
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  })
})

test('the client secret is in no answer, event, log or error, and nowhere in clear text', async () => {
  const canary = `canary-${randomUUID()}`
  const answers = [await post(body({ client_secret: canary }))]
  const { id } = answers[0]!.body
  answers.push(
    await patch(id, { client_secret: canary }),
    await get(id),
    await app.call('GET', PATH),
    // each is wrong in another way
    await post(body({ client_secret: `${canary}\n` })),
    await post(body({ client_secret: { canary } })),
    await post(body({ client_secret: canary, token_endpoint_auth_method: 'none' })),
    await post(body({ client_secret: canary, name: 7 })),
    await app.call('POST', PATH, { body: `{"client_secret": "${canary}` }),
    await remove(id),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 422, 422, 422, 422, 422, 200])
  const kept = body({ client_secret: canary })
  await post(kept)
  await post(kept)
  const tables = ['oauth_providers', 'events']
  const stored = await Promise.all(
    tables.map((table) => app.core.db.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${table} t`)),
  )
  const texts = [...answers.map(({ text }) => text), ...stored.flat().map(({ row }) => row), ...logged]
  expect(logged.length).toBeGreaterThan(0)
  expect(texts.filter((text) => text.includes(canary))).toEqual([])
})
