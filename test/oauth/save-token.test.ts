/** The row of a new token set, and the refresh token that it keeps. */
import { beforeEach, expect, test } from 'vitest'
import { saveToken } from '../../src/domain/oauth/tokens/save.ts'
import { grantedScopes, openToken } from '../../src/domain/oauth/tokens/token.ts'
import type { Account } from '../../src/domain/ports/oauth-client.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { countStatements } from '../support/database.ts'
import { useDomain } from '../support/domain.ts'

const TOKEN_URL = 'https://id.example/token'
const alice: Account = { id: 'alice', label: 'alice@example.com' }
const bob: Account = { id: 'bob', label: 'bob@example.com' }

const domain = useDomain()
let ctx: RequestContext
let providerId: string
beforeEach(async () => {
  ctx = await domain.tenant()
  const provider = await ctx.db.oAuthProvider.create({
    data: {
      organizationId: ctx.workspace.organizationId,
      providerId: 'acme',
      name: 'Acme',
      clientId: 'c',
      authUrl: 'https://id.example/auth',
      tokenUrl: TOKEN_URL,
    },
  })
  providerId = provider.id
})

interface How {
  account?: Account | null
  renews?: string | null
  refreshToken?: string | null
  tokenUrl?: string
  subject?: string
  workspaceId?: string
  scopes?: string[]
}

const keep = (access: string, { account = null, renews = null, refreshToken = null, ...how }: How = {}) =>
  transaction(ctx, (tx) =>
    saveToken(tx.sql, ctx.keyring, {
      workspaceId: how.workspaceId ?? ctx.workspace.id,
      subject: how.subject ?? 'ann',
      provider: { id: providerId, tokenUrl: how.tokenUrl ?? TOKEN_URL },
      renews,
      tokens: { accessToken: access, tokenType: 'bearer', refreshToken, expiresIn: null, scopes: null, account },
      scopes: how.scopes ?? ['read'],
      account,
      expiresAt: null,
    }),
  )
const row = (id: string) => ctx.db.oAuthToken.findUniqueOrThrow({ where: { id } })
const content = async (id: string) => openToken(ctx.keyring, await row(id))

test('one account of a person is one row', async () => {
  const first = await keep('1', { account: alice })
  expect(first.isNew).toBe(true)
  expect(await keep('2', { account: { ...alice, label: 'Alice' } })).toMatchObject({ id: first.id, isNew: false })
  expect(await row(first.id)).toMatchObject({ version: 2, accountLabel: 'Alice' })
  expect((await content(first.id)).accessToken).toBe('2')
  expect((await keep('3', { account: alice, subject: 'eve' })).isNew).toBe(true)
})

test('the row of the same account takes precedence over the renewed row', async () => {
  const known = await keep('1', { account: alice })
  const nameless = await keep('2')
  expect(await keep('3', { account: alice, renews: nameless.id })).toMatchObject({ id: known.id, isNew: false })
  expect((await content(nameless.id)).accessToken).toBe('2')
})

test('a renewal replaces the row, unless both accounts are known and differ', async () => {
  const nameless = await keep('1')
  expect((await keep('2', { renews: nameless.id, account: alice })).id).toBe(nameless.id)
  expect((await keep('3', { renews: nameless.id })).id).toBe(nameless.id)
  expect(await row(nameless.id)).toMatchObject({ accountId: 'alice', version: 3 })
  expect((await keep('4', { renews: nameless.id, account: bob })).isNew).toBe(true)
})

test('a person has a separate row in each workspace', async () => {
  const { organizationId } = ctx.workspace
  const { id: workspaceId } = await ctx.db.workspace.create({ data: { organizationId, name: 'Other' } })
  const here = await keep('1', { account: alice })
  expect((await keep('2', { account: alice, workspaceId })).isNew).toBe(true)
  expect((await keep('3', { renews: here.id, workspaceId })).isNew).toBe(true)
  expect((await content(here.id)).accessToken).toBe('1')
})

test('a renewal of another person’s row or a deleted row creates a new one', async () => {
  const hers = await keep('1')
  expect((await keep('2', { renews: hers.id, subject: 'eve' })).isNew).toBe(true)
  expect((await keep('3', { renews: '11111111-1111-4111-8111-111111111111' })).isNew).toBe(true)
  expect((await content(hers.id)).accessToken).toBe('1')
})

