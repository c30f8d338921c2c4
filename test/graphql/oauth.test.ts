/**
 * OAuth providers, tokens and connections over GraphQL: nodes by id alone, pages, and exact numbers of statements, none of
 * which reads a secret. test/contract has their rules.
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Call, newKey, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
let key: string
let provider: Awaited<ReturnType<typeof storedProvider>>
let token: Awaited<ReturnType<typeof storedToken>>
/** A provider, a token and a connection of the agent `support-bot`. */
let ids: string[]
beforeAll(async () => {
  key = await newKey(app.app.core, { ...app.tenant, role: 'deployer' })
  provider = await storedProvider(app, { clientSecret: 'sealed-secret' })
  token = await storedToken(app, { provider, key, row: { scopes: ['read'] } })
  ids = [provider.id, token.id, (await storedConnection(app, token, 'support-bot')).id]
  // the first call records the key's use in the background
  await read('{ __typename }')
})

async function read(query: string, variables: object = {}, call: Call = {}) {
  const { data, errors } = await app.gql(query, { ...variables }, { key, ...call })
  expect(errors).toBeUndefined()
  return data
}
async function counted(query: string, variables: object = {}) {
  let data = await read(query, variables)
  const statements = await countStatements(app.app.database, async () => {
    data = await read(query, variables)
  })
  for (const sql of statements) expect(sql).not.toMatch(/"sealed"|client_secret|code_verifier/)
  return { data, statements: statements.length }
}

const TOKEN = 'id providerAccountLabel scopes status provider { id providerId name }'

describe('nodes', () => {
  test.each([
    ['only the type', '__typename'],
    ['the id', '__typename id'],
    [
      'fields of each type',
      `__typename id ... on OAuthProvider { name } ... on OAuthToken { scopes provider { name } }
       ... on AgentLink { agentId token { id scopes } provider { name } }`,
    ],
  ])('with %s take one statement for the types and one per type', async (_what, selection) => {
    const { data, statements } = await counted(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids })
    const types = ['OAuthProvider', 'OAuthToken', 'AgentLink']
    expect(data.nodes).toMatchObject(types.map((__typename) => ({ __typename })))
    expect(statements).toBe(4)
  })

  test('are resolved with their relations; a provider’s name is no id of a node', async () => {
    const { data } = await counted(
      `query ($id: ID!) { node(id: $id) { id ... on AgentLink { agentId scopes token { id } provider { id } } } }`,
      { id: ids[2]!.toUpperCase() },
    )
    expect(data.node).toEqual({
      ...{ id: ids[2], agentId: 'support-bot', scopes: ['read'] },
      ...{ token: { id: ids[1] }, provider: { id: ids[0] } },
    })
    expect(await read('query ($id: ID!) { node(id: $id) { id } }', { id: provider.providerId })).toEqual({ node: null })
  })

  test('of tokens and connections are null for everyone but their owner', async () => {
    for (const { keys } of [app, app.sibling, app.other])
      expect(
        await read('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: ids.slice(1) }, { key: keys.admin }),
      ).toEqual({ nodes: [null, null] })
  })
})

