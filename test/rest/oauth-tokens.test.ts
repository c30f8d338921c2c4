/** A person's OAuth tokens as a REST client sees them (docs/oauth.md#rules): listed, named, chosen, deleted. */
import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'
import { newKey } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { type StoredToken, storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type CallOptions, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
let provider: OAuthProvider
/** A new person in each test: a deployer of workspace A. */
let key: string

const CANARY = 'canary-of-the-tokens'

beforeAll(async () => {
  app = await restApp({ settings: { SWEEP_SECONDS: '3600' } })
  // a provider without revocation, which test/oauth/revocation.test.ts covers
  provider = await storedProvider(app, { metadataReadAt: new Date() })
})
beforeEach(async () => {
  const { organizationId, workspaceId } = app.tenant
  key = await newKey(app.core, { organizationId, workspaceId, role: 'deployer' })
})
afterAll(() => app.close())

const stored = (how: Partial<StoredToken> = {}) =>
  storedToken(app, {
    provider,
    key,
    content: { accessToken: `${CANARY}-access`, refreshToken: `${CANARY}-refresh` },
    ...how,
  })
const list = (options: CallOptions = {}) => app.call('GET', '/v2/auth/tokens', { key, ...options })
const patch = (id: string, body: unknown, options: CallOptions = {}) =>
  app.call('PATCH', `/v2/auth/tokens/${id}/metadata`, { key, body, ...options })
const remove = (id: string, options: CallOptions = {}) =>
  app.call('DELETE', `/v2/auth/tokens/${id}`, { key, ...options })
const row = (id: string) => app.core.db.oAuthToken.findUnique({ where: { id } })
const subjectOf = async (whose: string) => (await app.context(whose)).actor.subject
const eventsOf = async (...ids: string[]) => {
  const found = await app.core.db.event.findMany({ where: { subjectId: { in: ids } }, orderBy: { sequence: 'asc' } })
  return found.map(({ type, subjectId, actor }) => ({ type, subjectId, actor }))
}
/** Other people who must not find a token of `key`: their names and calls. */
async function others(): Promise<[string, CallOptions][]> {
  const { organizationId, workspaceId } = app.tenant
  return [
    ['another deployer', { key: await newKey(app.core, { organizationId, workspaceId, role: 'deployer' }) }],
    ['an admin', { key: app.keys.admin }],
    ['the next workspace', { key: app.sibling.keys.admin }],
    ['another organization', { key: app.other.keys.admin }],
  ]
}

describe('The list of one’s tokens', () => {
  test('has every detail of each, newest first, but never the token', async () => {
    const first = await stored({ row: { accountLabel: 'alice@example.com', createdAt: new Date(Date.now() - 60_000) } })
    const second = await stored({
      row: { accountLabel: 'bob@example.com', label: 'work', isDefault: true, expiresAt: null, scopes: [] },
    })
    const answer = await list()
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual([
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
    const seen = (await list()).body.map((token: { status: string; status_message: string }) => [
      token.status,
      token.status_message,
    ])
    expect(seen).toEqual([
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
    const here = await stored()
    const there = await stored({ provider: another })
    const ids = async (provider_id: string) =>
      (await list({ query: { provider_id } })).body.map(({ id }: { id: string }) => id)
    expect(await ids(provider.providerId)).toEqual([here.id])
    expect(await ids(another.id.toUpperCase())).toEqual([there.id])
    expect(await ids('')).toEqual([there.id, here.id])
    expect(await ids('nobody')).toEqual([])
    expect(await ids(randomUUID())).toEqual([])
    expect((await list({ query: { provider_id: ['a', 'b'] } })).status).toBe(422)
  })

  test('hides them from all others, even admins, and in one’s other workspaces', async () => {
    const organizationWide = await newKey(app.core, {
      ...{ organizationId: app.tenant.organizationId, workspaceId: app.tenant.workspaceId },
      ...{ role: 'admin', organizationWide: true },
    })
    const own = { 'x-tenant-id': app.tenant.workspaceId }
    const token = await stored({ key: organizationWide, tenant: app.tenant.workspaceId })
    expect((await list({ key: organizationWide, headers: own })).body).toMatchObject([{ id: token.id }])
    const sibling = { 'x-tenant-id': app.sibling.workspaceId }
    expect((await list({ key: organizationWide, headers: sibling })).body).toEqual([])
    for (const [who, options] of await others()) expect([who, (await list(options)).body]).toEqual([who, []])
  })

  test('is one statement, which does not read the tokens', async () => {
    await stored()
    await list()
    const statements = await countStatements(app.app.database, list)
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('sealed')
  })

  test('is for people: refused for keys of agents and listeners, and without a key', async () => {
    const { organizationId, workspaceId } = app.tenant
    const agent = await newKey(app.core, { organizationId, workspaceId, role: 'agent', agentId: 'a' })
    expect((await list({ key: agent })).status).toBe(403)
    expect((await list({ key: null })).status).toBe(401)
  })
})

describe('Naming a token', () => {
  test('shows the name instead of the account’s, and is an event', async () => {
    const token = await stored({ row: { accountLabel: 'alice@example.com' } })
    const answer = await patch(token.id, { label: 'Alice — work' })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: token.id, provider_account_label: 'Alice — work', is_default: false })
    expect((await list()).body).toEqual([answer.body])
    expect(await eventsOf(token.id)).toEqual([
      { type: 'oauth_token.updated', subjectId: token.id, actor: await subjectOf(key) },
    ])
    expect(answer.text + inspect(await app.core.db.event.findMany(), { maxArrayLength: null })).not.toContain(CANARY)
  })

  test('keeps absent members', async () => {
    const token = await stored({ row: { label: 'work', isDefault: true } })
    const before = await row(token.id)
    for (const body of [{}, { label: null, is_default: null, default: null }, { unknown: 1 }, { label: 'work' }])
      expect((await patch(token.id, body)).body).toMatchObject({ provider_account_label: 'work', is_default: true })
    expect(await row(token.id)).toEqual(before)
    expect(await app.core.db.event.count({ where: { subjectId: token.id } })).toBe(0)
    expect((await patch(token.id, { is_default: false })).body).toMatchObject({
      provider_account_label: 'work',
      is_default: false,
    })
  })

  test('accepts 1 to 128 printable characters, and a boolean', async () => {
    const { id } = await stored()
    expect((await patch(id, { label: 'x'.repeat(128) })).status).toBe(200)
    const bad = async (body: unknown) => violations(await patch(id, body))
    expect(await bad({ label: '', is_default: 'yes' })).toEqual([
      'body.is_default bool_type',
      'body.label string_too_short',
    ])
    expect(await bad({ label: 'x'.repeat(129), default: 1 })).toEqual([
      'body.default bool_type',
      'body.label string_too_long',
    ])
    expect(await bad({ label: 'a\nb' })).toEqual(['body.label string_pattern_mismatch'])
    expect(await bad({ label: 5 })).toEqual(['body.label string_type'])
    expect(await bad('{')).toEqual(['body json_invalid'])
    expect(await bad({ is_default: true, default: false })).toEqual(['body.default value_error'])
    expect(violations(await patch('nonsense', {}))).toEqual(['path.token_id uuid_parsing'])
    expect((await row(id))?.isDefault).toBe(false)
  })

  test('is refused for viewers, and finds no token of others', async () => {
    const viewer = app.keys.viewer
    const theirs = await stored({ key: viewer })
    expect((await patch(theirs.id, { label: 'x' }, { key: viewer })).status).toBe(403)
    const { id } = await stored()
    for (const [who, options] of await others()) {
      const answer = await patch(id, { label: 'mine', is_default: true }, options)
      expect([who, answer.status, answer.body.detail]).toEqual([who, 404, `OAuth token ID ${id} not found.`])
    }
    expect(await row(id)).toMatchObject({ label: null, isDefault: false })
    expect((await patch(randomUUID(), {})).status).toBe(404)
  })
})

describe('The default of one’s tokens of a provider', () => {
  test('is one: the previous one loses the mark, in the log, too', async () => {
    const [first, second] = [await stored(), await stored()]
    expect((await patch(first.id, { is_default: true })).body.is_default).toBe(true)
    expect((await patch(second.id, { default: true })).body.is_default).toBe(true)
    expect(await row(first.id)).toMatchObject({ isDefault: false })
    const changed = (await eventsOf(first.id, second.id)).map(({ subjectId }) => subjectId)
    expect(changed).toEqual([first.id, first.id, second.id])
    expect((await patch(second.id, { is_default: true })).body.is_default).toBe(true)
    expect((await list()).body.filter((token: { is_default: boolean }) => token.is_default)).toHaveLength(1)
  })

  test('is independent of other providers, workspaces and people', async () => {
    const another = await storedProvider(app)
    const there = await stored({ provider: another })
    const others = [
      await stored({ row: { isDefault: true } }),
      await stored({ provider: another, row: { isDefault: true, workspaceId: app.sibling.workspaceId } }),
      await stored({ provider: another, key: app.keys.admin, row: { isDefault: true } }),
    ]
    await patch(there.id, { is_default: true })
    for (const { id } of [there, ...others]) expect(await row(id)).toMatchObject({ isDefault: true })
  })

  test('is exactly one after concurrent changes', async () => {
    const tokens = await Promise.all(Array.from({ length: 5 }, () => stored()))
    const many = [...tokens, ...tokens, ...tokens].map(({ id }) => patch(id, { is_default: true }))
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]))
    expect((await list()).body.filter((token: { is_default: boolean }) => token.is_default)).toHaveLength(1)
  })
})

