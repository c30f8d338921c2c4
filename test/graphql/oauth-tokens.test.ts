/** A person's OAuth tokens over GraphQL: the rules of REST, and the provider of each token. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'
import { newKey, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { type StoredToken, storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { mutate } from './mutate.ts'

let app: TestApp
let provider: OAuthProvider
/** a new deployer of workspace A in each test */
let key: string

beforeAll(async () => {
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
  provider = await storedProvider(app, { metadataReadAt: new Date() })
})
beforeEach(async () => {
  const { organizationId, workspaceId } = app.tenant
  key = await newKey(app.app.core, { organizationId, workspaceId, role: 'deployer' })
})
afterAll(() => app.close())

const TOKEN = `id providerAccountLabel scopes isDefault status statusMessage expiresAt createdAt updatedAt
  provider { id providerId name }`
const stored = (how: Partial<StoredToken> = {}) => storedToken(app, { provider, key, ...how })

async function read(query: string, variables: object = {}, whose = key) {
  const { data, errors } = await app.gql(query, { ...variables }, { key: whose })
  expect(errors).toBeUndefined()
  return data
}

const change = (name: 'updateOAuthToken' | 'deleteOAuthToken', input: object, whose = key) =>
  mutate(app, name, name === 'deleteOAuthToken' ? 'tokenId' : `token { ${TOKEN} }`, input, { key: whose })

test('a token is read, labelled, made the default and deleted, as over REST', async () => {
  const row = await stored({ row: { accountLabel: 'alice@example.com' } })
  const { oauthTokens, node } = await read(
    `query ($id: ID!) { oauthTokens { totalCount nodes { ${TOKEN} } } node(id: $id) { ... on OAuthToken { ${TOKEN} } } }`,
    { id: row.id },
  )
  const [token] = oauthTokens.nodes
  expect(token).toEqual({
    id: row.id,
    providerAccountLabel: 'alice@example.com',
    scopes: ['read'],
    isDefault: false,
    status: 'ACTIVE',
    statusMessage: null,
    expiresAt: row.expiresAt?.toISOString(),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    provider: { id: provider.id, providerId: provider.providerId, name: provider.name },
  })
  expect(oauthTokens.totalCount).toBe(1)
  expect(node).toEqual(token)

  const named = await change('updateOAuthToken', { tokenId: row.id, label: 'work', isDefault: true })
  expect(named).toEqual({
    __typename: 'UpdateOAuthTokenSuccess',
    token: { ...token, providerAccountLabel: 'work', isDefault: true, updatedAt: expect.any(String) },
  })
  const rest = await app.rest('GET', '/v2/auth/tokens', { key })
  expect(rest.body).toMatchObject([{ id: row.id, is_default: true, updated_at: named.token.updatedAt }])

  await storedConnection(app, row)
  expect(await change('deleteOAuthToken', { tokenId: row.id })).toEqual({
    __typename: 'DeleteOAuthTokenSuccess',
    tokenId: row.id,
  })
  expect(await change('deleteOAuthToken', { tokenId: row.id })).toEqual({
    __typename: 'NotFoundError',
    code: 'NOT_FOUND',
    message: `OAuth token ID ${row.id} not found.`,
  })
  expect((await read('{ oauthTokens { totalCount } }')).oauthTokens.totalCount).toBe(0)
})

test('a wait that is too long is rejected with the argument’s GraphQL name', async () => {
  const asked = `{ authorization(id: "${randomUUID()}", timeoutSeconds: 61) { status } }`
  const { errors } = await app.gql(asked, {}, { key })
  expect(errors).toMatchObject([
    {
      message: 'timeoutSeconds: Must be at most 60.',
      extensions: { code: 'VALIDATION_FAILED', issues: [{ path: ['timeoutSeconds'], code: 'less_than_equal' }] },
    },
  ])
})

test('a token that has ended says why', async () => {
  await stored({ row: { endedAt: new Date(), endedBecause: 'The provider has refused it.' } })
  const { oauthTokens } = await read('{ oauthTokens { nodes { status statusMessage } } }')
  expect(oauthTokens.nodes).toEqual([{ status: 'EXPIRED', statusMessage: 'The provider has refused it.' }])
})

test('an expired token that can’t be refreshed says what to do', async () => {
  await stored({ row: { expiresAt: new Date(Date.now() - 1000) }, content: { refreshToken: null } })
  // selected without the status
  const { oauthTokens } = await read('{ oauthTokens { nodes { statusMessage } } }')
  expect(oauthTokens.nodes).toEqual([
    { statusMessage: 'The provider gave no refresh token for it. Authenticate again.' },
  ])
})

