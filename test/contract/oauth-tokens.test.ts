/** A person's OAuth tokens (docs/oauth.md#rules): listed, named, chosen, deleted. */
import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'
import { useRestApp } from '../rest/support.ts'
import { newKey } from '../support/app.ts'
import { agentKey } from '../support/factories.ts'
import { type StoredToken, storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
let provider: OAuthProvider
/** A new person in each test: a deployer of workspace A. */
let key: string
beforeAll(async () => {
  // a provider without revocation, which test/oauth/revocation.test.ts covers
  provider = await storedProvider(app, { metadataReadAt: new Date() })
})
beforeEach(async () => {
  key = await newKey(app.core, { ...app.tenant, role: 'deployer' })
})

const CANARY = 'canary-of-the-tokens'
const stored = (how: Partial<StoredToken> = {}) =>
  storedToken(app, {
    provider,
    key,
    content: { accessToken: `${CANARY}-access`, refreshToken: `${CANARY}-refresh` },
    ...how,
  })
const row = (id: string) => app.core.db.oAuthToken.findUnique({ where: { id } })
const subjectOf = async (whose: string) => (await app.context(whose)).actor.subject
const eventsOf = async (...ids: string[]) => {
  const found = await app.core.db.event.findMany({ where: { subjectId: { in: ids } }, orderBy: { sequence: 'asc' } })
  return found.map(({ type, subjectId, actor }) => ({ type, subjectId, actor }))
}
/** Other people who must not find a token of `key`: another deployer, an admin, the next workspace, another organization. */
const others = async (): Promise<How[]> =>
  [
    await newKey(app.core, { ...app.tenant, role: 'deployer' }),
    ...[app, app.sibling, app.other].map(({ keys }) => keys.admin),
  ].map((key) => ({ key }))

overBoth(app, (api) => {
  const list = (how: How = {}, input: object = {}) => api.get('listOAuthTokens', { ...input }, { key, ...how })
  const update = (token_id: string, changes: object, how: How = {}) =>
    api.call('updateOAuthToken', { token_id, ...changes }, { key, ...how })
  const remove = (token_id: string, how: How = {}) => api.call('deleteOAuthToken', { token_id }, { key, ...how })
  const defaults = async () => (await list()).filter((token: { is_default: boolean }) => token.is_default)

  describe('the list of one’s tokens', () => {
    test('has every detail of each, newest first, but never the token', async () => {
      const first = await stored({
        row: { accountLabel: 'alice@example.com', createdAt: new Date(Date.now() - 60_000) },
      })
      const second = await stored({
        row: { accountLabel: 'bob@example.com', label: 'work', isDefault: true, expiresAt: null, scopes: [] },
      })
      const { value, answer } = await api.call('listOAuthTokens', {}, { key })
      expect(value).toEqual([
        {
          id: second.id,
          provider_id: provider.providerId,
          provider_account_label: 'work',
          scopes: [],
          is_default: true,
          status: 'ACTIVE',
          status_message: null,
          expires_at: null,
          created_at: second.createdAt.toISOString(),
          updated_at: second.updatedAt.toISOString(),
        },
        expect.objectContaining({
          id: first.id,
          provider_account_label: 'alice@example.com',
          scopes: ['read'],
          is_default: false,
          expires_at: first.expiresAt?.toISOString(),
        }),
      ])
      expect(answer.text).not.toContain(CANARY)
    })

    test('says which have expired or failed to refresh, and why', async () => {
      const past = new Date(Date.now() - 1000)
      const refreshError = 'answered 503'
      await stored({ row: { refreshError } })
      await stored({ row: { endedAt: past, endedBecause: 'The provider has refused it.', refreshError } })
      await stored({ row: { expiresAt: past }, content: { refreshToken: null } })
      await stored({ row: { expiresAt: past } })
      const said = (token: { status: string; status_message: string }) => [token.status, token.status_message]
      expect((await list()).map(said)).toEqual([
        ['ACTIVE', null],
        ['EXPIRED', 'The provider gave no refresh token for it. Authenticate again.'],
        ['EXPIRED', 'The provider has refused it.'],
        [
          'ACTIVE',
          'The provider did not refresh the token at the last attempt: it answered 503. The server tries again.',
        ],
      ])
    })

    test('can be narrowed to one provider, by its name or its id', async () => {
      const another = await storedProvider(app)
      const [here, there] = [await stored(), await stored({ provider: another })]
      const ids = async (provider_id: string) => (await list({}, { provider_id })).map(({ id }: { id: string }) => id)
      expect(await ids(provider.providerId)).toEqual([here.id])
      expect(await ids(another.id.toUpperCase())).toEqual([there.id])
      expect(await ids('')).toEqual([there.id, here.id])
      for (const unknown of ['nobody', randomUUID()]) expect(await ids(unknown)).toEqual([])
    })

    test('hides them from all others, even admins, and in one’s other workspaces', async () => {
      const { workspaceId } = app.tenant
      const wide = await newKey(app.core, { ...app.tenant, role: 'admin', organizationWide: true })
      const token = await stored({ key: wide, tenant: workspaceId })
      expect(await list({ key: wide, tenant: workspaceId })).toMatchObject([{ id: token.id }])
      for (const how of [{ key: wide, tenant: app.sibling.workspaceId }, ...(await others())])
        expect(await list(how)).toEqual([])
    })

    test('is for people: refused for keys of agents, and without a key', async () => {
      await api.fails('listOAuthTokens', {}, 'FORBIDDEN', { key: await agentKey(app, 'a') })
      await api.fails('listOAuthTokens', {}, 'UNAUTHENTICATED', { key: null })
    })
  })

  describe('naming a token', () => {
    test('shows the name instead of the account’s, and is an event', async () => {
      const token = await stored({ row: { accountLabel: 'alice@example.com' } })
      const { value, answer } = await update(token.id, { label: 'Alice — work' })
      expect(value).toMatchObject({ id: token.id, provider_account_label: 'Alice — work', is_default: false })
      expect(await list()).toEqual([value])
      expect(await eventsOf(token.id)).toEqual([
        { type: 'oauth_token.updated', subjectId: token.id, actor: await subjectOf(key) },
      ])
      const events = await app.core.db.event.findMany()
      expect(answer.text + inspect(events, { maxArrayLength: null })).not.toContain(CANARY)
    })

    test('keeps absent members', async () => {
      const token = await stored({ row: { label: 'work', isDefault: true } })
      const before = await row(token.id)
      const kept = { provider_account_label: 'work', is_default: true }
      for (const changes of [{}, { label: null, is_default: null }, { label: 'work' }])
        expect((await update(token.id, changes)).value).toMatchObject(kept)
      expect(await row(token.id)).toEqual(before)
      expect(await app.core.db.event.count({ where: { subjectId: token.id } })).toBe(0)
      expect((await update(token.id, { is_default: false })).value).toMatchObject({ ...kept, is_default: false })
    })

    test('accepts 1 to 128 printable characters, and a boolean', async () => {
      const { id: token_id } = await stored()
      expect((await update(token_id, { label: 'x'.repeat(128) })).ok).toBe(true)
      for (const [changes, ...issues] of [
        [{ label: '' }, 'label string_too_short'],
        [{ label: 'x'.repeat(129) }, 'label string_too_long'],
        [{ label: 'a\nb' }, 'label string_pattern_mismatch'],
        [{ label: 5 }, 'label string_type'],
        [{ label: '', is_default: 'yes' }, 'is_default bool_type', 'label string_too_short'],
        [{ token_id: 'nonsense' }, 'token_id uuid_parsing'],
      ] as [object, ...string[]][])
        await api.refuses('updateOAuthToken', { token_id, ...changes }, issues, { key })
      expect((await row(token_id))?.isDefault).toBe(false)
    })

    test('is refused for viewers, and finds no token of others', async () => {
      const viewer = app.keys.viewer
      const theirs = await stored({ key: viewer })
      expect((await update(theirs.id, { label: 'x' }, { key: viewer })).code).toBe('FORBIDDEN')
      const { id } = await stored()
      const message = `OAuth token ID ${id} not found.`
      for (const how of await others())
        expect(await update(id, { label: 'mine', is_default: true }, how)).toMatchObject({ code: 'NOT_FOUND', message })
      expect(await row(id)).toMatchObject({ label: null, isDefault: false })
      expect((await update(randomUUID(), {})).code).toBe('NOT_FOUND')
    })
  })

  describe('the default of one’s tokens of a provider', () => {
    test('is one: the previous one loses the mark, in the log, too', async () => {
      const [first, second] = [await stored(), await stored()]
      for (const { id } of [first, second]) expect((await update(id, { is_default: true })).value.is_default).toBe(true)
      expect(await row(first.id)).toMatchObject({ isDefault: false })
      const changed = (await eventsOf(first.id, second.id)).map(({ subjectId }) => subjectId)
      expect(changed).toEqual([first.id, first.id, second.id])
      expect((await update(second.id, { is_default: true })).value.is_default).toBe(true)
      expect(await defaults()).toHaveLength(1)
    })

    test('is independent of other providers, workspaces and people', async () => {
      const another = await storedProvider(app)
      const there = await stored({ provider: another })
      const unchanged = [
        await stored({ row: { isDefault: true } }),
        await stored({ provider: another, row: { isDefault: true, workspaceId: app.sibling.workspaceId } }),
        await stored({ provider: another, key: await newKey(app.core, app.tenant), row: { isDefault: true } }),
      ]
      await update(there.id, { is_default: true })
      for (const { id } of [there, ...unchanged]) expect(await row(id)).toMatchObject({ isDefault: true })
    })

    test('is exactly one after concurrent changes', async () => {
      const tokens = await Promise.all(Array.from({ length: 5 }, () => stored()))
      const many = [...tokens, ...tokens, ...tokens].map(({ id }) => update(id, { is_default: true }))
      expect((await Promise.all(many)).every(({ ok }) => ok)).toBe(true)
      expect(await defaults()).toHaveLength(1)
    })
  })

  describe('deleting a token', () => {
    test('removes its connections, and each of them is an event', async () => {
      const [token, kept] = [await stored(), await stored()]
      const connections = [await storedConnection(app, token), await storedConnection(app, token)]
      const another = await storedConnection(app, kept)
      expect((await remove(token.id)).ok).toBe(true)
      expect(await list()).toMatchObject([{ id: kept.id }])
      const left = await app.core.db.agentConnection.findMany({ where: { tokenId: { in: [token.id, kept.id] } } })
      expect(left).toEqual([another])
      const actor = await subjectOf(key)
      const gone = connections.map(({ id }) => id).sort()
      expect(await eventsOf(token.id, ...gone)).toEqual([
        ...gone.map((subjectId) => ({ type: 'connection.deleted', subjectId, actor })),
        { type: 'oauth_token.deleted', subjectId: token.id, actor },
      ])
    })

    test('by several concurrent calls succeeds once', async () => {
      const token = await stored()
      const connection = await storedConnection(app, token)
      const answers = await Promise.all([1, 2, 3].map(() => remove(token.id)))
      expect(answers.map(({ code }) => code ?? 'done').sort()).toEqual(['NOT_FOUND', 'NOT_FOUND', 'done'])
      expect((await remove(token.id)).message).toBe(`OAuth token ID ${token.id} not found.`)
      expect(await eventsOf(token.id, connection.id)).toHaveLength(2)
      await api.refuses('deleteOAuthToken', { token_id: 'nonsense' }, ['token_id uuid_parsing'], { key })
    })

    test('is refused for viewers, and finds no token of others', async () => {
      const theirs = await stored({ key: app.keys.viewer })
      expect((await remove(theirs.id, { key: app.keys.viewer })).code).toBe('FORBIDDEN')
      const { id } = await stored()
      for (const how of await others()) expect((await remove(id, how)).code).toBe('NOT_FOUND')
      expect([await row(id), await row(theirs.id)]).not.toContain(null)
    })

    test('leaves an authorization that would have renewed it, which then renews nothing', async () => {
      const { id, workspaceId, subject } = await stored()
      const { db } = app.core
      const authorization = await db.oAuthAuthorization.create({
        data: {
          ...{ workspaceId, subject, createdBy: subject, oauthProviderId: provider.id, renewsTokenId: id },
          ...{ stateHash: randomUUID(), redirectUri: 'https://pilothouse.test/callback' },
          expiresAt: new Date(Date.now() + 60_000),
        },
      })
      expect((await remove(id)).ok).toBe(true)
      const left = await db.oAuthAuthorization.findUniqueOrThrow({ where: { id: authorization.id } })
      expect(left).toMatchObject({ status: 'pending', renewsTokenId: null })
    })
  })

  describe('deleting all tokens of a person who has left', () => {
    const removeAll = (user_id: string, how?: How) => api.call('deleteOAuthTokensOfUser', { user_id }, how)

    test('needs an admin, who learns their number; other people’s stay', async () => {
      const [one, two] = [await stored(), await stored()]
      const connection = await storedConnection(app, one)
      const bystander = await stored({ key: app.keys.deployer })
      const subject = await subjectOf(key)
      expect((await removeAll(subject)).value).toBe(2)
      expect([await row(one.id), await row(two.id)]).toEqual([null, null])
      expect(await row(bystander.id)).not.toBeNull()
      const actor = await subjectOf(app.keys.admin)
      expect(await eventsOf(one.id, connection.id)).toEqual([
        { type: 'connection.deleted', subjectId: connection.id, actor },
        { type: 'oauth_token.deleted', subjectId: one.id, actor },
      ])
      expect((await removeAll(subject)).value).toBe(0)
    })

    test('works for hundreds of tokens of a revoked key, by two concurrent admins', async () => {
      await Promise.all(Array.from({ length: 230 }, () => stored()))
      const subject = await subjectOf(key)
      await app.core.db.apiKey.update({ where: { id: subject }, data: { revokedAt: new Date() } })
      const [one, two] = await Promise.all([removeAll(subject), removeAll(subject)])
      expect(one.value + two.value).toBe(230)
      expect(await app.core.db.oAuthToken.count({ where: { subject } })).toBe(0)
    })

    test('leaves each to be revoked by the job, immediately', async () => {
      const known = await storedProvider(app)
      for (const _ of [1, 2]) await stored({ provider: known })
      await removeAll(await subjectOf(key))
      const queued = await app.core.db.$queryRaw<{ due: boolean }[]>`
        SELECT not_before <= clock_timestamp() AS due FROM token_revocations`
      expect(queued).toEqual([{ due: true }, { due: true }])
      await app.core.db.tokenRevocation.deleteMany()
    })

    test('needs an admin of the workspace, and a name', async () => {
      const token = await stored()
      const subject = await subjectOf(key)
      for (const who of [key, app.keys.viewer]) expect((await removeAll(subject, { key: who })).code).toBe('FORBIDDEN')
      for (const who of [app.sibling.keys.admin, app.other.keys.admin])
        expect((await removeAll(subject, { key: who })).value).toBe(0)
      expect(await row(token.id)).not.toBeNull()
      await api.refuses('deleteOAuthTokensOfUser', {}, ['user_id missing'])
      await api.refuses('deleteOAuthTokensOfUser', { user_id: '' }, ['user_id string_too_short'])
      await api.refuses('deleteOAuthTokensOfUser', { user_id: 'x'.repeat(256) }, ['user_id string_too_long'])
    })
  })
})

test('over REST the default has a second name, which must agree, and a provider is named once', async () => {
  const { id } = await stored()
  const patch = (body: unknown) => app.call('PATCH', `/v2/auth/tokens/${id}/metadata`, { key, body })
  expect((await patch({ default: true, unknown: 1 })).body.is_default).toBe(true)
  expect((await patch({ default: null })).body.is_default).toBe(true)
  const typesOf = async (body: unknown) => (await patch(body)).body.detail.map(({ type }: { type: string }) => type)
  expect(await typesOf({ is_default: true, default: false })).toEqual(['value_error'])
  expect(await typesOf({ label: '', default: 1 })).toEqual(['string_too_short', 'bool_type'])
  expect(await typesOf('{')).toEqual(['json_invalid'])
  const list = await app.call('GET', '/v2/auth/tokens', { key, query: { provider_id: ['a', 'b'] } })
  expect(list.status).toBe(422)
})
