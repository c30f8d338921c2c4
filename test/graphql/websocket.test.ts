/** GraphQL over WebSocket, with the reference client (graphql-ws) and with faulty ones. */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { type Client, createClient } from 'graphql-ws'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'

const app = useApp()
const open: { terminate?(): void; dispose?(): unknown }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.terminate ? one.terminate() : one.dispose?.()
})

const address = (on = app) => `${on.url.replace('http', 'ws')}/graphql`
const SUBSCRIBE = `subscription ($deploymentId: ID, $revisionId: ID, $after: String) {
  revisionStatusChanged(deploymentId: $deploymentId, revisionId: $revisionId, after: $after) { cursor from to } }`

// biome-ignore lint/suspicious/noExplicitAny: a GraphQL result has the shape of its document
type Any = any

function client(connectionParams: Record<string, unknown> = { 'X-Api-Key': app.keys.viewer }, on = app): Client {
  const made = createClient({ url: address(on), webSocketImpl: WebSocket, connectionParams, retryAttempts: 0 })
  open.push(made)
  return made
}

/** A connection without a client library. */
function raw(protocol: string | undefined = 'graphql-transport-ws', headers: Record<string, string> = {}) {
  const socket = new WebSocket(address(), protocol, { headers })
  open.push(socket)
  const messages: Any[] = []
  let wake = () => {}
  socket.on('message', (text) => {
    messages.push(JSON.parse(String(text)))
    wake()
  })
  const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
  return {
    socket,
    closed,
    opened: once(socket, 'open'),
    say: (message: object) => socket.send(JSON.stringify(message)),
    async next(): Promise<Any> {
      while (messages.length === 0)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      return messages.shift()
    },
  }
}

async function acknowledged(payload: object = { 'x-api-key': app.keys.viewer }) {
  const connection = raw()
  await connection.opened
  connection.say({ type: 'connection_init', payload })
  expect(await connection.next()).toEqual({ type: 'connection_ack' })
  return connection
}

async function deployment() {
  const { id, latest_revision_id } = await imageDeployment(app)
  return { deploymentId: id as string, revisionId: latest_revision_id as string }
}
const change = ({ value }: { value?: Any }) => {
  const { from, to } = value.data.revisionStatusChanged
  return [from, to]
}
const paths = (ids: { deploymentId: string; revisionId: string }) => ({
  path: { deployment_id: ids.deploymentId, revision_id: ids.revisionId },
})
const interrupt = async (ids: { deploymentId: string; revisionId: string }) =>
  interruptRevision(await app.context(app.keys.deployer), paths(ids))

describe('the reference client', () => {
  test('subscribes to a revision and gets its status, every change and the end', async () => {
    const ids = await deployment()
    const events = client().iterate<Any>({ query: SUBSCRIBE, variables: { revisionId: ids.revisionId } })
    expect(change(await events.next())).toEqual([null, 'CREATING'])
    await interrupt(ids)
    expect(change(await events.next())).toEqual(['CREATING', 'INTERRUPTED'])
    expect((await events.next()).done).toBe(true)
  })

  test('resumes with the cursor after a lost connection and misses nothing', async () => {
    const ids = await deployment()
    const one = client()
    const events = one.iterate<Any>({ query: SUBSCRIBE, variables: { deploymentId: ids.deploymentId } })
    const first = await events.next()
    const { cursor } = first.value.data.revisionStatusChanged
    one.terminate()
    await interrupt(ids)
    await redeployRevision(await app.context(app.keys.deployer), paths(ids))
    const variables = { deploymentId: ids.deploymentId, after: cursor }
    const resumed = client().iterate<Any>({ query: SUBSCRIBE, variables })
    expect(change(await resumed.next())).toEqual(['CREATING', 'INTERRUPTED'])
    expect(change(await resumed.next())).toEqual(['INTERRUPTED', 'CREATING'])
  })

  test('ends one subscription and keeps the others, and frees its slots when it closes', async () => {
    const { streams } = app.app.core.slots!
    const one = client()
    const [ids, others] = [await deployment(), await deployment()]
    const events = one.iterate<Any>({ query: SUBSCRIBE, variables: ids })
    const other = one.iterate<Any>({ query: SUBSCRIBE, variables: others })
    await Promise.all([events.next(), other.next()])
    expect(streams.inUse).toBe(2)
    await events.return!()
    await expect.poll(() => streams.inUse, { interval: 5 }).toBe(1)
    await interrupt(others)
    expect(change(await other.next())).toEqual(['CREATING', 'INTERRUPTED'])
    await one.dispose()
    await expect.poll(() => streams.inUse, { interval: 5 }).toBe(0)
  })

  test('sends queries and mutations, with the rules and errors of HTTP', async () => {
    const one = client({ 'X-Api-Key': app.keys.deployer })
    const run = async (query: string, variables = {}) => (await one.iterate<Any>({ query, variables }).next()).value
    expect(await run('{ viewer { role } }')).toEqual({ data: { viewer: { role: 'deployer' } } })
    const input = { deploymentId: 'nonsense' }
    const refused = await run(
      'mutation ($input: DeleteDeploymentInput!) { deleteDeployment(input: $input) { __typename ... on Error { code } } }',
      { input },
    )
    expect(refused.data).toMatchObject({ deleteDeployment: { code: 'VALIDATION_FAILED' } })
    await expect(run('{ nonsense }')).rejects.toMatchObject([{ extensions: { code: 'VALIDATION_FAILED' } }])
    const deep = `{ ${'deployments { nodes { latestRevision { deployment { '.repeat(6)}id${' } } } }'.repeat(6)} }`
    const { errors } = await app.gql(deep)
    await expect(run(deep)).rejects.toMatchObject([{ message: errors![0].message }])
  })

  test('gets an error on subscribe for its operation and stays connected', async () => {
    const one = client()
    const missing = one.iterate<Any>({ query: SUBSCRIBE, variables: { revisionId: app.tenant.workspaceId } })
    await expect(missing.next()).rejects.toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    const ids = await deployment()
    expect(change(await one.iterate<Any>({ query: SUBSCRIBE, variables: ids }).next())).toEqual([null, 'CREATING'])
  })
})

