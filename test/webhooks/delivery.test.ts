/** Delivery of events to webhook endpoints: order, isolation, retries, dead letters, replay and signatures. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSender } from '../../src/adapters/webhook-sender.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { createDeliveries, type Deliveries } from '../../src/domain/webhooks/deliver.ts'
import { listDeliveries, replayDeliveries } from '../../src/domain/webhooks/delivery.ts'
import { rotateEndpointSecret, testEndpoint, updateEndpoint } from '../../src/domain/webhooks/manage.ts'
import { useDomain } from '../support/domain.ts'
import { recordStatements } from '../support/recorded-statements.ts'
import { endpoint, expectOrder, happen, newDeployment, type Receiver, startReceiver, verified } from './support.ts'

const domain = useDomain({ core: () => ({ log: { info: () => {}, warn: () => {}, error: console.error } }) })
let ctx: RequestContext
let receiver: Receiver
/** Two servers. */
let servers: Deliveries[]
const signal = new AbortController().signal

beforeAll(async () => {
  receiver = await startReceiver()
})
beforeEach(async () => {
  // pending deliveries of other tests would arrive here, too
  await domain.core.db.webhookEndpoint.deleteMany()
  ctx = await domain.tenant()
  receiver.requests.length = 0
  receiver.answer = () => 200
  servers = [createDeliveries(domain.core), createDeliveries(domain.core)]
  return () => Promise.all(servers.map((server) => server.stop()))
})
afterAll(() => receiver?.close())

const rounds = () => Promise.all(servers.map((server) => server.round(signal)))
/** Runs rounds until `done`. */
async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const tried = () => rounds().then(done)
  await expect.poll(tried, { timeout: 20_000, interval: 20 }).toBe(true)
}
const deliveries = async (id: string, state?: string) =>
  (await listDeliveries(ctx, { path: { webhook_endpoint_id: id }, query: { limit: 100, ...(state && { state }) } }))
    .resources
const noQueues = async () =>
  (await ctx.db.endpointQueue.count({ where: { endpoint: { workspaceId: ctx.workspace.id } } })) === 0
/** Makes everything that waits due. */
const timePasses = async () => {
  await ctx.db.$executeRaw`UPDATE endpoint_queues SET due_at = now(), taken_until = NULL`
  await ctx.db.$executeRaw`UPDATE webhook_endpoints SET not_before = now()`
}
const aDayPasses = () => ctx.db.$executeRaw`UPDATE endpoint_deliveries SET queued_at = queued_at - interval '25 hours'`
const url = (path = '/') => `${receiver.origin}${path}`
const of = (id: string) => ({ path: { webhook_endpoint_id: id } })

test('each event arrives once with two servers, in order per deployment, with a valid signature', async () => {
  const { secret } = await endpoint(ctx, url())
  const ids = await Promise.all([1, 2, 3].map(() => newDeployment(ctx)))
  await happen(ctx, ids, 40)
  await until(noQueues)
  expect(receiver.requests).toHaveLength(120)
  expectOrder(receiver.requests)
  const messages = receiver.requests.map((received) => verified(secret, received))
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(120)
  expect(messages[0]).toMatchObject({
    type: 'deployment.updated',
    timestamp: expect.any(String),
    data: { workspace_id: ctx.workspace.id, changed: ['name'], deployment_name: expect.stringMatching(/^agent-/) },
  })
})

test('an endpoint gets the events that it names, of its workspace, since its creation', async () => {
  const other = await domain.tenant()
  const [own, theirs] = [await newDeployment(ctx), await newDeployment(other)]
  await happen(ctx, [own])
  await endpoint(ctx, url('/deployed'), { event_types: ['revision.deployed'] })
  await endpoint(ctx, url('/failed'), { event_types: ['rollout.*'] })
  await endpoint(ctx, url('/all'), { event_types: ['*'] })
  await endpoint(ctx, url('/off'), { event_types: ['*'], enabled: false })
  await happen(other, [theirs])
  await happen(ctx, [own], 1, { type: 'revision.status', from: 'DEPLOYING', to: 'DEPLOYED' })
  await happen(ctx, [own], 1, { type: 'revision.status', from: 'BUILDING', to: 'BUILD_FAILED', reason: 'BUILD_FAILED' })
  await happen(ctx, [own], 1, { type: 'revision.status', from: 'QUEUED', to: 'AWAITING_BUILD' })
  await until(async () => (await noQueues()) && receiver.requests.length >= 6)
  const types = (path: string) => receiver.requests.filter((one) => one.path === path).map(({ body }) => body.type)
  expect(types('/deployed')).toEqual(['revision.deployed'])
  expect(types('/failed')).toEqual(['rollout.failed'])
  expect(types('/off')).toEqual([])
  expect(types('/all').filter((type) => !type.startsWith('webhook_endpoint.'))).toEqual([
    'revision.deployed',
    'rollout.failed',
    'revision.status',
  ])
})

