/** Subscriptions as a client sees them: server-sent events over POST and GET, resumed with a cursor. */
import { expect, test } from 'vitest'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { setDeploymentTags } from '../../src/domain/tags.ts'
import { type TestApp, testApp, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageDeployment } from '../support/factories.ts'
import { subscribe as open, type SseClient } from '../support/sse.ts'

const app = useApp()

const SUBSCRIBE = `subscription ($deploymentId: ID, $revisionId: ID, $after: String) {
  revisionStatusChanged(deploymentId: $deploymentId, revisionId: $revisionId, after: $after) {
    cursor revisionId deploymentId from to message attempt occurredAt
    revision { id status deployment { latestRevision { id status } } } } }`

// biome-ignore lint/suspicious/noExplicitAny: a GraphQL result has the shape of its document
type Any = any

async function subscribe(variables: object, how: { key?: string; method?: string } = {}, on: TestApp = app) {
  const client = await open(on, SUBSCRIBE, variables, how)
  return { next: async (): Promise<Any> => (await client.next())?.data, stop: client.close }
}

const change = ({ data }: Any) => [data.revisionStatusChanged.from, data.revisionStatusChanged.to]

async function deployment() {
  const { id, latest_revision_id } = await imageDeployment(app)
  return { deploymentId: id as string, revisionId: latest_revision_id as string }
}

async function interrupt(ids: { deploymentId: string; revisionId: string }) {
  const path = { deployment_id: ids.deploymentId, revision_id: ids.revisionId }
  await interruptRevision(await app.context(app.keys.deployer), { path })
}

test.each(['POST', 'GET'])(
  'a stream of a revision sends its status, every change, and the end (%s)',
  async (method) => {
    const ids = await deployment()
    const stream = await subscribe({ revisionId: ids.revisionId }, { method })
    const first = await stream.next()
    expect(change(first)).toEqual([null, 'CREATING'])
    expect(first.data.revisionStatusChanged).toMatchObject({
      ...ids,
      attempt: 1,
      revision: { id: ids.revisionId, deployment: { latestRevision: { id: ids.revisionId, status: 'CREATING' } } },
    })
    await interrupt(ids)
    const second = await stream.next()
    expect(change(second)).toEqual(['CREATING', 'INTERRUPTED'])
    // the current revision, not the one at the start of the stream
    expect(second.data.revisionStatusChanged.revision).toEqual({
      id: ids.revisionId,
      status: 'INTERRUPTED',
      deployment: { latestRevision: { id: ids.revisionId, status: 'INTERRUPTED' } },
    })
    expect(await stream.next()).toBeUndefined()
  },
)

test('a stream with a cursor sends past changes since then, then new ones', async () => {
  const ids = await deployment()
  const stream = await subscribe({ deploymentId: ids.deploymentId })
  const { cursor } = (await stream.next()).data.revisionStatusChanged
  stream.stop()
  await interrupt(ids)
  const resumed = await subscribe({ deploymentId: ids.deploymentId, after: cursor })
  expect(change(await resumed.next())).toEqual(['CREATING', 'INTERRUPTED'])
  const path = { deployment_id: ids.deploymentId, revision_id: ids.revisionId }
  await redeployRevision(await app.context(app.keys.deployer), { path })
  const redeployed = await resumed.next()
  expect(change(redeployed)).toEqual(['INTERRUPTED', 'CREATING'])
  expect(redeployed.data.revisionStatusChanged.attempt).toBe(2)
})

test('the cursor of an event in a list continues the stream from there', async () => {
  const ids = await deployment()
  const { data } = await app.gql(
    `query ($id: ID!) { deployment(id: $id) { events(first: 1) { nodes { cursor type } } } }`,
    {
      id: ids.deploymentId,
    },
  )
  expect(data.deployment.events.nodes[0].type).toBe('deployment.created')
  const stream = await subscribe({ deploymentId: ids.deploymentId, after: data.deployment.events.nodes[0].cursor })
  expect(change(await stream.next())).toEqual([null, 'CREATING'])
})

test('a stream of the workspace has all its changes and none of another workspace', async () => {
  const mine = await subscribe({})
  const theirs = await subscribe({}, { key: app.other.keys.viewer })
  await imageDeployment(app, {}, { key: app.other.keys.admin })
  const ids = await deployment()
  expect((await mine.next()).data.revisionStatusChanged).toMatchObject(ids)
  const seen = (await theirs.next()).data.revisionStatusChanged
  expect(seen.deploymentId).not.toBe(ids.deploymentId)
  expect(seen.revision).not.toBeNull()
})

