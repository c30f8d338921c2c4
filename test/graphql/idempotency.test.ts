/**
 * Idempotency-Key in GraphQL: each mutation of a document runs once, and a retry gets the first answer with its whole
 * selection. test/contract has the rules of retries.
 */
import { randomUUID } from 'node:crypto'
import { createClient } from 'graphql-ws'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { lockEntries } from '../../src/domain/idempotency/entries.ts'
import { type Call, useApp } from '../support/app.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'
import { mutate } from './mutate.ts'

const app = useApp()

// biome-ignore lint/suspicious/noExplicitAny: a result has the shape of its document
type Any = any
const under = (key: string, more: Call = {}): Call => ({ ...more, headers: { 'idempotency-key': key } })
const revisionsOf = (deploymentId: string) => app.app.core.db.revision.count({ where: { deploymentId } })
const ERRORS = '... on Error { __typename code } ... on ValidationError { issues { path code } }'
const PARTS = `deployment { id createdAt updatedAt status secrets { name value } sourceConfig { resourceSpec { cpu } }
    latestRevision { id number createdAt } revisions(first: 2) { totalCount nodes { id status } } tags { key value }
    tracingProject { name } }
  revision { id number sourceRevisionConfig { repoRef } deployment { secrets { value } } }`
const update = (id: string, ref: string, key: string, how: Call = {}, secrets?: object[]) =>
  app.gql(
    `mutation ($input: UpdateDeploymentInput!) {
      updateDeployment(input: $input) { ... on UpdateDeploymentSuccess { ${PARTS} } ${ERRORS} } }`,
    { input: { deploymentId: id, sourceRevisionConfig: { repoRef: ref }, secrets } },
    under(key, how),
  )

test('a retried mutation runs once and gets the first answer with its whole selection', async () => {
  const { id } = await gitDeployment(app)
  const before = await revisionsOf(id)
  const key = randomUUID()
  const secrets = [{ name: 'TOKEN', value: `sesame-${key}` }]
  const first = await update(id, 'a', key, {}, secrets)
  expect(first.data.updateDeployment.deployment.secrets).toEqual(secrets)
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  await mutate(app, 'setDeploymentTags', 'deployment { id }', { deploymentId: id, tags: [{ key: 'a', value: 'b' }] })
  const again = await update(id, 'a', key, {}, secrets)
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(again.body).toEqual(first.body)
  expect(await revisionsOf(id)).toBe(before + 1)
  const stored = await app.app.core.db.idempotencyEntry.findFirstOrThrow({ where: { key } })
  expect(JSON.stringify(stored)).not.toContain(`sesame-${key}`)
  expect(stored.answer).not.toContain('ciphertext')
})

test('each mutation of a document has its own outcome: after a failure of the third, a retry continues with the third', async () => {
  const { id } = await gitDeployment(app)
  const name = `agent-${randomUUID().slice(0, 8)}`
  const taken = await imageDeployment(app, { name })
  const key = randomUUID()
  const document = `mutation ($one: UpdateDeploymentInput!, $two: UpdateDeploymentInput!, $three: CreateDeploymentInput!) {
    one: updateDeployment(input: $one) { ... on UpdateDeploymentSuccess { revision { id number } } }
    two: updateDeployment(input: $two) { ... on UpdateDeploymentSuccess { revision { id number } } }
    three: createDeployment(input: $three) { ... on CreateDeploymentSuccess { deployment { id name } } ${ERRORS} }
  }`
  const to = (repoRef: string) => ({ deploymentId: id, sourceRevisionConfig: { repoRef } })
  const three = { name, source: 'internal_container', sourceConfig: {}, sourceRevisionConfig: {}, secrets: [] }
  const send = () => app.gql(document, { one: to('a'), two: to('b'), three }, under(key))
  const first = await send()
  expect(first.data.three).toMatchObject({ __typename: 'ConflictError' })
  expect(first.data.two.revision.number).toBe(first.data.one.revision.number + 1)
  await mutate(app, 'deleteDeployment', 'deploymentId', { deploymentId: taken.id })
  const second = await send()
  expect([second.data.one, second.data.two]).toEqual([first.data.one, first.data.two])
  expect(second.data.three.deployment.name).toBe(name)
  expect(second.headers.get('idempotency-replayed')).toBeNull()
  const third = await send()
  expect(third.body).toEqual(second.body)
  expect(third.headers.get('idempotency-replayed')).toBe('true')
})

