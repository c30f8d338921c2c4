/** `revisionStatusChanged` as a client sees it: server-sent events over POST and GET, resumed with a cursor. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { interruptRevision } from '../../src/domain/rollouts/interrupt.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'

let app: TestApp
const open: AbortController[] = []
beforeAll(async () => {
  app = await testApp()
})
afterEach(() => {
  for (const stream of open.splice(0)) stream.abort()
})
afterAll(() => app.close())

const SUBSCRIBE = `subscription ($deploymentId: ID, $revisionId: ID, $after: String) {
  revisionStatusChanged(deploymentId: $deploymentId, revisionId: $revisionId, after: $after) {
    cursor revisionId deploymentId from to message attempt occurredAt
    revision { id status deployment { latestRevision { id status } } } } }`

// biome-ignore lint/suspicious/noExplicitAny: a GraphQL result has the shape of its document
type Any = any

interface Stream {
  /** the next result; undefined after the stream completed */
  next(): Promise<Any>
  stop(): void
}

async function subscribe(variables: object, { key = app.keys.viewer, method = 'POST' } = {}): Promise<Stream> {
  const controller = new AbortController()
  open.push(controller)
  const params = { query: SUBSCRIBE, variables: JSON.stringify(variables) }
  const response = await fetch(
    method === 'GET' ? `${app.url}/graphql?${new URLSearchParams(params)}` : `${app.url}/graphql`,
    {
      method,
      headers: { accept: 'text/event-stream', 'content-type': 'application/json', 'x-api-key': key },
      signal: controller.signal,
      ...(method === 'POST' ? { body: JSON.stringify({ query: SUBSCRIBE, variables }) } : {}),
    },
  )
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const results = readEvents(response)
  return {
    async next() {
      const { value } = await results.next()
      return value
    },
    stop: () => controller.abort(),
  }
}

/** The data of `next` events; `complete` ends it. */
async function* readEvents(response: Response): AsyncGenerator<Any, undefined> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end)
      text = text.slice(end + 2)
      if (/^event: complete/m.test(event)) return
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data) yield JSON.parse(data)
    }
  }
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
  for (const one of open.splice(0)) one.abort()
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
  const response = await fetch(`${second.url}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', 'content-type': 'application/json', 'x-api-key': app.keys.viewer },
    body: JSON.stringify({ query: SUBSCRIBE, variables: { deploymentId } }),
  })
  const results = readEvents(response)
  const first = (await results.next()).value
  expect(change(first)).toEqual([null, 'CREATING'])
  await second.close()
  const { cursor } = first.data.revisionStatusChanged
  const { errors } = (await results.next()).value
  expect(errors[0].extensions).toEqual({ code: 'UNAVAILABLE', status: 503, retryable: true, cursor })
  expect((await results.next()).done).toBe(true)
})