describe('credentials', () => {
  test.each([
    ['X-Api-Key', () => app.keys.viewer],
    ['x-api-key', () => app.keys.viewer],
    ['AUTHORIZATION', () => `Bearer ${app.keys.viewer}`],
  ])('are taken from the payload as %s', async (name, value) => {
    await acknowledged({ [name]: value() })
  })

  test('of an organization select the workspace in the payload', async () => {
    await acknowledged({ 'X-Api-Key': app.keys.organization, 'x-tenant-id': app.sibling.workspaceId })
  })

  test('come from the upgrade’s headers if the payload has none', async () => {
    const connection = raw('graphql-transport-ws', { 'x-api-key': app.keys.viewer })
    await connection.opened
    connection.say({ type: 'connection_init' })
    expect(await connection.next()).toEqual({ type: 'connection_ack' })
  })

  test.each([
    ['are missing', {}, /valid API key/],
    ['are unknown', { 'X-Api-Key': 'cpk_unknown' }, /unknown, expired or revoked/],
    ['are not a string', { 'X-Api-Key': 7 }, /one string/],
    ['are given twice', { 'X-Api-Key': 'a', 'x-api-key': 'b' }, /one string/],
    ['have an invalid workspace', { 'X-Tenant-Id': 'nonsense' }, /UUID|valid API key/],
  ])('that %s close the connection with 4403 and the reason', async (_what, payload, why) => {
    const connection = raw()
    await connection.opened
    connection.say({ type: 'connection_init', payload })
    expect(await connection.closed).toMatchObject({ code: 4403, reason: expect.stringMatching(why) })
  })

  test('of a caller of agents close the connection with 4403', async () => {
    const connection = raw()
    await connection.opened
    const key = await newKey(app.app.core, { ...app.tenant, role: 'caller' })
    connection.say({ type: 'connection_init', payload: { 'X-Api-Key': key } })
    expect(await connection.closed).toMatchObject({ code: 4403, reason: expect.stringMatching(/role caller/) })
  })

  test('that are revoked end every operation with an error, and the connection with 4403', async () => {
    const key = await newKey(app.app.core, app.tenant)
    const { subject } = (await app.context(key)).actor
    const connection = await acknowledged({ 'X-Api-Key': key })
    const ids = await deployment()
    connection.say({ type: 'subscribe', id: '1', payload: { query: SUBSCRIBE, variables: ids } })
    expect((await connection.next()).type).toBe('next')
    await app.app.core.db.apiKey.update({ where: { id: subject }, data: { revokedAt: new Date() } })
    expect(await connection.next()).toMatchObject({
      id: '1',
      type: 'error',
      payload: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    })
    expect((await connection.closed).code).toBe(4403)
  })
})

