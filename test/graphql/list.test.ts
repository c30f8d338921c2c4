/** The list of deployments: keyset pages, filters, orders, and the exact number of SQL statements per query shape. */
import { beforeAll, describe, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { createRevision } from '../../src/domain/deployments/update.ts'
import { type TestApp, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, imageBody, listener } from '../support/factories.ts'

const SIZE = 50
// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
/** ids, newest first */
const ids: string[] = []

beforeAll(async () => {
  // the first call records the key's use in the background
  await app.gql('{ __typename }')
  const ctx = await app.context(app.keys.admin)
  const { id: listenerId } = await listener(app)
  for (let i = 0; i < SIZE; i++) {
    const name = `app-${String(i).padStart(2, '0')}`
    const body = i % 2 ? gitBody(app.tenant, { name }) : imageBody({ name, source_config: { listener_id: listenerId } })
    const { deploymentId: id } = await createDeployment(ctx, { body })
    for (let n = 0; n < 3; n++) await createRevision(ctx, { path: { deployment_id: id }, body: {} })
    ids.unshift(id)
  }
})

/** Runs a query and counts its statements. A first run warms up the authentication cache. */
async function counted(query: string, variables: Record<string, unknown> = {}) {
  await app.gql('{ __typename }')
  let answer = { data: undefined } as Awaited<ReturnType<TestApp['gql']>>
  const statements = await countStatements(app.app.database, async () => {
    answer = await app.gql(query, variables)
  })
  expect(answer.errors).toBeUndefined()
  return { data: answer.data, statements: statements.length }
}

describe('the number of SQL statements of a list', () => {
  test('is one for 50 deployments with latest revision, active revision and listener', async () => {
    const { data, statements } = await counted(`{ deployments(first: 50) { edges { cursor node {
      id name status sourceConfig { repoUrl } sourceRevisionConfig { repoRef } secrets { name }
      latestRevision { id status } activeRevision { id } listener { id status } } } pageInfo { hasNextPage } } }`)
    expect(data.deployments.edges).toHaveLength(SIZE)
    expect(data.deployments.edges[1].node.listener).not.toBeNull()
    expect(statements).toBe(1)
  })

  test('is one with serving, health and the reason', async () => {
    const { data, statements } = await counted(`{ deployments(first: 50) { nodes {
      status serving whyNotLive lastChange { at what actor { kind name } changed } statusMessage reason reasonSince health { ready desired message reason observedAt }
      latestRevision { number status reason reasonSince } listener { computeId } } } }`)
    expect(data.deployments.nodes).toHaveLength(SIZE)
    expect(data.deployments.nodes[0]).toMatchObject({
      serving: false,
      whyNotLive: expect.any(String),
      lastChange: { what: 'UPDATED', actor: { kind: 'api_key' } },
      reason: expect.any(String),
      health: { ready: 0, desired: 1, reason: expect.any(String), observedAt: null },
      latestRevision: { number: 4, reason: expect.any(String) },
    })
    expect(statements).toBe(1)
  })

  test('is one for filtered counts of an overview, which cover only this workspace', async () => {
    const { data, statements } = await counted(`{
      deploymentCounts(filter: { latestRevisionStatus: [CREATING, BUILDING, QUEUED], serving: false }) {
        total serving notServing failing waiting byStatus { status count } byLatestRevisionStatus { status count }
        bySource { source count } byListener { listenerId count } } }`)
    expect(statements).toBe(1)
    expect(data.deploymentCounts).toMatchObject({
      total: SIZE,
      serving: 0,
      notServing: SIZE,
      failing: 0,
      waiting: SIZE,
    })
    expect(data.deploymentCounts.bySource).toEqual([
      { source: 'external_container', count: SIZE / 2 },
      { source: 'gitprovider', count: SIZE / 2 },
    ])
    expect(data.deploymentCounts.byListener).toEqual([
      { listenerId: expect.any(String), count: SIZE / 2 },
      { listenerId: null, count: SIZE / 2 },
    ])
    const { listenerId } = data.deploymentCounts.byListener[0]
    const ofListener = await app.gql('query ($f: DeploymentFilter) { deployments(filter: $f) { totalCount } }', {
      f: { listenerId, source: 'external_container' },
    })
    expect(ofListener.data.deployments.totalCount).toBe(SIZE / 2)
    const elsewhere = await app.gql(
      '{ deploymentCounts { total byListener { count } } }',
      {},
      { key: app.other.keys.admin },
    )
    expect(elsewhere.data.deploymentCounts).toEqual({ total: 0, byListener: [] })
  })

  test('is one more for counts by tag of matching deployments', async () => {
    const tagging = 'mutation ($i: SetDeploymentTagsInput!) { setDeploymentTags(input: $i) { __typename } }'
    const [support, web] = [
      { key: 'team', value: 'support' },
      { key: 'team', value: 'web' },
    ]
    for (const [at, tags] of [[support], [support, web]].entries())
      await app.gql(tagging, { i: { deploymentId: ids[at], tags } })
    const { data, statements } = await counted('{ deploymentCounts { total byTag { tag { id key value } count } } }')
    expect(statements).toBe(2)
    expect(data.deploymentCounts).toEqual({
      total: SIZE,
      byTag: [
        { tag: { id: expect.any(String), ...support }, count: 2 },
        { tag: { id: expect.any(String), ...web }, count: 1 },
      ],
    })
    const filter = { serving: false, latestRevisionStatus: ['CREATING'], deploymentIds: [ids[1], ids[2]] }
    const few = '($f: DeploymentFilter) { deploymentCounts(filter: $f) { byTag { count } } }'
    const { data: of } = await counted(`query ${few}`, { f: filter })
    expect(of.deploymentCounts.byTag).toEqual([{ count: 1 }, { count: 1 }])
  })

  test('is two with the total', async () => {
    const { data, statements } = await counted(
      `{ deployments(first: 50) { totalCount nodes { latestRevision { id } activeRevision { id } listener { id } } } }`,
    )
    expect(data.deployments.totalCount).toBe(SIZE)
    expect(statements).toBe(2)
  })

  test('is one for a page far behind, by cursor', async () => {
    const page = `query ($after: String) { deployments(first: 20, after: $after) {
      nodes { id latestRevision { id } activeRevision { id } listener { id } } pageInfo { endCursor } } }`
    const second = (await app.gql(page, { after: (await app.gql(page)).data.deployments.pageInfo.endCursor })).data
    const { data, statements } = await counted(page, { after: second.deployments.pageInfo.endCursor })
    expect(data.deployments.nodes.map((node: { id: string }) => node.id)).toEqual(ids.slice(40))
    expect(statements).toBe(1)
  })

  test('is one for 50 deployments with their last two revisions', async () => {
    const { data, statements } = await counted(
      `{ deployments(first: 50) { nodes { revisions(first: 2) { nodes { number } pageInfo { hasNextPage } } } } }`,
    )
    for (const { revisions } of data.deployments.nodes)
      expect(revisions).toEqual({ nodes: [{ number: 4 }, { number: 3 }], pageInfo: { hasNextPage: true } })
    expect(statements).toBe(1)
  })

  test('is two with the number of revisions of each', async () => {
    const { data, statements } = await counted(
      `{ deployments(first: 50) { nodes { revisions(first: 2, status: [SKIPPED]) { totalCount nodes { number } } } } }`,
    )
    for (const { revisions } of data.deployments.nodes)
      expect(revisions).toEqual({ totalCount: 3, nodes: [{ number: 3 }, { number: 2 }] })
    expect(statements).toBe(2)
  })

  test('grows by a few, not fifty, for revisions selected twice with different arguments', async () => {
    const { data, statements } = await counted(`{ deployments(first: 50) { nodes {
      newest: revisions(first: 1) { nodes { number } } oldest: revisions(last: 1) { nodes { number } } } } }`)
    for (const node of data.deployments.nodes)
      expect(node).toEqual({ newest: { nodes: [{ number: 4 }] }, oldest: { nodes: [{ number: 1 }] } })
    expect(statements).toBe(2)
  })

  test('is one with tags, tracing project and relations of a revision', async () => {
    const { statements } = await counted(`{ deployments(first: 50) { nodes {
      tags { key value } tracingProject { name } latestRevision { deployment { listener { id } latestRevision { id } } } } } }`)
    expect(statements).toBe(1)
  })

  test('grows by two for the last events of each with their totals', async () => {
    const { data, statements } = await counted(
      `{ deployments(first: 50) { nodes { events(last: 2) { totalCount nodes { type } } } } }`,
    )
    expect(data.deployments.nodes[0].events.nodes).toHaveLength(2)
    expect(statements).toBe(3)
  })
})

describe('pages', () => {
  const PAGE = `query ($first: Int, $after: String, $last: Int, $before: String, $orderBy: DeploymentOrder, $filter: DeploymentFilter) {
    deployments(first: $first, after: $after, last: $last, before: $before, orderBy: $orderBy, filter: $filter) {
      totalCount nodes { id name } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`
  const page = async (variables: Record<string, unknown>) => {
    const { data, errors } = await app.gql(PAGE, variables)
    expect(errors).toBeUndefined()
    return data.deployments
  }

  test.each([undefined, { field: 'NAME', direction: 'ASC' }, { field: 'UPDATED_AT', direction: 'DESC' }])(
    'forwards and backwards cover the whole list in order (%o)',
    async (orderBy) => {
      const all = (await page({ first: 100, orderBy })).nodes
      expect(all).toHaveLength(SIZE)
      const forwards = []
      for (let after: string | undefined, more = true; more; ) {
        const { nodes, pageInfo } = await page({ first: 7, after, orderBy })
        forwards.push(...nodes)
        after = pageInfo.endCursor
        more = pageInfo.hasNextPage
      }
      expect(forwards).toEqual(all)
      const backwards = []
      for (let before: string | undefined, more = true; more; ) {
        const { nodes, pageInfo } = await page({ last: 7, before, orderBy })
        backwards.unshift(...nodes)
        before = pageInfo.startCursor
        more = pageInfo.hasPreviousPage
      }
      expect(backwards).toEqual(all)
    },
  )

  test('have 20 items by default', async () => {
    expect((await page({})).nodes).toHaveLength(20)
  })

  test('and their total are narrowed by filters', async () => {
    const filtered = async (filter: object) => {
      const { totalCount, nodes } = await page({ first: 3, filter })
      return { totalCount, names: nodes.map((node: { name: string }) => node.name) }
    }
    expect(await filtered({ name: 'app-07' })).toEqual({ totalCount: 1, names: ['app-07'] })
    expect(await filtered({ nameContains: 'APP-4' })).toEqual({ totalCount: 10, names: ['app-49', 'app-48', 'app-47'] })
    expect(await filtered({ remoteReconciled: true })).toMatchObject({ totalCount: 25 })
    expect(await filtered({ deploymentType: 'dev' })).toMatchObject({ totalCount: 25 })
    expect(await filtered({ status: 'READY' })).toMatchObject({ totalCount: 0 })
    expect(await filtered({ deploymentIds: [ids[3], ids[5]] })).toEqual({ totalCount: 2, names: ['app-46', 'app-44'] })
    expect(await filtered({ deploymentIds: [], name: '' })).toMatchObject({ totalCount: SIZE })
  })

  test('reject a cursor of another order, an invalid size, and first with last, and name the argument', async () => {
    const { pageInfo } = await page({ first: 1, orderBy: { field: 'NAME', direction: 'ASC' } })
    const paths = async (variables: Record<string, unknown>) =>
      (await app.gql(PAGE, variables)).errors?.[0].extensions.issues.map((issue: { path: string[] }) => issue.path)
    expect(await paths({ after: pageInfo.endCursor })).toEqual([['after']])
    expect(await paths({ before: 'nonsense' })).toEqual([['before']])
    expect(await paths({ first: 101 })).toEqual([['first']])
    expect(await paths({ first: 1, last: 1 })).toEqual([['last']])
    expect(await paths({ filter: { deploymentIds: ['nonsense'] } })).toEqual([['filter', 'deploymentIds', 0]])
  })
})