test('an unknown id, another tenant’s id or an invalid cursor is an error on subscribe', async () => {
  const ids = await deployment()
  const failing = async (variables: object, key = app.keys.viewer) => {
    const { errors } = await (await subscribe(variables, { key })).next()
    return errors[0].extensions
  }
  const unknown = '00000000-0000-4000-8000-000000000000'
  expect(await failing({ revisionId: unknown })).toMatchObject({ code: 'NOT_FOUND' })
  expect(await failing({ deploymentId: ids.deploymentId }, app.other.keys.viewer)).toMatchObject({ code: 'NOT_FOUND' })
  expect(await failing({ after: 'nonsense' })).toMatchObject({
    code: 'VALIDATION_FAILED',
    issues: [{ path: ['after'], code: 'cursor_invalid' }],
  })
  expect(await failing({ revisionId: 'nonsense' })).toMatchObject({ issues: [{ path: ['revisionId'] }] })
})

test('a selection above the cost limit is rejected when the stream starts, not with its first event', async () => {
  const query = `subscription { revisionStatusChanged { revision { deployment { revisions(first: 100) { nodes {
    events(first: 100) { nodes { type } } } } } } } }`
  const { text } = await app.rest('POST', '/graphql', { body: { query }, headers: { accept: 'text/event-stream' } })
  expect(text).toMatch(/This query costs/)
  expect(text).toMatch(/^event: complete/m)
})

test('a stream ends when its key is revoked', async () => {
  const { data } = await app.gql(
    `mutation { createApiKey(input: { name: "dashboard", role: viewer }) { ... on CreateApiKeySuccess { key apiKey { id } } } }`,
  )
  const { key, apiKey } = data.createApiKey
  const stream = await subscribe({}, { key })
  await deployment()
  expect(change(await stream.next())).toEqual([null, 'CREATING'])
  await app.gql('mutation ($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { __typename } }', apiKey)
  await deployment()
  const last = await stream.next()
  expect([last.data, last.errors[0].extensions.code]).toEqual([undefined, 'UNAUTHENTICATED'])
  expect(await stream.next()).toBeUndefined()
})

test('a client that disconnects leaves no subscriber', async () => {
  const { slots, fastify } = { slots: app.app.core.slots!.streams, fastify: app.app.fastify }
  await expect.poll(() => slots.inUse).toBe(0)
  const stream = await subscribe({ deploymentId: (await deployment()).deploymentId })
  await stream.next()
  expect(slots.inUse).toBe(1)
  stream.stop()
  await expect.poll(() => slots.inUse).toBe(0)
  expect(fastify.server.listening).toBe(true)
})

test('a stopping server ends its streams with an error and a cursor, unlike the end of a revision’s stream', async () => {
  const second = await testApp({ beside: app })
  const { deploymentId } = await deployment()
  const stream = await subscribe({ deploymentId }, {}, second)
  const first = await stream.next()
  expect(change(first)).toEqual([null, 'CREATING'])
  await second.close()
  const { cursor } = first.data.revisionStatusChanged
  const { errors } = await stream.next()
  expect(errors[0].extensions).toEqual({ code: 'UNAVAILABLE', status: 503, retryable: true, cursor })
  expect(await stream.next()).toBeUndefined()
})

const EVENTS = `subscription ($after: String, $types: [String!], $deploymentId: ID) {
  events(after: $after, types: $types, deploymentId: $deploymentId) {
    cursor type deploymentId subjectId from to changed actor { kind subject name } occurredAt } }`

const follow = (variables: object, headers: Record<string, string> = {}) =>
  open(app, EVENTS, variables, { headers, method: 'GET' })

const tag = async (deploymentId: string, value: string, key = app.keys.deployer) =>
  setDeploymentTags(await app.context(key), {
    path: { deployment_id: deploymentId },
    body: { tags: [{ key: 'stage', value }] },
  })
const eventOf = (sent: Awaited<ReturnType<SseClient['next']>>) => sent?.data.data.events

test('the stream sends each new event with actor and changed fields, and can be resumed after it', async () => {
  const { id } = await imageDeployment(app)
  const stream = await follow({})
  await tag(id, 'one')
  const first = eventOf(await stream.next())
  expect(first).toMatchObject({ type: 'tag.created', actor: { kind: 'api_key' }, subjectId: expect.any(String) })
  const second = eventOf(await stream.next())
  expect(second).toMatchObject({ type: 'deployment.tagged', deploymentId: id, changed: ['tags'] })
  const query = `{ events(first: 1, order: NEWEST_FIRST) { nodes {
    cursor type deploymentId subjectId from to changed actor { kind subject name } occurredAt } } }`
  expect((await app.gql(query)).data.events.nodes).toEqual([second])
  expect(eventOf(await (await follow({ after: first.cursor })).next())).toEqual(second)
  // a browser's EventSource reconnects with the same arguments and a header
  await tag(id, 'two')
  const back = await follow({ after: first.cursor }, { 'last-event-id': second.cursor })
  expect(eventOf(await back.next()).type).toBe('tag.created')
})