describe('a protocol violation', () => {
  test.each(['graphql-ws', undefined])('by another subprotocol (%s) is rejected', async (protocol) => {
    const socket = new WebSocket(address(), protocol ? [protocol] : [])
    open.push(socket)
    socket.on('error', () => {})
    const code = await new Promise((resolve) => socket.on('close', resolve))
    expect([4406, 1006]).toContain(code)
  })

  test('by an early operation closes with 4401, by a second init with 4429, by an invalid message with 4400', async () => {
    const early = raw()
    await early.opened
    early.say({ type: 'subscribe', id: '1', payload: { query: '{ viewer { role } }' } })
    expect((await early.closed).code).toBe(4401)
    const twice = await acknowledged()
    twice.say({ type: 'connection_init', payload: {} })
    expect((await twice.closed).code).toBe(4429)
    const ofServers = ['{"type":"connection_ack"}', '{"type":"next","id":"1","payload":{"data":{}}}']
    for (const nonsense of ['{', '[]', '{"type":"nonsense"}', '{"type":"subscribe"}', ...ofServers]) {
      const wrong = await acknowledged()
      wrong.socket.send(nonsense)
      expect((await wrong.closed).code).toBe(4400)
    }
    const binary = await acknowledged()
    binary.socket.send(Buffer.from([0]))
    expect((await binary.closed).code).toBe(4400)
  })

  test('by a repeated id closes with 4409', async () => {
    const connection = await acknowledged()
    const subscribe = { type: 'subscribe', id: '1', payload: { query: SUBSCRIBE } }
    connection.say(subscribe)
    connection.say(subscribe)
    expect((await connection.closed).code).toBe(4409)
  })

  test('by a message over 1 MiB closes with 1009', async () => {
    const connection = await acknowledged()
    connection.socket.send('x'.repeat(1024 * 1024 + 1))
    expect((await connection.closed).code).toBe(1009)
  })

  test('operations above a connection’s limit are rejected one by one', async () => {
    const connection = await acknowledged()
    for (let id = 0; id <= 100; id++) connection.say({ type: 'subscribe', id: `${id}`, payload: { query: SUBSCRIBE } })
    expect(await connection.next()).toMatchObject({
      id: '100',
      type: 'error',
      payload: [{ extensions: { code: 'RATE_LIMITED' } }],
    })
    connection.socket.terminate()
    await expect.poll(() => app.app.core.slots!.streams.inUse, { interval: 5 }).toBe(0)
  })

  test('a client that sends too many messages is disconnected', async () => {
    const connection = await acknowledged()
    for (let i = 0; i < 2_100; i++) connection.say({ type: 'ping' })
    expect((await connection.closed).code).toBe(1008)
  })

  test('an upgrade to another protocol or path is answered as an ordinary request', async () => {
    const answer = await fetchWith({ connection: 'Upgrade', upgrade: 'h2c', 'x-api-key': app.keys.viewer }, 'POST')
    expect(answer).toMatchObject({ status: 200, body: '{"data":{"viewer":{"role":"viewer"}}}' })
    const elsewhere = await fetchWith({ connection: 'Upgrade', upgrade: 'websocket' }, 'GET', '/v2/deployments')
    expect(elsewhere.status).toBe(401)
    const broken = await fetchWith({ connection: 'Upgrade', upgrade: 'websocket' }, 'GET')
    expect(broken.status).toBe(400)
  })
})

test('a stopping server ends each operation with its cursor, then the connection', async () => {
  const beside = await testApp({ beside: app })
  const ids = await deployment()
  const socket = new WebSocket(address(beside), 'graphql-transport-ws')
  open.push(socket)
  await once(socket, 'open')
  const messages: Any[] = []
  socket.on('message', (text) => messages.push(JSON.parse(String(text))))
  const closed = once(socket, 'close')
  socket.send(JSON.stringify({ type: 'connection_init', payload: { 'x-api-key': app.keys.viewer } }))
  await expect.poll(() => messages.length, { interval: 5 }).toBe(1)
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query: SUBSCRIBE, variables: ids } }))
  await expect.poll(() => messages.length, { interval: 5 }).toBe(2)
  const stopped = beside.close()
  const [code] = await closed
  expect(code).toBe(1001)
  expect(messages[2]).toMatchObject({
    type: 'error',
    id: '1',
    payload: [{ extensions: { code: 'UNAVAILABLE', cursor: messages[1].payload.data.revisionStatusChanged.cursor } }],
  })
  await stopped
})

function fetchWith(headers: Record<string, string>, method: string, path = '/graphql') {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const body = method === 'POST' ? JSON.stringify({ query: '{ viewer { role } }' }) : ''
    const request = http.request(`${app.url}${path}`, {
      method,
      headers: { ...headers, ...(body ? { 'content-type': 'application/json', 'content-length': body.length } : {}) },
    })
    request.on('error', reject).on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode!, body }), reject)
    })
    request.end(body)
  })
}
