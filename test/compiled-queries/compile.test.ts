/** Hot reads answer as Pothos does, byte by byte, and in one statement. */
import { getOperationAST, getVariableValues, graphql, parse, validate } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import {
  type CompiledAnswer,
  type CompiledQuery,
  compileQuery,
} from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { createRevision } from '../../src/domain/deployments/update.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'

let app: TestApp
let ids: string[]
beforeAll(async () => {
  // no sweep: its statements would be counted
  app = await testApp({ settings: { SWEEP_SECONDS: '3600' } })
  const { id } = await listener(app)
  const made = [
    await gitDeployment(app, { name: 'one', source_config: { resource_spec: { cpu: 0.5, labels: { a: 'b' } } } }),
    await gitDeployment(app, { name: 'two "quoted"' }),
    await imageDeployment(app, { name: 'three', source_config: { listener_id: id } }),
  ]
  ids = made.map((one) => one.id)
  const ctx = await app.context(app.keys.admin)
  for (let i = 0; i < 4; i++) await createRevision(ctx, { path: { deployment_id: ids[0] }, body: {} })
})
afterAll(() => app.close())

/** The plan of a document; null: it is not hot. */
function planOf(source: string): CompiledQuery | null {
  const document = parse(source)
  expect(validate(schema, document)).toEqual([])
  return compileQuery(schema, document, getOperationAST(document)!)
}

function coerced(source: string, variables: Record<string, unknown>): Record<string, unknown> {
  const { variableDefinitions = [] } = getOperationAST(parse(source))!
  const { coerced: values } = getVariableValues(schema, variableDefinitions, variables)
  return values!
}

/** What a resolver is given, at a moment that stands still. */
async function context(): Promise<GraphQLContext> {
  const ctx = await app.context(app.keys.admin)
  const now = ctx.clock()
  return { ...ctx, clock: () => now } as unknown as GraphQLContext
}

/** Reads both ways, compares, and answers with the hot one. */
async function compared(source: string, variables: Record<string, unknown> = {}): Promise<CompiledAnswer> {
  const plan = planOf(source)
  if (!plan) throw new Error('is not hot')
  const ctx = await context()
  let hot: CompiledAnswer | undefined
  const statements = await countStatements(app.app.database, async () => {
    hot = await plan.run(ctx, coerced(source, variables))
  })
  const slow = await graphql({ schema, source, variableValues: variables, contextValue: ctx })
  expect(slow.errors).toBeUndefined()
  expect(hot!.data).toBe(JSON.stringify(slow.data))
  expect(statements).toHaveLength(1)
  return hot!
}

test('the list of a dashboard is one statement, with aliases, fragments and everything around a deployment', async () => {
  const { data } = await compared(
    `query ($n: Int, $tags: Boolean! = true) { list: deployments(first: $n) { __typename
      edges { cursor node { ... on Node { id } name ...Around latestRevision { id status deployment { name } } } }
      nodes { status statusMessage reason reasonSince serving url health { ready desired message reason observedAt }
        tags @include(if: $tags) { key value } secretReferences { name }
        newest: revisions(first: 2) { nodes { number createdAt } edges { cursor } pageInfo { endCursor hasNextPage } }
        oldest: revisions(last: 1, status: [CREATING, SKIPPED]) { nodes { number status } pageInfo { hasPreviousPage } }
        sourceConfig { repoUrl resourceSpec { cpu labels } listenerConfig { k8sNamespace } } }
      pageInfo { __typename startCursor endCursor hasNextPage hasPreviousPage } } }
    fragment Around on Deployment { tenantId source createdAt updatedAt version imageVersion
      sourceRevisionConfig { repoRef } listener { id status lastSeenAt computeType computeConfig { k8sNamespaces } }
      tracingProject { name } activeRevision { number } latestRevision { reason sourceRevisionConfig { repoRef } } }`,
    { n: 2 },
  )
  expect(JSON.parse(data).list.nodes).toHaveLength(2)
})

