/** Nothing of a tenant is seen or touched by another: every operation of the schema is tried with its ids and a stranger's key. */
import { OperationTypeNode } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment, listener } from '../support/factories.ts'
import { operations, type Victims } from './walk.ts'

/** Is in every text that belongs to the victim. */
const MARK = 'belongs-to-a'
let app: TestApp
let victims: Victims

/** The victim's ids as placeholders, so that tests can be listed before there is a server. */
const byType = ['Deployment', 'Revision', 'Listener', 'TracingProject', 'Tag', 'GitIntegration', 'ApiKey'] as const
const shape: Victims = {
  byName: {
    deploymentId: 'Deployment',
    revisionId: 'Revision',
    listenerId: 'Listener',
    integrationId: 'GitIntegration',
    apiKeyId: 'ApiKey',
    deploymentIds: ['Deployment'],
    tagValueIds: ['Tag'],
    ids: [...byType, 'Workspace', 'Organization'],
  },
  byType: Object.fromEntries([...byType, 'Workspace', 'Organization'].map((type) => [type, type])),
}
shape.byType.Node = 'Deployment'

beforeAll(async () => {
  app = await testApp()
  const { db } = app.app.core
  const { workspaceId, organizationId, integrationId } = app.tenant
  const { id } = await gitDeployment(app, { name: `${MARK}-deployment`, secrets: [{ name: 'S', value: MARK }] })
  await app.gql(
    `mutation ($id: ID!) { setDeploymentTags(input: { deploymentId: $id, tags: [{ key: "${MARK}", value: "x" }] }) { __typename } }`,
    { id },
  )
  const { latestRevisionId, tracingProjectId } = await db.deployment.findUniqueOrThrow({ where: { id } })
  const ids: Record<string, string> = {
    Deployment: id,
    Revision: latestRevisionId!,
    Listener: (await listener(app, { computeId: `${MARK}-cluster` })).id,
    TracingProject: tracingProjectId!,
    Tag: (await db.tag.findFirstOrThrow({ where: { workspaceId } })).id,
    GitIntegration: integrationId,
    ApiKey: (await db.apiKey.findFirstOrThrow({ where: { workspaceId }, orderBy: { createdAt: 'desc' } })).id,
    Workspace: workspaceId,
    Organization: organizationId,
  }
  victims = JSON.parse(JSON.stringify(shape), (_key, value) => ids[value] ?? value)
})
afterAll(() => app.close())

const fieldsOf = (kind: OperationTypeNode) => Object.keys(schema.getRootType(kind)!.getFields())
const operationOf = (kind: OperationTypeNode, name: string) =>
  operations(kind, victims).find((operation) => operation.name === name)!

/** Everything that is the victim's, as it is stored. */
async function stored() {
  const { db } = app.app.core
  const where = { workspaceId: app.tenant.workspaceId }
  return {
    deployments: await db.deployment.findMany({ where, include: { revisions: true, tags: true } }),
    listeners: await db.listener.findMany({ where }),
    tags: await db.tag.findMany({ where }),
    keys: await db.apiKey.findMany({ where, omit: { lastUsedAt: true } }),
    events: await db.event.count({ where }),
  }
}

describe.each([
  ['another organization', () => app.other.keys.admin],
  ['another workspace of the organization', () => app.sibling.keys.admin],
])('to an admin of %s', (_who, key) => {
  test.each(fieldsOf(OperationTypeNode.QUERY))('the query %s shows nothing', async (name) => {
    const { text, variables, named } = operationOf(OperationTypeNode.QUERY, name)
    const { data, errors } = await app.gql(text, variables, { key: key() })
    const shown = JSON.stringify(data)
    const own = key() === app.sibling.keys.admin ? [app.tenant.organizationId] : []
    for (const id of Object.values(victims.byType)) if (!own.includes(id)) expect(shown).not.toContain(id)
    expect(shown).not.toContain(MARK)
    for (const { extensions } of errors ?? []) expect(extensions.code).toBe('NOT_FOUND')
    // one resource by its id: nothing at all
    if (named && typeof variables.v0 === 'string') expect(data[name]).toBeNull()
  })

  test.each(fieldsOf(OperationTypeNode.MUTATION))('the mutation %s changes nothing', async (name) => {
    const before = await stored()
    const { text, variables, named } = operationOf(OperationTypeNode.MUTATION, name)
    const { data, errors } = await app.gql(text, variables, { key: key() })
    expect(errors).toBeUndefined()
    expect(await stored()).toEqual(before)
    const { __typename, results: outcomes } = data[name]
    if (outcomes) expect(outcomes).toMatchObject([{ deleted: false }])
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
  test.each(fieldsOf(OperationTypeNode.QUERY))('the same query %s shows it', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.QUERY, name)
    const { data, errors } = await app.gql(text, variables)
    expect(errors).toBeUndefined()
    const ids = Object.values(victims.byType)
    expect(ids.some((id) => JSON.stringify(data).includes(id))).toBe(true)
  })
})

test('nodes gives each id’s resource its type, and null for what is unknown', async () => {
  const ids = [...Object.values(victims.byType), '00000000-0000-4000-8000-000000000000', 'nonsense']
  const { data, errors } = await app.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
  expect(errors).toBeUndefined()
  const found = Object.entries(victims.byType).map(([type, id]) => ({
    __typename: type === 'Node' ? 'Deployment' : type,
    id,
  }))
  expect(data.nodes).toEqual([...found, null, null])
  const key = app.keys.viewer
  const { id } = await app.app.core.db.apiKey.findFirstOrThrow({ where: { workspaceId: app.tenant.workspaceId } })
  expect((await app.gql('query ($id: ID!) { node(id: $id) { id } }', { id }, { key })).data).toEqual({ node: null })
})
