/** `node` and `nodes` of OAuth providers, tokens and connections: by id alone, and never with their secrets. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'

let app: TestApp
let ids: string[]
beforeAll(async () => {
  // no sweep: its statements would be counted
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
  const provider = await storedProvider(app, { clientSecret: 'sealed-secret' })
  const token = await storedToken(app, { provider, key: app.keys.admin, row: { scopes: ['read'] } })
  ids = [provider.id, token.id, (await storedConnection(app, token, 'support-bot')).id]
  // the first call records the key's use in the background
  await app.gql('{ __typename }')
})
afterAll(() => app.close())

test.each([
  ['only the type', '__typename'],
  ['the id', '__typename id'],
  [
    'fields of each type',
    `__typename id ... on OAuthProvider { name } ... on OAuthToken { scopes provider { name } }
     ... on AgentLink { agentId token { id scopes } provider { name } }`,
  ],
])('nodes with %s take one statement for the types and one per type, none with a secret', async (_what, selection) => {
  let answer = { data: undefined, errors: undefined } as Awaited<ReturnType<TestApp['gql']>>
  const statements = await countStatements(app.app.database, async () => {
    answer = await app.gql(`query ($ids: [ID!]!) { nodes(ids: $ids) { ${selection} } }`, { ids })
  })
  expect(answer.errors).toBeUndefined()
  const types = ['OAuthProvider', 'OAuthToken', 'AgentLink']
  expect(answer.data.nodes).toMatchObject(types.map((__typename) => ({ __typename })))
  expect(statements).toHaveLength(4)
  for (const sql of statements) expect(sql).not.toMatch(/"sealed"|client_secret|code_verifier/)
})

test('a node is resolved with its relations', async () => {
  const { data, errors } = await app.gql(
    `query ($id: ID!) { node(id: $id) { id ... on AgentLink { agentId scopes token { id } provider { id } } } }`,
    { id: ids[2]!.toUpperCase() },
  )
  expect(errors).toBeUndefined()
  expect(data.node).toEqual({
    id: ids[2],
    agentId: 'support-bot',
    scopes: ['read'],
    token: { id: ids[1] },
    provider: { id: ids[0] },
  })
})