test('a stream of one deployment and some types sends nothing else and completes after the teardown', async () => {
  const { id } = await imageDeployment(app)
  const stream = await follow({ deploymentId: id, types: ['deployment.tagged'] })
  await imageDeployment(app)
  await tag(id, 'three')
  await app.rest('DELETE', `/v2/deployments/${id}`)
  const sent = await stream.rest()
  expect(sent.map((one) => eventOf(one)?.type ?? one.event)).toEqual(['deployment.tagged'])
})

test('another tenant’s deployment, an unknown type and an invalid cursor are rejected', async () => {
  const { id } = await imageDeployment(app)
  const refused = async (variables: object, headers = {}) =>
    (await (await follow(variables, headers)).take(1))[0]?.data.errors[0].extensions
  expect(await refused({ deploymentId: id }, { 'x-api-key': app.other.keys.admin })).toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await refused({ types: ['nonsense'] })).toMatchObject({ issues: [{ path: ['types', 0], code: 'enum' }] })
  expect(await refused({ after: 'x' })).toMatchObject({ issues: [{ path: ['after'], code: 'cursor_invalid' }] })
})

const CHANGES = `subscription ($after: String, $deploymentId: ID) {
  deploymentsChanged(after: $after, deploymentId: $deploymentId) {
    cursor deploymentIds
    deployments { id name status serving health { ready desired } tags { key value } latestRevision { number status statusMessage } } } }`

const watch = (variables: object = {}, headers: Record<string, string> = {}) =>
  open(app, CHANGES, variables, { headers, method: 'GET' })
const changed = async (stream: SseClient) => (await stream.next())?.data.data.deploymentsChanged

test('the stream begins with a cursor, sends the current deployment, and can be resumed', async () => {
  // a workspace without the changes of the tests above
  const { admin: key } = app.sibling.keys
  const stream = await watch({}, { 'x-api-key': key })
  const first = await changed(stream)
  expect(first).toEqual({ cursor: expect.any(String), deploymentIds: [], deployments: [] })
  const { id, name } = await imageDeployment(app, {}, { key })
  const made = await changed(stream)
  expect(made).toMatchObject({ deploymentIds: [id], deployments: [{ id, name, serving: false, tags: [] }] })
  await tag(id, 'one', key)
  const tagged = await changed(stream)
  expect(tagged.deployments).toMatchObject([
    { id, tags: [{ key: 'stage', value: 'one' }], latestRevision: { number: 1 } },
  ])
  const back = await changed(await watch({ after: first.cursor }, { 'x-api-key': key }))
  expect(back.deployments).toEqual(tagged.deployments)
})

test('a deployment that was torn down is in the ids but not in the deployments', async () => {
  const { id } = await imageDeployment(app)
  const stream = await watch({ deploymentId: id })
  await changed(stream)
  await app.app.core.db.deployment.update({ where: { id }, data: { tornDownAt: new Date() } })
  let last = await changed(stream)
  while (last.deployments.length > 0) last = await changed(stream)
  expect(last.deploymentIds).toEqual([id])
})

test('many changes at the same time are read with few statements', async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await imageDeployment(app)).id))
  const stream = await watch()
  await changed(stream)
  const seen = new Set<string>()
  const statements = await countStatements(app.app.database, async () => {
    await app.app.core.db.deployment.updateMany({ where: { id: { in: ids } }, data: { imageVersion: '2' } })
    while (!ids.every((id) => seen.has(id))) for (const id of (await changed(stream)).deploymentIds) seen.add(id)
  })
  expect(statements.filter((text) => /FROM "?(public"?\.)?"?deployments/.test(text)).length).toBeLessThan(10)
})

test('a subscriber gets nothing of another workspace, and its deployments are not found', async () => {
  const theirs = await watch({}, { 'x-api-key': app.other.keys.viewer })
  await changed(theirs)
  const { id } = await imageDeployment(app)
  const refused = await watch({ deploymentId: id }, { 'x-api-key': app.other.keys.admin })
  expect((await refused.take(1))[0]?.data.errors[0].extensions).toMatchObject({ code: 'NOT_FOUND' })
  const { id: own } = await imageDeployment(app, {}, { key: app.other.keys.admin })
  expect((await changed(theirs)).deploymentIds).toEqual([own])
})
