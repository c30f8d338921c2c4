/** Pages of events over REST, and the same through GraphQL. */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventCursor } from '../../src/domain/events/range.ts'
import { countStatements } from '../support/database.ts'
import { listener, listenerKey } from '../support/factories.ts'
import { type RestApp, useRestApp } from './support.ts'

const app = useRestApp()
// biome-ignore lint/suspicious/noExplicitAny: a checked answer
let deployment: any
beforeAll(async () => {
  deployment = await app.create()
  await app.call('PATCH', `/v2/deployments/${deployment.id}`, {
    body: { source_config: { resource_spec: { cpu: 1 } }, secrets: [{ name: 'TOKEN', value: 'hush' }] },
  })
})

const ofDeployment = () => `/v2/deployments/${deployment.id}/events`
const typesIn = (answer: { body: { resources: { type: string }[] } }) => answer.body.resources.map(({ type }) => type)
const violation = (answer: { body: { detail: unknown } }) => (answer.body.detail as Record<string, unknown>[])[0]

describe('The events of the workspace', () => {
  test('are complete, oldest first, each page by one statement', async () => {
    const seen: string[] = []
    let after: string | undefined
    for (;;) {
      let answer!: Awaited<ReturnType<RestApp['call']>>
      const statements = await countStatements(app.app.database, async () => {
        answer = await app.call('GET', '/v2/events', { query: { limit: 5, ...(after && { after }) } })
      })
      expect(statements.filter((sql) => /\bevents\b/.test(sql))).toHaveLength(1)
      expect(answer.status).toBe(200)
      seen.push(...answer.body.resources.map(({ cursor }: { cursor: string }) => cursor))
      after = answer.body.next_cursor
      if (answer.body.resources.length < 5) break
    }
    const { workspaceId } = app.tenant
    const stored = await app.core.db.event.findMany({ where: { workspaceId }, orderBy: { sequence: 'asc' } })
    expect(seen).toEqual(stored.map(eventCursor))
    // at the end of the log: the position of the next events
    const end = await app.call('GET', '/v2/events', { query: { after: after! } })
    expect(end.body).toEqual({ resources: [], next_cursor: after })
  })

  test('can be read newest first, to the beginning', async () => {
    const newest = await app.call('GET', '/v2/events', { query: { order: 'desc', limit: 3 } })
    expect(typesIn(newest)).toEqual(['revision.status', 'revision.status', 'deployment.updated'])
    const before = newest.body.next_cursor
    const rest = await app.call('GET', '/v2/events', { query: { order: 'desc', limit: 100, before } })
    expect(typesIn(rest).at(-1)).toBe('workspace.created')
    expect(rest.body.next_cursor).toBeNull()
  })

  test('name their author and the changed fields', async () => {
    const { body } = await app.call('GET', '/v2/events', { query: { types: 'deployment.updated' } })
    const key = await app.core.db.apiKey.findFirstOrThrow({ where: { role: 'admin' }, orderBy: { createdAt: 'asc' } })
    const mine = (await app.context(app.keys.admin)).actor
    expect(body.resources).toMatchObject([
      {
        deployment_id: deployment.id,
        changed: ['resource_spec', 'secrets'],
        actor: { kind: 'api_key', name: mine.name, id: mine.subject },
      },
    ])
    expect(key.name).not.toBe(mine.name)
  })

  test('can be limited to some types, or all of a resource; an unknown one is refused', async () => {
    const types = 'tracing_project.*,deployment.created'
    const some = await app.call('GET', '/v2/events', { query: { types, order: 'desc' } })
    expect(typesIn(some)).toEqual(['deployment.created', 'tracing_project.created'])
    const misspelt = await app.call('GET', '/v2/events', { query: { types: 'deployment.create' } })
    expect(misspelt.status).toBe(422)
    expect(violation(misspelt)).toMatchObject({ loc: ['query', 'types', 0], type: 'enum' })
    expect(violation(misspelt)?.msg).toContain('deployment.created')
  })

  test('can’t be read from a cursor whose following events were removed', async () => {
    const { workspaceId } = app.sibling
    const read = (query: Record<string, string>) =>
      app.call('GET', '/v2/events', { key: app.sibling.keys.viewer, query })
    const first = (await read({})).body.resources[0].cursor
    await app.core.db.event.deleteMany({ where: { workspaceId, sequence: { lte: 2n } } })
    const expired = await read({ after: first })
    expect([expired.status, violation(expired)?.type]).toEqual([422, 'cursor_expired'])
    const ahead = await read({ after: eventCursor({ workspaceId, sequence: 1_000_000n }) })
    const foreign = await read({ before: eventCursor({ workspaceId: app.tenant.workspaceId, sequence: 1n }) })
    for (const refused of [ahead, foreign, await read({ after: 'x' })])
      expect([refused.status, violation(refused)?.type]).toEqual([422, 'cursor_invalid'])
  })
})

