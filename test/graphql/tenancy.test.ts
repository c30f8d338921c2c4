/** Tenants are isolated: every operation of the schema is called with the victim's ids and a stranger's key. */
import { OperationTypeNode } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { useApp } from '../support/app.ts'
import { agentKey } from '../support/factories.ts'
import { oneOfEach } from '../support/one-of-each.ts'
import { NODES, operations, type Victims, victimsOf } from './walk.ts'

/** A marker in every text of the victim. */
const MARK = 'belongs-to-a'
/** A marker in every text of the victim's organization. */
const ORGANIZATION_MARK = 'organization-of-a'
/** A shared name: each tenant has its own resource of this name. */
const AGENT = 'support-bot'
const app = useApp()
let victims: Victims
/** keys of the strangers' own agents */
let agents: Record<string, string>

beforeAll(async () => {
  const ids = await oneOfEach(app, { mark: MARK, ofOrganization: ORGANIZATION_MARK, agent: AGENT })
  victims = victimsOf(ids)
  // silent and announced as such, so that the clock changes nothing during the tests
  await app.app.core.db.listener.updateMany({ data: { lastSeenAt: new Date(0), toldSilent: true } })
  agents = {
    [app.other.keys.admin]: await agentKey(app, AGENT, app.other),
    [app.sibling.keys.admin]: await agentKey(app, AGENT, app.sibling),
  }
})

const fieldsOf = (kind: OperationTypeNode) => Object.keys(schema.getRootType(kind)!.getFields())
const operationOf = (kind: OperationTypeNode, name: string) =>
  operations(kind, victims).find((operation) => operation.name === name)!

/** All stored rows of the victim. */
async function stored() {
  const { db } = app.app.core
  const where = { workspaceId: app.tenant.workspaceId }
  return {
    deployments: await db.deployment.findMany({ where, include: { revisions: true, tags: true } }),
    listeners: await db.listener.findMany({ where }),
    tags: await db.tag.findMany({ where }),
    keys: await db.apiKey.findMany({ where, omit: { lastUsedAt: true } }),
    logins: await db.login.findMany(),
    rules: await db.alertRule.findMany({ where, include: { alerts: true } }),
    endpoints: await db.webhookEndpoint.findMany({ where, include: { deliveries: true } }),
    sessions: await db.session.findMany({ where, omit: { lastUsedAt: true } }),
    providers: await db.oAuthProvider.findMany({
      where: { id: victims.byType.OAuthProvider },
      omit: { updatedAt: true },
    }),
    tokens: await db.oAuthToken.findMany({ where, include: { connections: true } }),
    authorizations: await db.oAuthAuthorization.findMany({ where }),
    events: await db.event.count({ where }),
  }
}

/** Resources that all workspaces of the victim's organization share. */
const sharedWith = (key: string) =>
  key === app.sibling.keys.admin ? [app.tenant.organizationId, victims.byType.OAuthProvider!, ORGANIZATION_MARK] : []

/** The expected answers about a provider of the whole organization that the victim's tokens use. */
const OF_THE_ORGANIZATION: Record<string, string> = {
  // the victim's tokens use it, so this needs a key of the organization
  updateOAuthProvider: 'ForbiddenError',
  deleteOAuthProvider: 'ForbiddenError',
  authenticate: 'AuthenticateSuccess',
  issueAccessToken: 'ConflictError',
}

describe.each([
  ['another organization', () => app.other.keys.admin],
  ['another workspace of the organization', () => app.sibling.keys.admin],
])('to an admin of %s', (_who, key) => {
  test.each(fieldsOf(OperationTypeNode.QUERY))('the query %s shows nothing', async (name) => {
    const { text, variables, named } = operationOf(OperationTypeNode.QUERY, name)
    const { data, errors } = await app.gql(text, variables, { key: key() })
    const shown = JSON.stringify(data)
    const shared = sharedWith(key())
    for (const text of [...Object.values(victims.byType), MARK, ORGANIZATION_MARK])
      if (text !== AGENT && !shared.includes(text)) expect(shown).not.toContain(text)
    for (const { extensions } of errors ?? []) expect(extensions.code).toBe('NOT_FOUND')
    // a resource named by its id gives nothing at all
    if (!named || Array.isArray(data?.[name]) || (shared.length > 0 && name === 'oauthProvider')) return
    if (data?.[name]?.nodes) expect(data[name]).toMatchObject({ totalCount: 0, nodes: [] })
    else if (data?.[name]?.total !== undefined) expect(data[name]).toMatchObject({ total: 0, byListener: [] })
    else expect(data?.[name] ?? null).toBeNull()
  })

  test.each(fieldsOf(OperationTypeNode.MUTATION))('the mutation %s changes nothing', async (name) => {
    const before = await stored()
    const { text, variables, named } = operationOf(OperationTypeNode.MUTATION, name)
    const caller = name === 'issueAccessToken' ? agents[key()]! : key()
    const { data, errors } = await app.gql(text, variables, { key: caller })
    expect(errors).toBeUndefined()
    expect(await stored()).toEqual(before)
    const { __typename, results: outcomes } = data[name]
    const answer = sharedWith(key()).length > 0 ? OF_THE_ORGANIZATION[name] : undefined
    if (answer) expect(__typename).toBe(answer)
    else if (outcomes) expect(outcomes).toMatchObject([{ deleted: false }])
    else if (named) expect(__typename).toBe('NotFoundError')
  })

  test.each(fieldsOf(OperationTypeNode.SUBSCRIPTION))('the subscription %s is refused', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.SUBSCRIPTION, name)
    const headers = { accept: 'text/event-stream' }
    const answer = await app.gql(text, variables, { key: key(), headers })
    expect(answer.text).toContain('"code":"NOT_FOUND"')
    expect(answer.text).not.toContain('"data":{')
  })
})

describe('to the tenant itself', () => {
  // `server` has no data of a tenant
  test.each(fieldsOf(OperationTypeNode.QUERY).filter((name) => name !== 'server'))(
    'the same query %s shows it',
    async (name) => {
      const { text, variables } = operationOf(OperationTypeNode.QUERY, name)
      const { data, errors } = await app.gql(text, variables)
      expect(errors).toBeUndefined()
      const ids = Object.values(victims.byType)
      expect(ids.some((id) => JSON.stringify(data).includes(id))).toBe(true)
    },
  )
})

test('nodes returns each resource with its type, and null for unknown ids', async () => {
  const types = [...NODES, 'Workspace', 'Organization']
  const ids = [...types.map((type) => victims.byType[type]), '00000000-0000-4000-8000-000000000000', 'nonsense']
  const { data, errors } = await app.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
  expect(errors).toBeUndefined()
  const found = types.map((type) => ({ __typename: type, id: victims.byType[type] }))
  expect(data.nodes).toEqual([...found, null, null])
  const key = app.keys.viewer
  const { id } = await app.app.core.db.apiKey.findFirstOrThrow({ where: { workspaceId: app.tenant.workspaceId } })
  expect((await app.gql('query ($id: ID!) { node(id: $id) { id } }', { id }, { key })).data).toEqual({ node: null })
})