test.each<[string, How, boolean]>([
  ['of the same account', { account: alice }, true],
  ['of an unknown account', {}, false],
  ['from another origin', { account: alice, tokenUrl: 'https://other.example/token' }, false],
  ['from another path of the same origin', { account: alice, tokenUrl: 'https://id.example/v2/token' }, true],
])('a response without a refresh token, %s, keeps the old one: %s', async (_, how, kept) => {
  const { id } = await keep('1', { account: alice, refreshToken: 'old' })
  expect((await keep('2', { renews: id, ...how })).id).toBe(id)
  expect(await row(id)).toMatchObject({ refreshable: kept, tokenUrl: how.tokenUrl ?? TOKEN_URL })
  expect((await content(id)).refreshToken).toBe(kept ? 'old' : null)
})

test.each([
  ['has ended', { endedAt: new Date() }, false],
  ['is being refreshed, at a provider that may rotate', { refreshId: '11111111-1111-4111-8111-111111111111' }, false],
  [
    'is being refreshed, at a provider that does not rotate',
    { refreshId: '11111111-1111-4111-8111-111111111111', rotates: false },
    true,
  ],
])('the refresh token of a token that %s is kept: %s', async (_, state, kept) => {
  const { id } = await keep('1', { account: alice, refreshToken: 'old' })
  await ctx.db.oAuthToken.update({ where: { id }, data: state })
  await keep('2', { account: alice })
  expect(await row(id)).toMatchObject({ refreshable: kept, endedAt: null, refreshId: null })
})

test('the result names the connected agents and the lost scopes', async () => {
  const first = await keep('1', { account: alice, scopes: ['read', 'write', 'admin'] })
  expect(first).toMatchObject({ agents: [], lost: [] })
  const data = ['b', 'a'].map((agentId) => ({
    workspaceId: ctx.workspace.id,
    agentId,
    tokenId: first.id,
    createdBy: 'ann',
  }))
  for (const one of data) await ctx.db.agentConnection.create({ data: one })
  expect(await keep('2', { account: alice, scopes: ['read', 'more'] })).toMatchObject({
    agents: ['b', 'a'],
    lost: ['write', 'admin'],
  })
  expect(await keep('3', { account: bob })).toMatchObject({ isNew: true, agents: [], lost: [] })
})

test('a renewal is four statements for any number of connections', async () => {
  const { id } = await keep('1', { account: alice })
  await ctx.db.oAuthToken.update({ where: { id }, data: { rotates: true } })
  const sent = await countStatements(domain.database, () => keep('2', { account: alice }))
  expect(sent.filter((sql) => !/^(BEGIN|COMMIT)/.test(sql))).toHaveLength(4)
})

test('rotation is inferred from the provider’s other tokens, and one rotation outweighs the rest', async () => {
  const fresh = async (how: How = {}) => (await row((await keep('1', how)).id)).rotates
  const seen = (id: string, rotates: boolean) => ctx.db.oAuthToken.update({ where: { id }, data: { rotates } })
  expect(await fresh()).toBeNull()
  const [one, two] = [await keep('1', { subject: 'eve' }), await keep('1', { subject: 'eve' })]
  const ended = await keep('1', { account: bob })
  await seen(one.id, false)
  expect(await fresh()).toBe(false)
  expect((await row((await keep('2', { renews: ended.id })).id)).rotates).toBe(false)
  await seen(two.id, true)
  expect(await fresh()).toBe(true)
  const elsewhere = 'https://other.example/token'
  expect(await fresh({ tokenUrl: elsewhere })).toBeNull()
  expect((await row((await keep('2', { subject: 'eve', renews: two.id, tokenUrl: elsewhere })).id)).rotates).toBeNull()
})

test('ten concurrent calls for one account store one row', async () => {
  const kept = await Promise.all(Array.from({ length: 10 }, (_, i) => keep(`${i}`, { account: alice })))
  expect(new Set(kept.map(({ id }) => id)).size).toBe(1)
  expect(kept.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(await row(kept[0]!.id)).toMatchObject({ version: 10 })
})

test('requested scopes of OpenID Connect count as granted, others only if the provider grants them', () => {
  expect(grantedScopes(['openid', 'email', 'read', 'read'], null)).toEqual(['openid', 'email', 'read'])
  expect(grantedScopes(['openid', 'offline_access', 'read', 'write'], ['read', 'extra'])).toEqual([
    'read',
    'extra',
    'openid',
    'offline_access',
  ])
})
