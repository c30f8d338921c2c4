/** OAuth providers (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { uniqueName, useRestApp } from '../rest/support.ts'
import type { TestTenant } from '../support/app.ts'
import { storedToken } from '../support/oauth-tokens.ts'
import { type How, overBoth } from './api.ts'

/** The log output at the most verbose level. */
const logged: string[] = []
const app = useRestApp(() => ({
  overrides: { log: createLogger('debug', { write: (line) => logged.push(line) }) },
}))

const body = (more: object = {}) => ({
  provider_id: uniqueName('provider'),
  name: 'Example',
  client_id: 'our-client',
  auth_url: 'https://accounts.example.com/authorize?access_type=offline',
  token_url: 'https://accounts.example.com/token',
  ...more,
})
/** With a credential of the organization. */
const wide = (tenant = app.tenant): How => ({ key: app.keys.organization, tenant: tenant.workspaceId })
const row = (id: string) => app.core.db.oAuthProvider.findUniqueOrThrow({ where: { id } })
const lastEvent = (workspaceId = app.tenant.workspaceId) =>
  app.core.db.event.findFirst({ where: { workspaceId }, orderBy: { sequence: 'desc' } })

const token = (oauthProviderId: string, { workspaceId }: TestTenant = app.tenant) => ({
  workspaceId,
  oauthProviderId,
  subject: 'somebody',
  scopes: [],
  sealed: 'nothing',
  refreshable: false,
  tokenUrl: 'https://accounts.example.com/token',
})
const authorization = (oauthProviderId: string, createdBy = 'somebody') =>
  app.core.db.oAuthAuthorization.create({
    data: {
      workspaceId: app.tenant.workspaceId,
      oauthProviderId,
      subject: 'somebody',
      createdBy,
      scopes: [],
      stateHash: randomUUID(),
      redirectUri: 'https://pilothouse.example.com/v2/auth/callback/x',
      expiresAt: new Date(Date.now() + 60_000),
    },
  })

