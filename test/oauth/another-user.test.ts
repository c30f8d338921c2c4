/**
 * Tokens belong to one person in one workspace (docs/api-rules.md#who-is-calling, docs/oauth.md#rules). No other caller sees or
 * changes them. The tests try every GraphQL field and every REST operation about tokens, so new ones are covered automatically.
 */
import { randomUUID } from 'node:crypto'
import { OperationTypeNode } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { operations as fields, NODES, type Victims, victimsOf } from '../graphql/walk.ts'
import { newKey, useApp } from '../support/app.ts'
import { storedAuthorization, storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type Ids, pathOf } from '../support/one-of-each.ts'

/** Marks every text of the token. */
const MARK = 'belongs-to-the-first'
const AGENT = 'support-bot'
const app = useApp()
/** the owner: an admin of the whole organization, in workspace A */
let ids: Ids
let victims: Victims
let owner: Caller
/** other callers, and the owner in another workspace */
let others: Record<(typeof WHO)[number], Caller>
let subject: string

interface Caller {
  key: string
  tenant: string
}

const WHO = [
  'a second admin',
  'an admin of the whole organization',
  'a deployer',
  'a viewer',
  'the owner in another workspace',
] as const

beforeAll(async () => {
  const { keys, tenant } = app
  const { organizationId, workspaceId } = tenant
  const newAdmin = (organizationWide: boolean) =>
    newKey(app.app.core, { organizationId, workspaceId, role: 'admin', organizationWide })
  owner = { key: await newAdmin(true), tenant: workspaceId }
  others = {
    'a second admin': { key: await newAdmin(false), tenant: workspaceId },
    'an admin of the whole organization': { key: keys.organization, tenant: workspaceId },
    'a deployer': { key: keys.deployer, tenant: workspaceId },
    'a viewer': { key: keys.viewer, tenant: workspaceId },
    'the owner in another workspace': { ...owner, tenant: app.sibling.workspaceId },
  }
  const provider = await storedProvider(app)
  const row = { label: MARK, accountLabel: MARK, accountId: MARK, scopes: ['read', MARK], isDefault: true }
  const token = await storedToken(app, { ...owner, provider, row })
  subject = token.subject
  const none = [...NODES, 'Workspace', 'Organization', 'Login', 'EndpointDelivery'].map((type) => [type, randomUUID()])
  ids = {
    ...(Object.fromEntries(none) as Ids),
    OAuthProvider: provider.id,
    OAuthToken: token.id,
    AgentLink: (await storedConnection(app, token, AGENT)).id,
    Authorization: (await storedAuthorization(app, token)).id,
    Agent: AGENT,
  }
  victims = victimsOf(ids)
})

async function stored() {
  const { db } = app.app.core
  const where = { subject, workspaceId: app.tenant.workspaceId }
  return {
    tokens: await db.oAuthToken.findMany({ where, include: { connections: true } }),
    authorizations: await db.oAuthAuthorization.findMany({ where }),
  }
}

function expectNothingIn(text: string) {
  for (const one of [ids.OAuthToken, ids.AgentLink, ids.Authorization, MARK]) expect(text).not.toContain(one)
}

// the exception: an admin deletes all tokens of a user (test/contract/oauth-tokens.test.ts)
const ofTokens = operations.filter(
  ({ tag, operationId }) => ['OAuth tokens', 'Agents'].includes(tag) && operationId !== 'deleteOAuthTokensOfUser',
)