test('the list has pages, newest first, and can be limited to one provider', async () => {
  const another = await storedProvider(app)
  const [first, second] = [await stored(), await stored()]
  const third = await stored({ provider: another })
  const list = async (args: object) => {
    const query = `query ($first: Int, $after: String, $providerId: ID) {
      oauthTokens(first: $first, after: $after, providerId: $providerId) {
        totalCount edges { cursor node { id } } pageInfo { hasNextPage endCursor } } }`
    const { totalCount, edges, pageInfo } = (await read(query, args)).oauthTokens
    return { totalCount, pageInfo, ids: edges.map((edge: { node: { id: string } }) => edge.node.id) }
  }
  const page = await list({ first: 2 })
  expect(page).toMatchObject({ totalCount: 3, ids: [third.id, second.id], pageInfo: { hasNextPage: true } })
  expect(await list({ first: 2, after: page.pageInfo.endCursor })).toMatchObject({
    ids: [first.id],
    pageInfo: { hasNextPage: false },
  })
  for (const providerId of [another.providerId, another.id])
    expect(await list({ providerId })).toMatchObject({ totalCount: 1, ids: [third.id] })
  expect(await list({ providerId: 'nobody' })).toMatchObject({ totalCount: 0, ids: [] })
})

test('a page with providers takes one statement, and no query reads the token texts', async () => {
  const { id } = await stored()
  await stored()
  for (const [query, statements] of [
    [`{ oauthTokens { nodes { ${TOKEN} } } }`, 1],
    ['{ oauthTokens { edges { cursor } } }', 1],
    ['{ oauthTokens { pageInfo { endCursor } totalCount } }', 2],
    [`{ node(id: "${id}") { id ... on OAuthToken { status } } }`, 2],
    [`{ nodes(ids: ["${id}"]) { id } }`, 2],
  ] as const) {
    await read(query)
    const sent = await countStatements(app.app.database, () => read(query))
    expect([query, sent.length]).toEqual([query, statements])
    expect(sent.join()).not.toMatch(/sealed|client_secret/)
  }
})

test('an invalid input is rejected with its path, and viewers can’t change a token', async () => {
  const { id: tokenId } = await stored()
  expect(await change('updateOAuthToken', { tokenId, label: '' })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'label'], code: 'string_too_short' }],
  })
  expect(await change('deleteOAuthToken', { tokenId: 'nonsense' })).toMatchObject({
    issues: [{ path: ['input', 'tokenId'], code: 'uuid_parsing' }],
  })
  const viewer = app.keys.viewer
  const theirs = await stored({ key: viewer })
  const forbidden = { __typename: 'ForbiddenError', code: 'FORBIDDEN' }
  expect(await change('updateOAuthToken', { tokenId: theirs.id }, viewer)).toMatchObject(forbidden)
  expect(await change('deleteOAuthToken', { tokenId: theirs.id }, viewer)).toMatchObject(forbidden)
})

test('a token is hidden from admins, other workspaces and other organizations', async () => {
  const { id } = await stored()
  const query = 'query ($id: ID!) { oauthTokens { totalCount nodes { id } } node(id: $id) { id } }'
  for (const whose of [app.keys.admin, app.sibling.keys.admin, app.other.keys.admin]) {
    expect(await read(query, { id }, whose)).toEqual({ oauthTokens: { totalCount: 0, nodes: [] }, node: null })
    for (const name of ['updateOAuthToken', 'deleteOAuthToken'] as const)
      expect(await change(name, { tokenId: id }, whose)).toMatchObject({ __typename: 'NotFoundError' })
  }
  expect(await change('deleteOAuthToken', { tokenId: randomUUID() })).toMatchObject({ __typename: 'NotFoundError' })
  expect((await read('{ oauthTokens { totalCount } }')).oauthTokens.totalCount).toBe(1)
})

test('only an admin deletes all tokens of a user who left', async () => {
  await Promise.all([stored(), stored()])
  const { subject } = (await app.context(key)).actor
  const removeAll = (input: object, whose: string) =>
    mutate(app, 'deleteOAuthTokensOfUser', 'deleted', input, { key: whose })
  expect(await removeAll({ userId: subject }, key)).toMatchObject({ __typename: 'ForbiddenError' })
  expect(await removeAll({ userId: '' }, app.keys.admin)).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'userId'], code: 'string_too_short' }],
  })
  expect(await removeAll({ userId: subject }, app.other.keys.admin)).toMatchObject({ deleted: 0 })
  expect(await removeAll({ userId: subject }, app.keys.admin)).toMatchObject({ deleted: 2 })
})
