/** Connections of agents to tokens over GraphQL: the rules of REST, with errors as members of the results. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OAuthProvider, OAuthToken, Prisma } from '../../src/generated/prisma/client.ts'
import { type Call, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { mutate } from './mutate.ts'

let app: TestApp
let provider: OAuthProvider
/** of the admin */
let token: OAuthToken
beforeAll(async () => {
  // no sweep: its statements would be counted
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
  provider = await storedProvider(app)
  token = await tokenOf(app.keys.admin, { label: 'Work' })
})
afterAll(() => app.close())

/** Creates a token for the key's owner. It ends with its access token. */
const tokenOf = (key: string, row: Partial<Prisma.OAuthTokenUncheckedCreateInput> = {}) =>
  storedToken(app, { provider, key, row: { scopes: ['read', 'write'], refreshable: false, ...row } })

const CONNECTION = `id agentId createdBy createdAt providerAccountLabel scopes expiresAt token { id } provider { id providerId }`

const change = (name: 'createConnection' | 'deleteConnection', input: object, call: Call = {}) =>
  mutate(app, name, name === 'deleteConnection' ? 'connectionId' : `connection { ${CONNECTION} }`, input, call)
const create = (agentId: string, oauthTokenId = token.id, call?: Call) =>
  change('createConnection', { agentId, oauthTokenId }, call)
const made = async (agentId: string, oauthTokenId?: string, call?: Call) =>
  (await create(agentId, oauthTokenId, call)).connection
const agentName = () => `agent-${randomUUID()}`
async function read(query: string, variables: Record<string, unknown>, call?: Call) {
  const { data, errors } = await app.gql(query, variables, call)
  expect(errors).toBeUndefined()
  return data
}
const LIST = `query ($agent: ID!, $first: Int, $after: String) {
  connections(agentId: $agent, first: $first, after: $after) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }`

test('a connection is created, read by its id and in the list, and deleted', async () => {
  const agent = agentName()
  const one = await made(agent)
  expect(one).toEqual({
    id: expect.any(String),
    agentId: agent,
    createdBy: (await app.context(app.keys.admin)).actor.subject,
    createdAt: expect.any(String),
    providerAccountLabel: 'Work',
    scopes: ['read', 'write'],
    expiresAt: token.expiresAt!.toISOString(),
    token: { id: token.id },
    provider: { id: provider.id, providerId: provider.providerId },
  })
  const found = await read(
    `query ($id: ID!, $agent: ID!) { node(id: $id) { __typename ... on AgentLink { ${CONNECTION} } }
      connections(agentId: $agent) { totalCount nodes { ${CONNECTION} } edges { node { id } } } }`,
    { id: one.id, agent },
  )
  expect(found).toEqual({
    node: { __typename: 'AgentLink', ...one },
    connections: { totalCount: 1, nodes: [one], edges: [{ node: { id: one.id } }] },
  })
  expect(await made(agent)).toEqual(one)
  expect(await change('deleteConnection', { agentId: agent, connectionId: one.id })).toEqual({
    __typename: 'DeleteConnectionSuccess',
    connectionId: one.id,
  })
  expect((await read('query ($id: ID!) { node(id: $id) { id } }', { id: one.id })).node).toBeNull()
})