describe.each(WHO)('%s', (who) => {
  const call = () => others[who]

  test.each(ofTokens.map(({ operationId, method, path }) => [operationId, method, path] as const))(
    'gets nothing by %s',
    async (operationId, method, path) => {
      const before = await stored()
      const target = pathOf(path, ids)
      expect(target).not.toContain('{')
      const body = { provider: ids.OAuthProvider, scopes: ['read'], oauth_token_id: ids.OAuthToken, label: 'mine' }
      const answer = await app.rest(method, target, { ...call(), ...(BODY.includes(method) ? { body } : {}) })
      expect(await stored()).toEqual(before)
      // the 404 message contains the id
      if (answer.status !== 404) expectNothingIn(answer.text)
      const mayNot = answer.status === 403 && (who === 'a viewer' || operationId === 'issueAccessToken')
      if (mayNot || answer.status === 404) return
      expect([answer.status, answer.body]).toEqual([200, OF_THEIR_OWN[operationId]])
    },
  )

  const fieldsOf = (kind: OperationTypeNode) => Object.keys(schema.getRootType(kind)!.getFields())
  const operationOf = (kind: OperationTypeNode, name: string) => fields(kind, victims).find((one) => one.name === name)!

  test.each(fieldsOf(OperationTypeNode.QUERY))('sees nothing by the query %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.QUERY, name)
    const { data } = await app.gql(text, variables, call())
    expectNothingIn(JSON.stringify(data))
  })

  test.each(fieldsOf(OperationTypeNode.MUTATION))('changes nothing by the mutation %s', async (name) => {
    const before = await stored()
    const { text, variables } = operationOf(OperationTypeNode.MUTATION, name)
    const { data, errors } = await app.gql(text, variables, call())
    expect(errors).toBeUndefined()
    expect(await stored()).toEqual(before)
    if (!['NotFoundError', 'ConflictError'].includes(data[name].__typename)) expectNothingIn(JSON.stringify(data))
  })

  test('does not find the token by its id', async () => {
    const { data, errors } = await app.gql(
      `query ($ids: [ID!]!, $token: ID!, $connection: ID!) {
        nodes(ids: $ids) { id } token: node(id: $token) { id } connection: node(id: $connection) { id } }`,
      {
        ids: [ids.OAuthToken, ids.AgentLink, ids.Authorization],
        token: ids.OAuthToken,
        connection: ids.AgentLink,
      },
      call(),
    )
    expect(errors).toBeUndefined()
    expect(data).toEqual({ nodes: [null, null, null], token: null, connection: null })
  })
})

const BODY = ['POST', 'PATCH']

/** The response to callers without any token. */
const OF_THEIR_OWN: Record<string, unknown> = {
  listOAuthTokens: [],
  listConnections: { data: [] },
  authenticate: {
    status: 'pending',
    url: expect.stringMatching(/^https:\/\/provider\.example\/authorize\?/),
    auth_id: expect.any(String),
    oauth_token_id: null,
  },
}

test('the owner sees the whole token', async () => {
  const rest = await app.rest('GET', '/v2/auth/tokens', owner)
  expect(rest.body).toMatchObject([{ id: ids.OAuthToken }])
  const linked = await app.rest('GET', `/v2/auth/agents/${AGENT}/connections`, owner)
  expect(linked.body).toMatchObject({ data: [{ id: ids.AgentLink }] })
  expect((await app.rest('GET', `/v2/auth/wait/${ids.Authorization}`, owner)).body).toMatchObject({
    oauth_token_id: ids.OAuthToken,
  })
  const all = [ids.OAuthProvider, ids.OAuthToken, ids.AgentLink]
  const { data } = await app.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids: all }, owner)
  expect(data.nodes.map(({ __typename }: { __typename: string }) => __typename)).toEqual([
    'OAuthProvider',
    'OAuthToken',
    'AgentLink',
  ])
})

test('an admin who authenticates for another person learns only whether a token exists', async () => {
  const admin = others['a second admin']
  const { body, text } = await app.rest('POST', '/v2/auth/authenticate', {
    ...admin,
    body: { provider: ids.OAuthProvider, scopes: ['read'], agent_id: AGENT, user_id: subject },
  })
  expect(body).toEqual({ status: 'completed', url: null, auth_id: null, oauth_token_id: ids.OAuthToken })
  expect(text).not.toContain(MARK)
  const { data } = await app.gql(
    `mutation ($input: AuthenticateInput!) { authenticate(input: $input) { ... on AuthenticateSuccess {
      authorization { status oauthToken { id } } } } }`,
    { input: { provider: ids.OAuthProvider, scopes: ['read'], agentId: AGENT, userId: subject } },
    admin,
  )
  expect(data.authenticate.authorization).toEqual({ status: 'completed', oauthToken: null })
})