test('a silent receiver delays no other endpoint, and gets one try at a time', async () => {
  receiver.answer = ({ path }) => (path === '/silent' ? null : 200)
  const { id } = await endpoint(ctx, url('/silent'))
  await endpoint(ctx, url('/well'))
  const ids = await Promise.all(Array.from({ length: 12 }, () => newDeployment(ctx)))
  await happen(ctx, ids, 5)
  await until(() => receiver.sequences('/well').length === 60)
  // at most four of its twelve queues hold a place
  expect(receiver.sequences('/silent').length).toBeLessThanOrEqual(4)
  await ctx.db.webhookEndpoint.update({ where: { id }, data: { unanswered: 1, silentSince: new Date() } })
  await Promise.all(servers.map((server) => server.stop()))
  servers = [createDeliveries(domain.core)]
  receiver.requests.length = 0
  await timePasses()
  await until(() => receiver.requests.length > 0)
  await rounds()
  expect(receiver.requests).toHaveLength(1)
})

test('a failing event holds up its deployment and no other one; later events follow in order', async () => {
  const [bad, good] = [await newDeployment(ctx), await newDeployment(ctx)]
  receiver.answer = ({ body }) => (body.data.deployment_id === bad ? 500 : 200)
  const { id } = await endpoint(ctx, url())
  await happen(ctx, [bad, good], 5)
  const got = (deploymentId: string) => receiver.requests.filter(({ body }) => body.data.deployment_id === deploymentId)
  await until(() => got(good).length === 5 && got(bad).length === 1)
  await rounds()
  expect(got(bad)).toHaveLength(1)
  expect(await deliveries(id, 'pending')).toHaveLength(5)
  receiver.answer = () => 200
  await timePasses()
  await until(noQueues)
  expect(got(bad)).toHaveLength(6)
  expectOrder(got(bad))
  expect(got(bad)[0]!.headers['webhook-id']).toBe(got(bad)[1]!.headers['webhook-id'])
})

test('after 24 hours of failures a delivery is a dead letter, the next one follows, and a replay sends it', async () => {
  const one = await newDeployment(ctx)
  receiver.answer = () => 503
  const { id } = await endpoint(ctx, url())
  await happen(ctx, [one])
  await until(async () => (await deliveries(id))[0]?.tries === 1)
  await aDayPasses()
  await timePasses()
  await until(noQueues)
  const [dead] = await deliveries(id, 'dead')
  expect(dead).toMatchObject({ tries: 2, answer: 503, error: 'answered 503', deadAt: expect.any(Date) })
  receiver.answer = () => 200
  await happen(ctx, [one])
  await until(async () => (await deliveries(id, 'delivered')).length === 1)
  expect(await replayDeliveries(ctx, { ...of(id), body: {} })).toEqual({ replayed: 1 })
  await until(noQueues)
  expect(await deliveries(id, 'dead')).toEqual([])
  expect(receiver.requests.at(-1)!.headers['webhook-id']).toBe(`msg_${dead!.id}`)
  const sent = [...(await deliveries(id))].map((delivery) => delivery.id)
  expect(await replayDeliveries(ctx, { ...of(id), body: { delivery_ids: sent } })).toEqual({ replayed: 2 })
  await until(noQueues)
})

test('an endpoint that was silent for 24 hours gives up on everything of that age with one try', async () => {
  const gone = await startReceiver()
  await gone.close()
  const ids = [await newDeployment(ctx), await newDeployment(ctx)]
  const { id } = await endpoint(ctx, gone.origin)
  await happen(ctx, ids, 3)
  await until(async () => (await ctx.db.webhookEndpoint.findUniqueOrThrow({ where: { id } })).silentSince !== null)
  await aDayPasses()
  await ctx.db.$executeRaw`UPDATE webhook_endpoints SET silent_since = now() - interval '25 hours'`
  await timePasses()
  await until(async () => (await deliveries(id, 'dead')).length === 6)
  await timePasses()
  await until(noQueues)
})