describe('a call is rejected', () => {
  test('with the path of the invalid input member', async () => {
    expect(await create('a\nb')).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'agentId'], code: 'string_pattern_mismatch' }],
    })
    expect(await create('bot', 'x')).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'oauthTokenId'], code: 'uuid_parsing' }],
    })
    const { errors } = await app.gql(LIST, { agent: 'x'.repeat(256) })
    expect(errors).toMatchObject([
      { extensions: { code: 'VALIDATION_FAILED', issues: [{ path: ['agentId'], code: 'string_too_long' }] } },
    ])
  })

  test('for a missing token, an ended token or a role that is too low', async () => {
    const id = randomUUID()
    expect(await create('bot', id)).toMatchObject({
      __typename: 'NotFoundError',
      message: `OAuth token ID ${id} not found.`,
    })
    expect(await change('deleteConnection', { agentId: 'bot', connectionId: id })).toMatchObject({
      __typename: 'NotFoundError',
      message: `Connection ID ${id} not found.`,
    })
    const ended = await tokenOf(app.keys.admin, { endedAt: new Date(), endedBecause: 'revoked' })
    expect(await create('bot', ended.id)).toMatchObject({ __typename: 'ConflictError', code: 'TOKEN_EXPIRED' })
    const { keys } = app
    const one = await made('bot')
    for (const refused of [
      await create('bot', token.id, { key: keys.viewer }),
      await change('deleteConnection', { agentId: 'bot', connectionId: one.id }, { key: keys.viewer }),
    ]) {
      expect(refused).toMatchObject({ __typename: 'ForbiddenError' })
    }
  })

  test('for a token of another user, even from an admin', async () => {
    const { keys } = app
    const deployers = await tokenOf(keys.deployer)
    const agent = agentName()
    const theirs = await made(agent, deployers.id, { key: keys.deployer })
    expect(await create(agent, deployers.id)).toMatchObject({ __typename: 'NotFoundError' })
    expect(await change('deleteConnection', { agentId: agent, connectionId: theirs.id })).toMatchObject({
      __typename: 'NotFoundError',
    })
    expect(await read(LIST, { agent })).toMatchObject({ connections: { totalCount: 0, nodes: [] } })
    expect(await read('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [theirs.id, deployers.id] })).toEqual({
      nodes: [null, null],
    })
  })
})

describe('the list of connections', () => {
  test('has pages, newest first', async () => {
    const agent = agentName()
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift((await made(agent, (await tokenOf(app.keys.admin)).id)).id)
    const first = (await read(LIST, { agent, first: 2 })).connections
    expect(first).toMatchObject({
      totalCount: 3,
      nodes: [{ id: ids[0] }, { id: ids[1] }],
      pageInfo: { hasNextPage: true },
    })
    const rest = (await read(LIST, { agent, after: first.pageInfo.endCursor })).connections
    expect(rest).toMatchObject({ nodes: [{ id: ids[2] }], pageInfo: { hasNextPage: false } })
  })

  test('without an agent has the caller’s connections of all agents, and none of other users', async () => {
    const agents = [agentName(), agentName()]
    const mine = await tokenOf(app.keys.admin)
    for (const agent of agents) await made(agent, mine.id)
    const theirs = await made(agents[0]!, (await tokenOf(app.keys.deployer)).id, { key: app.keys.deployer })
    const all = await read('{ connections(first: 100) { totalCount nodes { id agentId token { id } } } }', {})
    const { nodes, totalCount } = all.connections
    expect(totalCount).toBe(nodes.length)
    const ofMine = nodes.filter(({ token: { id } }: { token: { id: string } }) => id === mine.id)
    expect(ofMine.map(({ agentId }: { agentId: string }) => agentId)).toEqual(agents.toReversed())
    expect(nodes.map(({ id }: { id: string }) => id)).not.toContain(theirs.id)
  })

  test('is empty for an unknown agent', async () => {
    expect((await read(LIST, { agent: agentName() })).connections).toMatchObject({ totalCount: 0, nodes: [] })
  })

  test('with tokens and providers takes one statement and reads no token text', async () => {
    const agent = agentName()
    for (let i = 0; i < 3; i++) await made(agent, (await tokenOf(app.keys.admin)).id)
    const query = `query ($agent: ID!) { connections(agentId: $agent) { nodes {
      ${CONNECTION} token { id scopes status provider { name } } provider { name } } } }`
    await read(query, { agent })
    const statements = await countStatements(app.app.database, () => read(query, { agent }))
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toMatch(/sealed|client_secret/)
  })
})