describe('a page', () => {
  const idsOf = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id)
  const list = async (field: string, args: object = {}, call?: Call) => {
    const query = `query ($first: Int, $last: Int, $after: String) { page: ${field} { totalCount nodes { id }
      edges { cursor } pageInfo { hasNextPage endCursor } } }`
    return (await read(query, args, call)).page
  }
  const PAGE = '(first: $first, last: $last, after: $after)'
  /** Reads pages of two items. `made`: the ids, newest first. */
  async function pages(field: string, made: string[], call?: Call) {
    const first = await list(field, { first: 2 }, call)
    expect(first).toMatchObject({ totalCount: made.length, pageInfo: { hasNextPage: true } })
    const next = await list(field, { first: 2, after: first.pageInfo.endCursor }, call)
    expect([idsOf(first), idsOf(next)]).toEqual([made.slice(0, 2), made.slice(2)])
    expect(next.pageInfo.hasNextPage).toBe(false)
    expect(idsOf(await list(field, { last: 1 }, call))).toEqual(made.slice(-1))
  }

  test('of providers has those of the organization, newest first', async () => {
    const { organizationId } = app.other
    const made: string[] = []
    for (let i = 0; i < 3; i++) made.unshift((await storedProvider(app, { organizationId })).id)
    await pages(`oauthProviders${PAGE}`, made, { key: app.other.keys.viewer })
    expect(idsOf(await list(`oauthProviders${PAGE}`))).toEqual([provider.id])
  })

  test('of tokens and connections has the caller’s own, newest first', async () => {
    const call = { key: await newKey(app.app.core, { ...app.tenant, role: 'deployer' }) }
    const another = await storedProvider(app, { providerId: 'another' })
    const [tokens, connections]: string[][] = [[], []]
    for (const each of [provider, provider, another]) {
      const one = await storedToken(app, { provider: each, key: call.key })
      tokens!.unshift(one.id)
      connections!.unshift((await storedConnection(app, one, 'bot')).id)
    }
    await pages(`oauthTokens${PAGE}`, tokens!, call)
    expect(
      idsOf(await list('oauthTokens(first: $first, last: $last, after: $after, providerId: "another")', {}, call)),
    ).toEqual(tokens!.slice(0, 1))
    await pages(`connections(agentId: "bot", ${PAGE.slice(1)}`, connections!, call)
    // of all agents
    await pages(`connections${PAGE}`, connections!, call)
    expect(idsOf(await list(`connections${PAGE}`))).toEqual([ids[2]])
  })
})

test.each([
  ['{ oauthProviders(first: 3) { totalCount nodes { id name } } }', 2],
  ['query ($id: ID!) { oauthProvider(id: $id) { id name clientId authUrl } }', 1],
  [`{ oauthTokens { nodes { ${TOKEN} } } }`, 1],
  ['{ oauthTokens { edges { cursor } } }', 1],
  ['{ oauthTokens { pageInfo { endCursor } totalCount } }', 2],
  [`{ connections(agentId: "support-bot") { nodes { id agentId token { ${TOKEN} } provider { name } } } }`, 1],
])('%s takes an exact number of statements: %i', async (query, statements) => {
  expect((await counted(query, query.includes('$id') ? { id: provider.providerId } : {})).statements).toBe(statements)
})

test('a message of an ended token does not need its status', async () => {
  const call = { key: await newKey(app.app.core, { ...app.tenant, role: 'deployer' }) }
  await storedToken(app, {
    provider,
    ...call,
    row: { expiresAt: new Date(Date.now() - 1000) },
    content: { refreshToken: null },
  })
  const { oauthTokens } = await read('{ oauthTokens { nodes { statusMessage } } }', {}, call)
  expect(oauthTokens.nodes).toEqual([
    { statusMessage: 'The provider gave no refresh token for it. Authenticate again.' },
  ])
})

test('a wait that is too long is rejected with the argument’s GraphQL name', async () => {
  const { errors } = await app.gql(
    `{ authorization(id: "${randomUUID()}", timeoutSeconds: 61) { status } }`,
    {},
    { key },
  )
  expect(errors).toMatchObject([
    {
      message: 'timeoutSeconds: Must be at most 60.',
      extensions: { code: 'VALIDATION_FAILED', issues: [{ path: ['timeoutSeconds'], code: 'less_than_equal' }] },
    },
  ])
})

test('who created a provider is shown, and its client secret is no field', async () => {
  const { body } = await app.rest('POST', '/v2/auth/providers', {
    body: {
      ...{ provider_id: 'made', name: 'Made', client_id: 'x' },
      ...{ auth_url: 'https://a.example/authorize', token_url: 'https://a.example/token' },
    },
  })
  const { oauthProvider } = await read('query ($id: ID!) { oauthProvider(id: $id) { createdBy } }', { id: body.id })
  expect(oauthProvider.createdBy).toBe((await app.context(app.keys.admin)).actor.subject)
  const { errors } = await app.gql('{ oauthProviders { nodes { clientSecret } } }')
  expect(errors).toMatchObject([{ message: expect.stringContaining('Cannot query field "clientSecret"') }])
})