describe('Deleting a token', () => {
  test('removes its connections, and each of them is an event', async () => {
    const [token, kept] = [await stored(), await stored()]
    const connections = [await storedConnection(app, token), await storedConnection(app, token)]
    const another = await storedConnection(app, kept)
    const answer = await remove(token.id)
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await list()).body).toMatchObject([{ id: kept.id }])
    expect(await app.core.db.agentConnection.findMany({ where: { tokenId: { in: [token.id, kept.id] } } })).toEqual([
      another,
    ])
    const actor = await subjectOf(key)
    const gone = connections.map(({ id }) => id).sort()
    expect(await eventsOf(token.id, ...gone)).toEqual([
      ...gone.map((subjectId) => ({ type: 'connection.deleted', subjectId, actor })),
      { type: 'oauth_token.deleted', subjectId: token.id, actor },
    ])
  })

  test('a second time, or an unknown one, is a 404', async () => {
    const { id } = await stored()
    expect((await remove(id)).status).toBe(204)
    const again = await remove(id)
    expect([again.status, again.body.detail]).toEqual([404, `OAuth token ID ${id} not found.`])
    expect(violations(await remove('nonsense'))).toEqual(['path.token_id uuid_parsing'])
  })

  test('by two concurrent calls succeeds once', async () => {
    const token = await stored()
    const connection = await storedConnection(app, token)
    const statuses = (await Promise.all([1, 2, 3].map(() => remove(token.id)))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([204, 404, 404])
    expect(await eventsOf(token.id, connection.id)).toHaveLength(2)
  })

  test('is refused for viewers, and finds no token of others', async () => {
    const theirs = await stored({ key: app.keys.viewer })
    expect((await remove(theirs.id, { key: app.keys.viewer })).status).toBe(403)
    const { id } = await stored()
    for (const [who, options] of await others()) expect([who, (await remove(id, options)).status]).toEqual([who, 404])
    expect(await row(id)).not.toBeNull()
    expect(await row(theirs.id)).not.toBeNull()
  })

  test('leaves an authorization that would have renewed it, which then renews nothing', async () => {
    const { id, workspaceId, subject } = await stored()
    const authorization = await app.core.db.oAuthAuthorization.create({
      data: {
        ...{ workspaceId, subject, createdBy: subject, oauthProviderId: provider.id, renewsTokenId: id },
        ...{
          stateHash: randomUUID(),
          redirectUri: 'https://pilothouse.test/callback',
          expiresAt: new Date(Date.now() + 60_000),
        },
      },
    })
    expect((await remove(id)).status).toBe(204)
    const left = await app.core.db.oAuthAuthorization.findUniqueOrThrow({ where: { id: authorization.id } })
    expect(left).toMatchObject({ status: 'pending', renewsTokenId: null })
  })
})