describe('The events of a deployment and of a revision', () => {
  test('contain no others', async () => {
    const other = await app.create()
    const own = await app.call('GET', ofDeployment())
    expect(own.body.resources.every((event: { deployment_id: string }) => event.deployment_id === deployment.id)).toBe(
      true,
    )
    expect(typesIn(own).slice(0, 2)).toEqual(['deployment.created', 'revision.status'])
    const revision = `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}/events`
    expect(typesIn(await app.call('GET', revision))[0]).toBe('revision.status')
    const crossed = `/v2/deployments/${other.id}/revisions/${deployment.latest_revision_id}/events`
    expect((await app.call('GET', crossed)).status).toBe(404)
  })

  test('remain after the teardown and the removal of the row', async () => {
    const { id } = await app.create()
    await app.call('DELETE', `/v2/deployments/${id}`)
    expect((await app.call('GET', `/v2/deployments/${id}`)).status).toBe(404)
    const kept = await app.call('GET', `/v2/deployments/${id}/events`, { query: { order: 'desc', limit: 1 } })
    expect(typesIn(kept)).toEqual(['deployment.torn_down'])
    await app.core.db.$executeRaw`DELETE FROM deployments WHERE id = ${id}::uuid`
    const still = await app.call('GET', `/v2/deployments/${id}/events`, { query: { limit: 1 } })
    expect(typesIn(still)).toEqual(['deployment.created'])
    expect((await app.call('GET', `/v2/deployments/${id}/events`, { key: app.other.keys.viewer })).status).toBe(404)
  })

  test('are hidden from other tenants and from machines', async () => {
    const theirs = { key: app.other.keys.admin }
    expect((await app.call('GET', ofDeployment(), theirs)).status).toBe(404)
    expect((await app.call('GET', `/v2/deployments/${randomUUID()}/events`)).status).toBe(404)
    const log = await app.call('GET', '/v2/events', { ...theirs, query: { limit: 100 } })
    expect(JSON.stringify(log.body)).not.toContain(deployment.id)
    expect((await app.call('GET', '/v2/events', { key: null })).status).toBe(401)
    const machine = await listenerKey(app, await listener(app))
    expect((await app.call('GET', '/v2/events', { key: machine })).status).toBe(403)
  })
})

test('GraphQL has the same events, in both orders, and counts them', async () => {
  const query = `query ($order: EventOrder!, $types: [String!], $after: String, $id: ID) {
    events(first: 2, order: $order, types: $types, after: $after, deploymentId: $id) {
      totalCount pageInfo { hasNextPage endCursor } nodes { type changed actor { kind subject name } }
    }
  }`
  const read = async (variables: object) => (await app.gql(query, variables as never)).data.events
  const first = await read({ order: 'NEWEST_FIRST', types: ['deployment.updated'] })
  expect(first).toMatchObject({
    totalCount: 1,
    nodes: [{ changed: ['resourceSpec', 'secrets'], actor: { kind: 'api_key' } }],
  })
  const oldest = await read({ order: 'OLDEST_FIRST' })
  expect(oldest.nodes[0].type).toBe('workspace.created')
  const { workspaceId } = app.tenant
  expect(oldest.totalCount).toBe(await app.core.db.event.count({ where: { workspaceId } }))
  const next = await read({ order: 'OLDEST_FIRST', after: oldest.pageInfo.endCursor })
  expect(next.nodes).toHaveLength(2)
  const back = await read({ order: 'NEWEST_FIRST', after: oldest.pageInfo.endCursor })
  expect([back.nodes.map(({ type }: { type: string }) => type), back.pageInfo.hasNextPage]).toEqual([
    ['workspace.created'],
    false,
  ])
  const unknown = await app.gql(query, { order: 'OLDEST_FIRST', types: ['nonsense'] })
  expect(unknown.errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED' })
  const foreign = await app.gql(query, { order: 'OLDEST_FIRST', id: deployment.id }, { key: app.other.keys.admin })
  expect(foreign.errors?.[0].extensions).toMatchObject({ code: 'NOT_FOUND' })
})