test('one deployment with its revisions, and one revision, are one statement each', async () => {
  const one = await compared(
    `query ($id: ID!, $after: String) { deployment(id: $id) { id name revisions(first: 3, after: $after) {
      nodes { number status createdAt } pageInfo { endCursor } } } }`,
    { id: ids[0] },
  )
  const { revisions } = JSON.parse(one.data).deployment
  expect(revisions.nodes).toHaveLength(3)
  await compared(
    `query ($id: ID!, $after: String) { deployment(id: $id) { revisions(first: 3, after: $after) {
      nodes { id number sourceRevisionConfig { repoRef repoCommitSha } } pageInfo { hasPreviousPage hasNextPage } } } }`,
    { id: ids[0], after: revisions.pageInfo.endCursor },
  )
  const { data } = await compared('query ($id: ID!) { deployment(id: $id) { latestRevision { id } } }', { id: ids[1] })
  const { id } = JSON.parse(data).deployment.latestRevision
  await compared(
    'query ($id: ID!) { revision(id: $id) { __typename id number deployment { name listener { id } } } }',
    {
      id,
    },
  )
})

test('a total is counted by the statement of its page; while nothing has changed, it is not counted again', async () => {
  const list = 'query ($first: Int) { deployments(first: $first) { totalCount totalCountIsEstimate nodes { name } } }'
  const totals = async (first: number) => JSON.parse((await compared(list, { first })).data).deployments
  expect(await totals(1)).toMatchObject({ totalCount: 3, totalCountIsEstimate: false })
  expect(await totals(2)).toMatchObject({ totalCount: 3 })
  const four = await gitDeployment(app, { name: 'four' })
  expect(await totals(1)).toMatchObject({ totalCount: 4 })
  await app.rest('DELETE', `/v2/deployments/${four.id}`)
  await compared('{ deployments(filter: { name: "two \\"quoted\\"" }) { totalCount } }')
  await compared(
    '{ deployments { nodes { revisions { totalCount } some: revisions(status: QUEUED) { totalCount } } } }',
  )
  // there is no row to tell it with
  const none = await context()
  const { data } = await planOf('{ deployments(first: 0, filter: { name: "nobody" }) { totalCount } }')!.run(none, {})
  expect(data).toBe('{"deployments":{"totalCount":0}}')
})

test('listeners with their deployments, one of them, and tags are one statement each', async () => {
  const { data } = await compared(`{ listeners(first: 5) { totalCount nodes { id status computeId
    deployments(first: 2) { totalCount nodes { name latestRevision { status } } pageInfo { hasNextPage endCursor } } } } }`)
  const [{ id, deployments }] = JSON.parse(data).listeners.nodes
  expect(deployments.totalCount).toBe(1)
  await compared('query ($id: ID!) { listener(id: $id) { computeId lastSeenAt deployments { nodes { id } } } }', { id })
  await compared('{ tags { totalCount totalCountIsEstimate edges { cursor node { key value } } } }')
})

test('an answer says until when it holds: as long as its listener may be silent without being called so', async () => {
  const { expiresAt: holdsUntil } = await compared('{ deployments { nodes { name status } } }')
  expect(holdsUntil!.getTime()).toBeGreaterThan(Date.now())
  expect((await compared('{ deployments { nodes { name createdAt } } }')).expiresAt).toBeNull()
})

test('secrets, events and mutations are not hot', () => {
  for (const source of [
    '{ deployments { nodes { secrets { name } } } }',
    '{ deployments { nodes { events { nodes { type } } } } }',
    '{ deployments { nodes { id } } viewer { role } }',
    `mutation { deleteDeployment(input: { deploymentId: "${crypto.randomUUID()}" }) { __typename } }`,
  ])
    expect(planOf(source), source).toBeNull()
})

test('what goes wrong is left to Pothos', async () => {
  const wrong = async (source: string, variables: Record<string, unknown> = {}) =>
    expect(planOf(source)!.run(await context(), coerced(source, variables))).rejects.toThrow()
  await wrong('query ($id: ID!) { deployment(id: $id) { id } }', { id: crypto.randomUUID() })
  await wrong('query ($id: ID!) { deployment(id: $id) { id } }', { id: 'nonsense' })
  await wrong('query ($after: String) { deployments(after: $after) { nodes { id } } }', { after: 'nonsense' })
  await wrong('{ deployments(first: 101) { nodes { id } } }')
  await wrong('query ($s: Boolean = true) { deployments { __typename nodes @include(if: $s) { id } } }', { s: null })
  await wrong('query ($s: Boolean = true) { deployments { __typename nodes @skip(if: $s) { id } } }', { s: null })
  await wrong('query ($s: Boolean = true) { deployments { id: __typename @include(if: false) @skip(if: $s) } }', {
    s: null,
  })
  await wrong('query ($s: Boolean!) { deployments { nodes { id secrets @include(if: $s) { name } } } }', { s: true })
})