overBoth(app, (api) => {
  const create = (more?: object, how?: How) => api.get('createOAuthProvider', body(more), how)
  const update = (provider_id: string, changes: object, how?: How) =>
    api.call('updateOAuthProvider', { provider_id, ...changes }, how)
  const remove = (provider_id: string, how?: How, more: object = {}) =>
    api.call('deleteOAuthProvider', { provider_id, ...more }, how)
  const get = (provider_id: string, how?: How) => api.get('getOAuthProvider', { provider_id }, how)

  describe('creating a provider', () => {
    test('returns it with its defaults; it can be read back by name and ID, and is in the event log', async () => {
      const sent = body()
      const made = await api.get('createOAuthProvider', sent)
      expect(made).toEqual({
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
      for (const name of [sent.provider_id, made.id.toUpperCase()]) expect(await get(name)).toEqual(made)
      expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.created', subjectId: made.id })
    })

    test('accepts every member, and null for each optional one', async () => {
      const more = {
        uses_pkce: true,
        code_challenge_method: 'S256',
        provider_type: 'slack',
        token_endpoint_auth_method: 'client_secret_basic',
      }
      expect(await create({ ...more, client_secret: 's3cret' })).toMatchObject(more)
      const nothing = Object.fromEntries([...Object.keys(more), 'client_secret'].map((name) => [name, null]))
      expect(await create(nothing)).toMatchObject({
        uses_pkce: false,
        token_endpoint_auth_method: 'client_secret_post',
      })
    })

    test('with a used name is refused in the organization, from any workspace, and works in another organization', async () => {
      const sent = body()
      await api.get('createOAuthProvider', sent)
      for (const key of [app.keys.admin, app.sibling.keys.admin])
        expect(await api.fails('createOAuthProvider', sent, 'ALREADY_EXISTS', { key })).toMatchObject({
          message: `OAuth provider '${sent.provider_id}' of organization ID '${app.tenant.organizationId}' already exists.`,
        })
      await api.get('createOAuthProvider', sent, { key: app.other.keys.admin })
    })

    test('many times concurrently with one name creates one, and refuses the others', async () => {
      const sent = body()
      const answers = await Promise.all(Array.from({ length: 8 }, () => api.call('createOAuthProvider', sent)))
      expect(answers.map(({ code }) => code ?? 'made').sort()).toEqual([...Array(7).fill('ALREADY_EXISTS'), 'made'])
    })

    test.each<[object, ...string[]]>([
      [{ provider_id: '' }, 'provider_id string_pattern_mismatch'],
      [{ provider_id: '-x' }, 'provider_id string_pattern_mismatch'],
      [{ provider_id: 'a/b' }, 'provider_id string_pattern_mismatch'],
      [{ provider_id: 'a\n' }, 'provider_id string_pattern_mismatch'],
      [{ provider_id: 'mcp-discover' }, 'provider_id value_error'],
      [{ provider_id: '00000000-0000-0000-0000-00000000000A' }, 'provider_id value_error'],
      [{ name: '' }, 'name string_too_short'],
      [{ name: 'a\nb' }, 'name string_pattern_mismatch'],
      [{ client_id: '' }, 'client_id string_too_short'],
      [{ client_id: 'a\r\nb' }, 'client_id string_pattern_mismatch'],
      [{ client_secret: '' }, 'client_secret string_too_short'],
      [{ client_secret: 'é' }, 'client_secret string_pattern_mismatch'],
      [{ client_secret: 7 }, 'client_secret string_type'],
      [{ auth_url: '' }, 'auth_url string_too_short'],
      [{ auth_url: 'accounts' }, 'auth_url value_error'],
      [{ auth_url: 'http://accounts.example.com/authorize' }, 'auth_url value_error'],
      [{ auth_url: 'javascript:alert(1)' }, 'auth_url value_error'],
      [{ auth_url: 'https://accounts.example.com/authorize#x' }, 'auth_url value_error'],
      [{ token_url: 'http://accounts.example.com/token' }, 'token_url value_error'],
      [{ token_url: 'https://accounts.example.com/token#x' }, 'token_url value_error'],
      ...['https://10.0.0.1/x', 'https://127.0.0.1/x', 'https://[::1]/x', 'http://localhost:8080/x'].flatMap((url) =>
        ['token_url', 'auth_url'].map((field): [object, string] => [{ [field]: url }, `${field} value_error`]),
      ),
      [{ uses_pkce: 'yes' }, 'uses_pkce bool_type'],
      [{ code_challenge_method: 'plain' }, 'code_challenge_method enum'],
      [{ provider_type: 'google' }, 'provider_type enum'],
      [{ token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method enum'],
      [{ token_endpoint_auth_method: 'none', client_secret: 'x' }, 'client_secret value_error'],
      [
        { provider_id: undefined, name: undefined, client_id: undefined, auth_url: undefined, token_url: undefined },
        ...['auth_url', 'client_id', 'name', 'provider_id', 'token_url'].map((name) => `${name} missing`),
      ],
      [
        { auth_url: 'http://x.example', token_url: 'http://x.example' },
        'auth_url value_error',
        'token_url value_error',
      ],
      [
        { client_id: '', auth_url: '', provider_id: '.' },
        ...['auth_url string_too_short', 'client_id string_too_short', 'provider_id string_pattern_mismatch'],
      ],
    ])('%j is refused, naming each field', async (more, ...issues) => {
      await api.refuses('createOAuthProvider', body(more), issues)
    })

    test('refuses an authorization URL with parameters that the server sets, and names them', async () => {
      const auth_url = 'https://x.example.com/a?state=1&prompt=consent&client_id=x&scope='
      expect((await api.refuses('createOAuthProvider', body({ auth_url }), ['auth_url value_error'])).message).toBe(
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
      await create(longest)
      const longer = Object.fromEntries(Object.entries(longest).map(([name, text]) => [name, `${text}x`]))
      await api.refuses(
        'createOAuthProvider',
        longer,
        Object.keys(longest).map((name) => `${name} string_too_long`),
      )
    })
  })

  test('the list has all of the organization, newest first', async () => {
    await api.fails('createOAuthProvider', body(), 'TENANT_REQUIRED', { key: app.keys.organization })
    const ids: string[] = []
    for (const how of [{}, { key: app.sibling.keys.admin }, wide(app.sibling)]) ids.unshift((await create({}, how)).id)
    const foreign = await create({}, { key: app.other.keys.admin })
    for (const key of [app.keys.viewer, app.sibling.keys.viewer]) {
      const listed = (await api.get('listOAuthProviders', {}, { key })).map(({ id }: { id: string }) => id)
      expect(listed.slice(0, 3)).toEqual(ids)
      expect(listed).not.toContain(foreign.id)
    }
  })

  describe('changing a provider', () => {
    test('keeps absent and null members, and is in the event log', async () => {
      const one = await create({ client_secret: 's3cret', provider_type: 'slack' })
      const { clientSecret } = await row(one.id)
      const changes = {
        name: 'Another',
        client_id: 'another-client',
        auth_url: 'https://accounts.example.com/v2/authorize',
        token_url: 'https://accounts.example.com/v2/token',
        uses_pkce: true,
        token_endpoint_auth_method: 'client_secret_basic',
      }
      const { value: next } = await update(one.provider_id, changes)
      expect(next).toEqual({ ...one, ...changes, updated_at: expect.any(String) })
      expect(next.updated_at > one.updated_at).toBe(true)
      expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.updated', subjectId: one.id })
      const nothing = Object.fromEntries([...Object.keys(changes), 'client_secret'].map((name) => [name, null]))
      expect((await update(one.id, nothing)).value).toEqual(next)
      expect((await row(one.id)).clientSecret).toBe(clientSecret)
      await update(one.id, { client_secret: 'another' })
      expect((await row(one.id)).clientSecret).not.toBe(clientSecret)
    })

    test.each([
      ['nothing', {}],
      ['what is there', { name: 'Example', client_secret: null, uses_pkce: false }],
    ])('to %s is no change: it keeps its time and emits no event', async (_, changes) => {
      const one = await create({ client_secret: 's3cret' })
      const [stored, event] = [await row(one.id), await lastEvent()]
      expect((await update(one.id, changes)).value).toEqual(one)
      expect([await row(one.id), await lastEvent()]).toEqual([stored, event])
      // and without a secret
      await update(one.id, { token_endpoint_auth_method: 'none' })
      const { updatedAt, clientSecret } = await row(one.id)
      expect(clientSecret).toBeNull()
      await update(one.id, { ...changes, token_endpoint_auth_method: 'none' })
      expect((await row(one.id)).updatedAt).toEqual(updatedAt)
    })

    test.each([
      [{ name: '' }, 'name string_too_short'],
      [{ client_id: 'a\nb' }, 'client_id string_pattern_mismatch'],
      [{ auth_url: 'https://x.example.com/?code_challenge=x' }, 'auth_url value_error'],
      [{ auth_url: 'ftp://x.example.com/' }, 'auth_url value_error'],
      [{ token_url: 'https://192.168.0.1/token' }, 'token_url value_error'],
      [{ code_challenge_method: 'plain' }, 'code_challenge_method enum'],
      [{ token_endpoint_auth_method: 'none', client_secret: 'x' }, 'client_secret value_error'],
    ])('to %j is refused', async (changes, expected) => {
      await api.refuses('updateOAuthProvider', { provider_id: (await create()).id, ...changes }, [expected])
    })

    test('never sends the stored secret to another origin: it must be given again', async () => {
      const one = await create({ client_secret: 's3cret' })
      const { provider_id } = one
      const token_url = 'https://elsewhere.example.com/token'
      const missing = ['client_secret missing']
      expect((await api.refuses('updateOAuthProvider', { provider_id, token_url }, missing)).message).toBe(
        'Required when token_url moves to another origin: only a caller who knows the secret may move it.',
      )
      const auth_url = 'https://elsewhere.example.com/authorize'
      await api.refuses('updateOAuthProvider', { provider_id, auth_url }, missing)
      expect((await update(one.id, { auth_url, client_secret: 'another' })).value.auth_url).toBe(auth_url)
      expect((await update(one.id, { token_url, client_secret: 'another' })).value.token_url).toBe(token_url)
      // a provider without a secret, or one that loses it, needs none
      expect((await update((await create()).id, { token_url })).ok).toBe(true)
      expect((await update(one.id, { token_url: one.token_url, token_endpoint_auth_method: 'none' })).ok).toBe(true)
    })

    test('to the method none drops the stored secret, and accepts none while it is set', async () => {
      const { id } = await create({ client_secret: 's3cret' })
      await update(id, { token_endpoint_auth_method: 'none' })
      expect((await row(id)).clientSecret).toBeNull()
      await api.refuses('updateOAuthProvider', { provider_id: id, client_secret: 'x' }, ['client_secret value_error'])
      await update(id, { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'x' })
      expect((await row(id)).clientSecret).toEqual(expect.any(String))
    })

    test('to another address forgets the published metadata; other changes do not', async () => {
      const known = { issuer: 'https://x', revocationUrl: 'https://x/r', userinfoUrl: 'https://x/u' }
      const unknown = { issuer: null, revocationUrl: null, userinfoUrl: null, metadataReadAt: null }
      const changed = async (changes: object) => {
        const { id } = await create()
        await app.core.db.oAuthProvider.update({ where: { id }, data: { ...known, metadataReadAt: new Date() } })
        expect((await update(id, changes)).ok).toBe(true)
        return row(id)
      }
      expect(await changed({ name: 'Another', client_id: 'another' })).toMatchObject(known)
      expect(await changed({ auth_url: 'https://accounts.example.com/authorize' })).toMatchObject(unknown)
      expect(await changed({ token_url: 'https://accounts.example.com/token2' })).toMatchObject(unknown)
    })

    test('several times concurrently loses nothing, and stores no contradiction', async () => {
      const { id } = await create({ client_secret: 's3cret' })
      const answers = await Promise.all([
        update(id, { name: 'Another' }),
        update(id, { uses_pkce: true }),
        update(id, { client_id: 'another' }),
        update(id, { client_secret: 'another' }),
        update(id, { token_endpoint_auth_method: 'none' }),
      ])
      expect(answers.slice(0, 3).map(({ ok }) => ok)).toEqual([true, true, true])
      expect([undefined, 'VALIDATION_FAILED']).toContain(answers[3]!.code)
      expect(await row(id)).toMatchObject({
        name: 'Another',
        usesPkce: true,
        clientId: 'another',
        tokenEndpointAuthMethod: 'none',
        clientSecret: null,
      })
    })
  })

  describe('deleting a provider', () => {
    test('removes it with its open authorizations, and its name can be used again', async () => {
      const one = await create({ client_secret: 's3cret' })
      const { id } = await authorization(one.id)
      const { value } = await remove(one.provider_id)
      expect(value).toEqual(api.over === 'REST' ? one : { id: one.id, provider_id: one.provider_id })
      expect(await lastEvent()).toMatchObject({ type: 'oauth_provider.deleted', subjectId: one.id })
      await api.fails('getOAuthProvider', { provider_id: one.id }, 'NOT_FOUND')
      expect(await app.core.db.oAuthAuthorization.count({ where: { id } })).toBe(0)
      expect((await remove(one.id)).code).toBe('NOT_FOUND')
      await create({ provider_id: one.provider_id })
    })

    test('ends a wait for such an authorization immediately', async () => {
      const one = await create()
      const { id } = await authorization(one.id, (await app.context(app.keys.admin)).actor.subject)
      const waiting = app.call('GET', `/v2/auth/wait/${id}`, { query: { timeout: 60 } })
      // its first look has found nothing to report
      await expect.poll(() => app.core.slots!.waits.inUse, { interval: 5 }).toBe(1)
      const notifier = app.core.notifier!
      const told = notifier.wait(id, notifier.mark(id), 60_000)
      expect((await remove(one.id)).ok).toBe(true)
      await told
      expect(await waiting).toMatchObject({ status: 409, body: { code: 'AUTHORIZATION_FAILED' } })
    })

    test('is refused while it has tokens in any workspace; the answer only counts them', async () => {
      const one = await create()
      await app.core.db.oAuthToken.createMany({ data: [token(one.id), token(one.id, app.sibling)] })
      const says = (count: string) =>
        `OAuth provider ID ${one.id} still has ${count}, counted in all workspaces of the organization. Their owners ` +
        'have to delete them first; or delete the provider with force=true, which deletes and revokes its tokens, too.'
      expect(await remove(one.id, wide())).toMatchObject({ code: 'CONFLICT', message: says('2 tokens') })
      await app.core.db.oAuthToken.deleteMany({ where: { workspaceId: app.tenant.workspaceId } })
      expect((await remove(one.id, wide())).message).toBe(says('1 token'))
      await app.core.db.oAuthToken.deleteMany({ where: { oauthProviderId: one.id } })
      expect((await remove(one.id)).ok).toBe(true)
    })

    test('with tokens in another workspace needs a credential of the organization, as do changes', async () => {
      const one = await create()
      await storedToken(app, { provider: one, key: app.sibling.keys.admin })
      for (const refused of [await update(one.id, { name: 'Mine' }), await remove(one.id)])
        expect(refused).toMatchObject({
          code: 'FORBIDDEN',
          message: expect.stringMatching(/belongs to the organization.*organization-wide credential/),
        })
      expect((await get(one.id)).name).toBe(one.name)
      expect((await update(one.id, { name: 'Ours' }, wide())).value.name).toBe('Ours')
    })

    test('and changing it are in the log of every workspace that uses it', async () => {
      const one = await create()
      await storedToken(app, { provider: one, key: app.sibling.keys.admin })
      await update(one.id, { name: 'Ours' }, wide())
      await remove(one.id, wide(), { force: true })
      const types = ['oauth_provider.updated', 'oauth_provider.deleted']
      const events = await app.core.db.event.findMany({
        where: { subjectId: one.id, type: { in: types } },
        orderBy: [{ workspaceId: 'asc' }, { sequence: 'asc' }],
      })
      const both = [app.tenant.workspaceId, app.sibling.workspaceId].sort()
      expect(events.map(({ workspaceId, type }) => [workspaceId, type])).toEqual(
        both.flatMap((id) => types.map((type) => [id, type])),
      )
    })

    test('by force revokes and deletes its own tokens; those of other workspaces only with a credential of the organization', async () => {
      const one = await create()
      const { db } = app.core
      await storedToken(app, { provider: one })
      await storedToken(app, { provider: one, key: app.keys.viewer })
      await storedToken(app, { provider: one, key: app.sibling.keys.admin })
      const another = await storedToken(app, { provider: await create() })
      const force = (how?: How) => remove(one.id, how, { force: true })
      expect((await force({ key: app.keys.deployer })).code).toBe('FORBIDDEN')
      expect((await force({ key: app.other.keys.admin })).code).toBe('NOT_FOUND')
      expect((await force()).code).toBe('FORBIDDEN')
      expect(await db.oAuthToken.count({ where: { oauthProviderId: one.id } })).toBe(3)
      const before = await db.tokenRevocation.count()
      expect((await force(wide())).ok).toBe(true)
      expect(await db.oAuthToken.count({ where: { oauthProviderId: one.id } })).toBe(0)
      expect((await db.tokenRevocation.count()) - before).toBe(3)
      expect(await db.oAuthToken.count({ where: { id: another.id } })).toBe(1)
      await api.fails('getOAuthProvider', { provider_id: one.id }, 'NOT_FOUND')
    })

    test('leaves no token without its provider, even if one is being stored', async () => {
      const one = await create()
      let deleting: ReturnType<typeof remove> | undefined
      await app.core.db.$transaction(async (sql) => {
        await sql.oAuthToken.create({ data: token(one.id) })
        const locking = new Promise<void>((resolve) => {
          const stop = app.app.database.onQuery((text) => {
            if (!text.includes('FOR UPDATE')) return
            stop()
            resolve()
          })
        })
        deleting = remove(one.id)
        await locking
      })
      expect((await deleting!).code).toBe('CONFLICT')
      expect((await get(one.id)).id).toBe(one.id)
    })

    test('several times concurrently succeeds once', async () => {
      const one = await create()
      const answers = await Promise.all([remove(one.id), remove(one.id), remove(one.provider_id)])
      expect(answers.map(({ code }) => code ?? 'done').sort()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'done'])
    })
  })

  describe('the owner of a provider', () => {
    test.each<[string, boolean, () => How]>([
      ['an admin of the workspace that created it may', true, () => ({})],
      ['an admin of another workspace may not', false, () => ({ key: app.sibling.keys.admin })],
      ['an admin of the organization may', true, () => wide(app.sibling)],
    ])('%s change and delete it', async (_who, may, as) => {
      const one = await create()
      const answers = [await update(one.id, { name: 'Ours' }, as()), await remove(one.id, as())]
      expect(answers.map(({ code }) => code)).toEqual(Array(2).fill(may ? undefined : 'FORBIDDEN'))
    })

    test('shows it to every workspace of the organization', async () => {
      const one = await create()
      const how = { key: app.sibling.keys.admin }
      expect(await get(one.id, how)).toEqual(one)
      // one that an earlier version created has no workspace
      await app.core.db.oAuthProvider.update({ where: { id: one.id }, data: { createdIn: null } })
      expect((await update(one.provider_id, { name: 'Ours' }, how)).value.name).toBe('Ours')
      expect(await lastEvent(app.sibling.workspaceId)).toMatchObject({
        type: 'oauth_provider.updated',
        subjectId: one.id,
      })
      expect((await remove(one.id, how)).ok).toBe(true)
    })

    test('hides it from another organization, by ID and name, like any other text', async () => {
      const one = await create()
      for (const provider_id of [one.id, one.provider_id, randomUUID(), 'nothing', ' ', 'x'.repeat(300)]) {
        const how = { key: app.other.keys.admin }
        const message = `OAuth provider ID ${provider_id} not found.`
        for (const verb of ['getOAuthProvider', 'updateOAuthProvider', 'deleteOAuthProvider'] as const)
          expect((await api.fails(verb, { provider_id }, 'NOT_FOUND', how)).message).toBe(message)
      }
      expect(await get(one.id)).toEqual(one)
    })

    test('refuses a name that no provider can have, because the database can’t compare it', async () => {
      for (const verb of ['getOAuthProvider', 'updateOAuthProvider', 'deleteOAuthProvider'] as const)
        await api.refuses(verb, { provider_id: 'a\0' }, ['provider_id value_error'])
    })

    test.each(['viewer', 'deployer'] as const)('lets a %s read them but change none', async (role) => {
      const { id } = await create()
      const how = { key: app.keys[role] }
      expect((await get(id, how)).id).toBe(id)
      expect(await api.get('listOAuthProviders', {}, how)).not.toEqual([])
      await api.fails('createOAuthProvider', body({ name: '' }), 'FORBIDDEN', how)
      for (const refused of [await update(id, { name: '' }, how), await remove(id, how)])
        expect(refused.code).toBe('FORBIDDEN')
    })
  })

  test('the client secret is in no answer, event, log or error, and nowhere in clear text', async () => {
    const canary = `canary-${randomUUID()}`
    const send = (client_secret: unknown, more: object = {}) =>
      api.call('createOAuthProvider', body({ client_secret, ...more }))
    const made = await send(canary)
    const { id } = made.value
    const answers = [
      made,
      await update(id, { client_secret: canary }),
      await api.call('getOAuthProvider', { provider_id: id }),
      await api.call('listOAuthProviders'),
      // each is wrong in another way
      await send(`${canary}\n`),
      await send({ canary }),
      await send([{ canary }]),
      await send(canary, { token_endpoint_auth_method: 'none' }),
      await send(canary, { name: 7 }),
      await remove(id),
    ]
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true, true, ...Array(5).fill(false), true])
    const malformed = await app.rest('POST', '/v2/auth/providers', { body: `{"client_secret": "${canary}` })
    expect(malformed.status).toBe(422)
    const kept = body({ client_secret: canary })
    for (const _ of [1, 2]) await api.call('createOAuthProvider', kept)
    const stored = await Promise.all(
      ['oauth_providers', 'events'].map((table) =>
        app.core.db.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${table} t`),
      ),
    )
    const said = [malformed, ...answers.map(({ answer }) => answer)].map(({ text }) => text)
    expect(logged.length).toBeGreaterThan(0)
    expect(
      [...said, ...stored.flat().map(({ row }) => row), ...logged].filter((text) => text.includes(canary)),
    ).toEqual([])
  })
})

test('concurrent changes by two workspaces wait for each other in one order', async () => {
  const ids = await Promise.all(
    [1, 2].map(async () => (await app.call('POST', '/v2/auth/providers', { body: body() })).body.id as string),
  )
  for (const id of ids)
    for (const key of [app.keys.admin, app.sibling.keys.admin]) await storedToken(app, { provider: { id }, key })
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      app.rest('PATCH', `/v2/auth/providers/${ids[i % 2]}`, { body: { name: `n${i}` }, ...(wide() as object) }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
})

describe('over REST', () => {
  const PATH = '/v2/auth/providers'

  test('members of the answer and unknown ones are ignored when they are sent', async () => {
    const sent = body({ is_dynamic_client: true, mcp_server_url: 'https://x', unknown: 7 })
    const { body: made } = await app.call('POST', PATH, { body: sent })
    expect(made).toMatchObject({ is_dynamic_client: false, mcp_server_url: null })
    const patch = (what: object) => app.call('PATCH', `${PATH}/${made.id}`, { body: what })
    expect((await patch({ name: 'Another', unknown: 7 })).status).toBe(200)
    expect((await patch({ ...made, name: 'Another' })).status).toBe(200)
    const fixed = {
      id: randomUUID(),
      organization_id: randomUUID(),
      provider_id: 'another',
      provider_type: 'microsoft',
      mcp_server_url: 'https://mcp.example.com',
      is_dynamic_client: true,
    }
    const refused = await patch({ ...fixed, name: 'Yet another' })
    expect(refused.body.detail.map(({ loc }: { loc: string[] }) => loc.join('.')).sort()).toEqual(
      Object.keys(fixed)
        .map((name) => `body.${name}`)
        .sort(),
    )
    for (const { msg } of refused.body.detail) expect(msg).toBe('Cannot be changed.')
    expect((await app.call('GET', `${PATH}/${made.id}`)).body.name).toBe('Another')
  })

  test('a force that is no boolean is refused', async () => {
    const { body: one } = await app.call('POST', PATH, { body: body() })
    const refused = await app.call('DELETE', `${PATH}/${one.id}`, { query: { force: 'yes' } })
    expect([refused.status, refused.body.detail[0].loc]).toEqual([422, ['query', 'force']])
  })
})
