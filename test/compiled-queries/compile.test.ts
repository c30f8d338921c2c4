/** Compiled queries answer like the resolvers, byte for byte, with one statement. */
import { getOperationAST, getVariableValues, graphql, parse, validate } from 'graphql'
import { beforeAll, expect, test } from 'vitest'
import type { GraphQLContext } from '../../src/api/graphql/builder/context.ts'
import {
  type CompiledAnswer,
  type CompiledQuery,
  compileQuery,
} from '../../src/api/graphql/compiled-queries/compile.ts'
import { schema } from '../../src/api/graphql/schema.ts'
import { createRevision } from '../../src/domain/deployments/update.ts'
import { useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
let ids: string[]
beforeAll(async () => {
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

/** Compiles a document. Null: it can't be compiled. */
function compile(source: string): CompiledQuery | null {
  const document = parse(source)
  expect(validate(schema, document)).toEqual([])
  return compileQuery(schema, document, getOperationAST(document)!)
}

function coerced(source: string, variables: Record<string, unknown>): Record<string, unknown> {
  const { variableDefinitions = [] } = getOperationAST(parse(source))!
  const { coerced: values } = getVariableValues(schema, variableDefinitions, variables)
  return values!
}

/** A resolver's context with a fixed clock. */
async function context(): Promise<GraphQLContext> {
  const ctx = await app.context(app.keys.admin)
  const now = ctx.clock()
  return { ...ctx, clock: () => now } as unknown as GraphQLContext
}

/** Executes both ways, compares the answers, and returns the compiled one. */
async function runBoth(source: string, variables: Record<string, unknown> = {}): Promise<CompiledAnswer> {
  const compiled = compile(source)
  if (!compiled) throw new Error('can not be compiled')
  const ctx = await context()
  let result: CompiledAnswer | undefined
  const statements = await countStatements(app.app.database, async () => {
    result = await compiled.run(ctx, coerced(source, variables))
  })
  const expected = await graphql({ schema, source, variableValues: variables, contextValue: ctx })
  expect(expected.errors).toBeUndefined()
  expect(result!.data).toBe(JSON.stringify(expected.data))
  expect(statements).toHaveLength(1)
  return result!
}

test('the list of a dashboard takes one statement, with aliases, fragments and all relations of a deployment', async () => {
  const { data } = await runBoth(
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

test('one deployment with its revisions takes one statement, and so does one revision', async () => {
  const one = await runBoth(
    `query ($id: ID!, $after: String) { deployment(id: $id) { id name revisions(first: 3, after: $after) {
      nodes { number status createdAt } pageInfo { endCursor } } } }`,
    { id: ids[0] },
  )
  const { revisions } = JSON.parse(one.data).deployment
  expect(revisions.nodes).toHaveLength(3)
  await runBoth(
    `query ($id: ID!, $after: String) { deployment(id: $id) { revisions(first: 3, after: $after) {
      nodes { id number sourceRevisionConfig { repoRef repoCommitSha } } pageInfo { hasPreviousPage hasNextPage } } } }`,
    { id: ids[0], after: revisions.pageInfo.endCursor },
  )
  const { data } = await runBoth('query ($id: ID!) { deployment(id: $id) { latestRevision { id } } }', { id: ids[1] })
  const { id } = JSON.parse(data).deployment.latestRevision
  await runBoth('query ($id: ID!) { revision(id: $id) { __typename id number deployment { name listener { id } } } }', {
    id,
  })
})

test('a total is counted by the statement of its page, and not again while nothing changes', async () => {
  const list = 'query ($first: Int) { deployments(first: $first) { totalCount totalCountIsEstimate nodes { name } } }'
  const totals = async (first: number) => JSON.parse((await runBoth(list, { first })).data).deployments
  expect(await totals(1)).toMatchObject({ totalCount: 3, totalCountIsEstimate: false })
  expect(await totals(2)).toMatchObject({ totalCount: 3 })
  const four = await gitDeployment(app, { name: 'four' })
  expect(await totals(1)).toMatchObject({ totalCount: 4 })
  await app.rest('DELETE', `/v2/deployments/${four.id}`)
  await runBoth('{ deployments(filter: { name: "two \\"quoted\\"" }) { totalCount } }')
  await runBoth('{ deployments { nodes { revisions { totalCount } some: revisions(status: QUEUED) { totalCount } } } }')
  // no row returned the version
  const none = await context()
  const { data } = await compile('{ deployments(first: 0, filter: { name: "nobody" }) { totalCount } }')!.run(none, {})
  expect(data).toBe('{"deployments":{"totalCount":0}}')
})

test('listeners with deployments, one listener, and tags take one statement each', async () => {
  const { data } = await runBoth(`{ listeners(first: 5) { totalCount nodes { id status computeId
    deployments(first: 2) { totalCount nodes { name latestRevision { status } } pageInfo { hasNextPage endCursor } } } } }`)
  const [{ id, deployments }] = JSON.parse(data).listeners.nodes
  expect(deployments.totalCount).toBe(1)
  await runBoth('query ($id: ID!) { listener(id: $id) { computeId lastSeenAt deployments { nodes { id } } } }', { id })
  await runBoth('{ tags { totalCount totalCountIsEstimate edges { cursor node { key value } } } }')
})

test('an answer expires when its listener would become OFFLINE', async () => {
  const { expiresAt: holdsUntil } = await runBoth('{ deployments { nodes { name status } } }')
  expect(holdsUntil!.getTime()).toBeGreaterThan(Date.now())
  expect((await runBoth('{ deployments { nodes { name createdAt } } }')).expiresAt).toBeNull()
})

test('secrets, events and mutations are not compiled', () => {
  for (const source of [
    '{ deployments { nodes { secrets { name } } } }',
    '{ deployments { nodes { events { nodes { type } } } } }',
    '{ deployments { nodes { id } } viewer { role } }',
    `mutation { deleteDeployment(input: { deploymentId: "${crypto.randomUUID()}" }) { __typename } }`,
  ])
    expect(compile(source), source).toBeNull()
})

test('errors are left to the resolvers', async () => {
  const wrong = async (source: string, variables: Record<string, unknown> = {}) =>
    expect(compile(source)!.run(await context(), coerced(source, variables))).rejects.toThrow()
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