test('the lease of a killed server ends, and another server sends the rest', async () => {
  const one = await newDeployment(ctx)
  await endpoint(ctx, url())
  await happen(ctx, [one], 3)
  receiver.answer = () => null
  await until(() => receiver.requests.length === 1)
  // as if the server were killed: it holds the lease, and its request has no answer
  await rounds()
  expect(receiver.requests).toHaveLength(1)
  receiver.answer = () => 200
  const killed = servers.shift()!
  await timePasses()
  await until(noQueues)
  expect(new Set(receiver.sequences('/')).size).toBe(3)
  await killed.stop()
})

test('a redirect is not followed, and a long answer is refused', async () => {
  receiver.answer = () => 302
  const { id } = await endpoint(ctx, url())
  expect(await testEndpoint(ctx, of(id))).toMatchObject({
    delivered: false,
    answer: 302,
    error: 'The endpoint answered 302, and redirects are not followed.',
  })
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/'])
})

test('a host name that leads to a private address is refused at the connection, whatever a look-up said before', async () => {
  let lookUps = 0
  const sender = openSender({ allow: [] }, (_name, _options, done) => {
    lookUps++
    done(null, [{ address: '127.0.0.1', family: 4 }])
  })
  expect(sender.refusal('https://rebinding.example.com/')).toBe(null)
  const message = { id: 'msg_1', url: 'https://rebinding.example.com/', body: '{}', secrets: [], sentAt: new Date() }
  expect(await sender.send(message)).toEqual({
    kind: 'unanswered',
    error: 'has a host name that leads to a private address; see OUTBOUND_ALLOW',
  })
  expect(lookUps).toBe(1)
})

test('after a rotation messages are signed with both secrets for a day', async () => {
  const { id, secret } = await endpoint(ctx, url())
  const { secret: next } = await rotateEndpointSecret(ctx, of(id))
  expect(next).not.toBe(secret)
  await testEndpoint(ctx, of(id))
  for (const one of [secret, next!]) expect(verified(one, receiver.requests[0]!).type).toBe('webhook_endpoint.test')
  await ctx.db.$executeRaw`UPDATE webhook_endpoints SET previous_until = now() WHERE id = ${id}::uuid`
  await testEndpoint(ctx, of(id))
  expect(verified(next!, receiver.requests[1]!)).toBeDefined()
  expect(() => verified(secret, receiver.requests[1]!)).toThrow('No matching signature found')
})

test('Slack gets a text with a link', async () => {
  const one = await newDeployment(ctx)
  await ctx.db.deployment.update({ where: { id: one }, data: { name: 'support-agent' } })
  await endpoint(ctx, url(), { form: 'slack', event_types: ['rollout.failed'] })
  const failed = { from: 'BUILDING', to: 'BUILD_FAILED', message: 'npm ci failed: <no space>\nmore' } as const
  await happen(ctx, [one], 1, { type: 'revision.status', ...failed })
  await until(() => receiver.requests.length === 1)
  expect(receiver.requests[0]!.body).toEqual({
    text: `*support-agent* failed: npm ci failed: &lt;no space&gt; <http://pilothouse.test/w/${ctx.workspace.id}/deployments/${one}|Open>`,
  })
})

test('a disabled endpoint keeps its pending deliveries until it is enabled again', async () => {
  const one = await newDeployment(ctx)
  receiver.answer = () => 500
  const { id } = await endpoint(ctx, url())
  await happen(ctx, [one])
  await until(() => receiver.requests.length === 1)
  await updateEndpoint(ctx, { ...of(id), body: { enabled: false } })
  receiver.answer = () => 200
  await timePasses()
  await rounds()
  expect(await deliveries(id, 'pending')).toHaveLength(1)
  await updateEndpoint(ctx, { ...of(id), body: { enabled: true } })
  await until(noQueues)
  expect(receiver.requests).toHaveLength(2)
})

test('a round without work is one statement', async () => {
  await endpoint(ctx, url(), { name: randomUUID() })
  await until(noQueues)
  const { recorded, stop } = recordStatements()
  await servers[0]!.round(signal).finally(stop)
  expect(recorded.size).toBe(1)
})