test('time-dependent fields of a retry have their first values', async () => {
  const { id } = await gitDeployment(app)
  const { id: listenerId } = await listener(app)
  await app.app.core.db.deployment.update({ where: { id }, data: { listenerId } })
  const key = randomUUID()
  const first = await update(id, 'a', key)
  expect(first.data.updateDeployment.deployment.status).toBe('AWAITING_DATABASE')
  // simulates two minutes without a call of the listener
  const { core } = app.app
  const { clock } = core
  core.clock = () => new Date(clock().getTime() + 120_000)
  try {
    expect((await update(id, 'a', key)).body).toEqual(first.body)
    expect((await app.gql(`{ deployment(id: "${id}") { status } }`)).data.deployment.status).toBe('UNKNOWN')
  } finally {
    core.clock = clock
  }
})

test('an empty key is a ValidationError that names the header', async () => {
  const { id } = await gitDeployment(app)
  expect((await update(id, 'a', ' ')).data.updateDeployment.issues).toEqual([
    { path: ['header', 'Idempotency-Key'], code: 'missing' },
  ])
  expect(await revisionsOf(id)).toBe(1)
})

test('a call in progress is a retryable error with the time to wait', async () => {
  const { id } = await gitDeployment(app)
  const key = randomUUID()
  const { workspace, actor } = await app.context(app.keys.admin)
  await app.app.core.transact(async ({ query }) => {
    await lockEntries(query, { workspaceId: workspace.id, subject: actor.subject, key }, '')
    const { errors } = await update(id, 'a', key)
    expect(errors).toMatchObject([{ extensions: { code: 'IDEMPOTENCY_IN_FLIGHT', retryable: true, retryAfter: 1 } }])
  })
})

test('the text of an API key is shown once: a retry has its id and the error ALREADY_SHOWN', async () => {
  const key = randomUUID()
  const create = () =>
    app.gql(
      'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeySuccess { apiKey { id createdAt } key } } }',
      { input: { name: 'ci', role: 'viewer' } },
      under(key),
    )
  const first = await create()
  expect(first.data.createApiKey.key).toMatch(/^cpk_/)
  const again = await create()
  expect(again.data.createApiKey).toEqual({ apiKey: first.data.createApiKey.apiKey, key: null })
  expect(again.errors).toMatchObject([{ path: ['createApiKey', 'key'], extensions: { code: 'ALREADY_SHOWN' } }])
  const stored = await app.app.core.db.idempotencyEntry.findFirstOrThrow({ where: { key } })
  expect(stored.answer).not.toContain(first.data.createApiKey.key)
})

test('a selection that is too large to store is rejected, and nothing changes', async () => {
  const { id } = await gitDeployment(app)
  const large = 'x'.repeat(600 * 1024)
  await app.app.core.db.deployment.update({ where: { id }, data: { createdBy: large } })
  const before = await revisionsOf(id)
  const send = (headers: object) =>
    app.gql(
      `mutation ($input: UpdateDeploymentInput!) { updateDeployment(input: $input) { __typename
        ... on UpdateDeploymentSuccess { deployment { createdBy } } ${ERRORS} } }`,
      { input: { deploymentId: id, sourceRevisionConfig: { repoRef: 'a' } } },
      headers,
    )
  const refused = await send(under(randomUUID()))
  expect(refused.data.updateDeployment.issues).toEqual([{ path: ['header', 'Idempotency-Key'], code: 'too_long' }])
  expect(await revisionsOf(id)).toBe(before)
  expect((await send({})).data.updateDeployment.__typename).toBe('UpdateDeploymentSuccess')
})

test('a WebSocket operation has its key in the extensions and can be retried over both transports', async () => {
  const { id } = await gitDeployment(app)
  const idempotencyKey = randomUUID()
  const client = createClient({
    url: `${app.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { 'X-Api-Key': app.keys.admin },
  })
  const send = async (query: string): Promise<Any> => {
    for await (const { data } of client.iterate({ query, extensions: { idempotencyKey } })) return data
  }
  const revise = `mutation { createRevision(input: { deploymentId: "${id}" }) { ... on CreateRevisionSuccess { revision { id } } } }`
  const first = await send(revise)
  expect(first.createRevision.revision.id).toBeTruthy()
  expect(await send(revise)).toEqual(first)
  const headers = { 'idempotency-key': idempotencyKey }
  const overHttp = await app.rest('POST', '/graphql', { body: { query: revise }, headers })
  expect(overHttp.body.data).toEqual(first)
  // queries ignore the key
  expect((await send(`{ deployment(id: "${id}") { id } }`)).deployment.id).toBe(id)
  await client.dispose()
  expect((await app.gql('{ viewer { role } }', {}, under(''))).data.viewer.role).toBe('admin')
})