describe('Deleting all tokens of a person who has left', () => {
  const removeAll = (userId: string | undefined, options: CallOptions = {}) =>
    app.call('DELETE', '/v2/auth/tokens', { query: userId === undefined ? {} : { user_id: userId }, ...options })

  test('needs an admin, who learns their number; other people’s stay', async () => {
    const [one, two] = [await stored(), await stored()]
    const connection = await storedConnection(app, one)
    const bystander = await stored({ key: app.keys.deployer })
    const subject = await subjectOf(key)
    const answer = await removeAll(subject)
    expect([answer.status, answer.body]).toEqual([200, { deleted: 2 }])
    expect([await row(one.id), await row(two.id)]).toEqual([null, null])
    expect(await row(bystander.id)).not.toBeNull()
    const actor = await subjectOf(app.keys.admin)
    expect(await eventsOf(one.id, connection.id)).toEqual([
      { type: 'connection.deleted', subjectId: connection.id, actor },
      { type: 'oauth_token.deleted', subjectId: one.id, actor },
    ])
    expect((await removeAll(subject)).body).toEqual({ deleted: 0 })
  })

  test('works for hundreds of tokens of a revoked key, by two concurrent admins', async () => {
    await Promise.all(Array.from({ length: 230 }, () => stored()))
    const subject = await subjectOf(key)
    await app.core.db.apiKey.update({ where: { id: subject }, data: { revokedAt: new Date() } })
    const answers = await Promise.all([removeAll(subject), removeAll(subject)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[0]!.body.deleted + answers[1]!.body.deleted).toBe(230)
    expect(await app.core.db.oAuthToken.count({ where: { subject } })).toBe(0)
  })

  test('leaves each to be revoked by the job, immediately', async () => {
    const known = await storedProvider(app)
    await stored({ provider: known })
    await stored({ provider: known })
    await removeAll(await subjectOf(key))
    const queued = await app.core.db.$queryRaw<{ due: boolean }[]>`
      SELECT not_before <= clock_timestamp() AS due FROM token_revocations`
    expect(queued).toEqual([{ due: true }, { due: true }])
    await app.core.db.tokenRevocation.deleteMany()
  })

  test('needs an admin of the workspace, and a name', async () => {
    const token = await stored()
    const subject = await subjectOf(key)
    for (const who of [key, app.keys.viewer]) expect((await removeAll(subject, { key: who })).status).toBe(403)
    for (const who of [app.sibling.keys.admin, app.other.keys.admin])
      expect((await removeAll(subject, { key: who })).body).toEqual({ deleted: 0 })
    expect(await row(token.id)).not.toBeNull()
    expect(violations(await removeAll(undefined))).toEqual(['query.user_id missing'])
    expect((await removeAll('')).status).toBe(422)
    expect((await removeAll('x'.repeat(256))).status).toBe(422)
  })
})
