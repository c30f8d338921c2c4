/**
 * Activity of a workspace: events by actor and time with their subjects, in as many statements for one event as for fifty.
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { gitDeployment } from '../support/factories.ts'

const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
let deployment: { id: string; name: string; revisionId: string }
let admin: string
let deployer: string
beforeAll(async () => {
  const subject = async (key: string) =>
    (await app.gql('{ me { actor { subject } } }', {}, { key })).data.me.actor.subject
  admin = await subject(app.keys.admin)
  deployer = await subject(app.keys.deployer)
  const { id, name, latest_revision_id: revisionId } = await gitDeployment(app)
  deployment = { id, name, revisionId }
  const tags = `mutation ($id: ID!) { setDeploymentTags(input: { deploymentId: $id, tags: [{ key: "team", value: "search" }] }) { __typename } }`
  await app.gql(tags, { id }, { key: app.keys.deployer })
  await app.rest('POST', '/v2/listeners', {
    body: { compute_type: 'k8s', compute_id: 'prod-eu', compute_config: { k8s_namespaces: ['a'] } },
  })
  await app.gql('mutation { createApiKey(input: { name: "ci", role: viewer }) { __typename } }')
})

interface Shown {
  type: string
  actor: { kind: string; subject: string | null }
  subjectName: string | null
  deployment: { id: string; name: string } | null
  revision: { id: string; number: number } | null
}
const QUERY = `query ($types: [String!], $kinds: [ActorKind!], $actor: String, $since: DateTime, $until: DateTime, $first: Int = 100) {
  events(types: $types, actorKinds: $kinds, actor: $actor, since: $since, until: $until, first: $first, order: NEWEST_FIRST) {
    totalCount nodes { type actor { kind subject } subjectName deployment { id name } revision { id number } occurredAt } } }`
async function activity(
  variables: object = {},
  key?: string,
): Promise<{ totalCount: number; nodes: (Shown & { occurredAt: string })[] }> {
  const { data, errors } = await app.gql(QUERY, { ...variables }, key ? { key } : {})
  expect(errors).toBeUndefined()
  return data.events
}
const types = (events: { nodes: { type: string }[] }) => events.nodes.map(({ type }) => type)

describe('the filter by actor', () => {
  test('selects one actor, one kind of actors, or all kinds that decide', async () => {
    const of = await activity({ actor: deployer })
    expect(of.nodes.length).toBeGreaterThan(0)
    expect(of.nodes.every(({ actor }) => actor.subject === deployer)).toBe(true)
    expect(types(of)).toContain('deployment.tagged')
    expect(of.totalCount).toBe(of.nodes.length)
    const all = await activity()
    const decided = await activity({ kinds: ['api_key', 'person', 'command_line', 'git_provider'] })
    expect(decided.nodes).toEqual(all.nodes.filter(({ actor }) => actor.kind === 'api_key'))
    expect((await activity({ kinds: ['system'] })).nodes).toEqual(
      all.nodes.filter(({ actor }) => actor.kind === 'system'),
    )
    expect((await activity({ actor: deployer, kinds: ['system'] })).nodes).toEqual([])
    expect((await activity({ actor: randomUUID() })).nodes).toEqual([])
  })

  test('uses a separate index for events of deciding actors', async () => {
    await asAdmin(app.databaseUrl, async (client) => {
      await client.query('SET enable_seqscan = off')
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN SELECT * FROM events WHERE workspace_id = $1 AND actor_kind = ANY ('{api_key}')
         AND actor_kind IN ('api_key', 'person', 'command_line', 'git_provider') ORDER BY sequence DESC LIMIT 20`,
        [app.tenant.workspaceId],
      )
      expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('events_of_people')
    })
  })
})

describe('the filter by time', () => {
  test('includes `since` and excludes `until`', async () => {
    const all = await activity()
    for (const at of [0, 1, Math.floor(all.nodes.length / 2), all.nodes.length - 1]) {
      const time = all.nodes[at]!.occurredAt
      const [from, before] = [await activity({ since: time }), await activity({ until: time })]
      expect(from.nodes).toEqual(all.nodes.filter(({ occurredAt }) => occurredAt >= time))
      expect(before.nodes).toEqual(all.nodes.filter(({ occurredAt }) => occurredAt < time))
      expect([from.totalCount, before.totalCount]).toEqual([from.nodes.length, before.nodes.length])
    }
  })

  test('finds nothing before the first and after the last event', async () => {
    const [ago, ahead] = [new Date(0), new Date(Date.now() + 3_600_000)]
    expect((await activity({ until: ago })).nodes).toEqual([])
    expect((await activity({ since: ahead })).nodes).toEqual([])
    expect((await activity({ since: ago, until: ahead })).nodes).toEqual((await activity()).nodes)
  })

  test('works after the oldest events were removed', async () => {
    const all = await activity()
    const { workspaceId } = app.sibling
    await app.gql(
      'mutation { createApiKey(input: { name: "a", role: viewer }) { __typename } }',
      {},
      { key: app.sibling.keys.admin },
    )
    await asAdmin(app.databaseUrl, (client) =>
      client.query('DELETE FROM events WHERE workspace_id = $1', [workspaceId]),
    )
    expect((await activity({ since: new Date(0) }, app.sibling.keys.admin)).nodes).toEqual([])
    expect((await activity({ since: new Date(0) })).nodes).toEqual(all.nodes)
  })
})

describe('the subject of an event', () => {
  test('is its current resource, or its name', async () => {
    const { nodes } = await activity()
    const of = (type: string) => nodes.find((event) => event.type === type)!
    const { id, name, revisionId } = deployment
    expect(of('deployment.tagged')).toMatchObject({ subjectName: name, deployment: { id, name }, revision: null })
    expect(of('revision.status')).toMatchObject({ subjectName: name, revision: { id: revisionId, number: 1 } })
    expect(of('listener.created')).toMatchObject({ subjectName: 'prod-eu', deployment: null })
    expect(of('tag.created').subjectName).toBe('team=search')
    expect(of('api_key.created').subjectName).toBe('ci')
    expect(of('workspace.created')).toMatchObject({ subjectName: null, deployment: null, revision: null })
  })

  test('is only a name after its deployment was torn down', async () => {
    const { id, name } = await gitDeployment(app)
    await app.rest('DELETE', `/v2/deployments/${id}`)
    const { nodes } = await activity({ types: ['deployment.deleted'] })
    expect(nodes[0]).toMatchObject({ subjectName: name, deployment: null })
  })

  test('takes as many statements for fifty events as for one', async () => {
    for (let i = 0; i < 10; i++) await gitDeployment(app)
    const counted = async (first: number) => {
      await app.gql('{ __typename }')
      const found = await countStatements(app.app.database, async () => {
        expect((await activity({ first })).nodes).toHaveLength(first)
      })
      return found.length
    }
    await activity({ first: 1 })
    const one = await counted(1)
    expect(await counted(50)).toBe(one)
    expect(one).toBeLessThanOrEqual(5)
  })

  test('is hidden from other tenants', async () => {
    for (const key of [app.other.keys.admin, app.sibling.keys.admin])
      expect(JSON.stringify(await activity({}, key))).not.toContain(deployment.name)
  })
})

describe('over REST', () => {
  const list = (query: Record<string, string>) =>
    app.rest('GET', `/v2/events?${new URLSearchParams({ limit: '100', order: 'desc', ...query })}`)

  test('the list has the same filters', async () => {
    const { body } = await list({ actor: deployer, actor_kinds: 'api_key,person' })
    expect(types({ nodes: body.resources })).toEqual(types(await activity({ actor: deployer })))
    const { nodes } = await activity({ actor: admin })
    const since = nodes[1]!.occurredAt
    const found = await list({ actor: admin, since })
    expect(found.body.resources).toHaveLength(nodes.filter(({ occurredAt }) => occurredAt >= since).length)
  })

  test('an unknown kind of actor and an invalid time are rejected', async () => {
    const { status, body } = await list({ actor_kinds: 'robot', since: 'yesterday' })
    expect(status).toBe(422)
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc.join('.')).sort()).toEqual([
      'query.actor_kinds.0',
      'query.since',
    ])
  })
})
