/**
 * A receiver of webhooks is away for an hour while 500 events happen and the server is killed twice. It gets all of them, in
 * order per deployment, with valid signatures.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { type TestDomain, testDomain } from '../support/domain.ts'
import { type RunningServer, startServer, temporaryFolder } from '../support/process.ts'
import { restOf } from '../support/rest-of.ts'
import { expectOrder, happen, newDeployment, type Receiver, startReceiver, verified } from '../webhooks/support.ts'

const KEY = 'cpk_webhooks_admin_key'
const EVENTS = 500
let domain: TestDomain
let ctx: RequestContext
let receiver: Receiver
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let server: RunningServer

const start = async () => {
  server = await startServer({
    DATABASE_URL: domain.url,
    DATA_DIR: folder.path,
    SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: KEY,
    OUTBOUND_ALLOW: '127.0.0.1',
    LOG_LEVEL: 'warn',
  })
}
const kill = async () => {
  server.child.kill('SIGKILL')
  await server.ended
}

beforeAll(async () => {
  ;[domain, receiver, folder] = await Promise.all([testDomain(), startReceiver(), temporaryFolder()])
  await start()
  const { id, organizationId } = await domain.core.db.workspace.findFirstOrThrow()
  const own = await domain.tenant()
  ctx = { ...own, workspace: { ...own.workspace, id, organizationId } }
})
afterAll(async () => {
  server?.child.kill('SIGTERM')
  await server?.ended
  await domain?.close()
  await receiver?.close()
  await folder?.remove()
})

test('a receiver that is away for an hour gets all 500 events, although the server is killed twice', async () => {
  const { db } = domain.core
  const rest = restOf(() => server.url, KEY)
  receiver.answer = () => 503
  const url = `${receiver.origin}/hook`
  const made = await rest('POST', '/v2/webhook-endpoints', { name: 'away', url, event_types: ['deployment.updated'] })
  const ids = await Promise.all(Array.from({ length: 10 }, () => newDeployment(ctx)))
  const tried = (tries: number) =>
    expect.poll(() => db.endpointDelivery.count({ where: { tries: { gte: tries } } }), { timeout: 20_000 }).toBe(10)
  await happen(ctx, ids, EVENTS / 20)
  await tried(1)
  await kill()
  await happen(ctx, ids, EVENTS / 20)
  await start()
  await expect.poll(() => db.endpointDelivery.count(), { timeout: 20_000 }).toBe(EVENTS)

  // an hour passes, and the receiver is back; the server is killed in the middle of the deliveries
  const hourPasses = async () => {
    await db.$executeRaw`UPDATE endpoint_deliveries SET queued_at = queued_at - interval '1 hour', created_at = created_at - interval '1 hour'`
    await db.$executeRaw`UPDATE endpoint_queues SET due_at = due_at - interval '1 hour', taken_until = taken_until - interval '1 hour'`
  }
  receiver.requests.length = 0
  const half = new Promise<void>((resolve) => {
    receiver.answer = () => {
      if (receiver.requests.length === EVENTS / 2) resolve()
      return 200
    }
  })
  await hourPasses()
  await half
  await kill()
  await hourPasses()
  await start()
  await expect.poll(() => db.endpointDelivery.count({ where: { deliveredAt: null } }), { timeout: 20_000 }).toBe(0)

  const firsts = [...new Map(receiver.requests.toReversed().map((one) => [one.headers['webhook-id'], one])).values()]
  expect(firsts).toHaveLength(EVENTS)
  // a request whose outcome the killed server had not recorded was sent again: at most one for each of four queues
  expect(receiver.requests.length).toBeLessThanOrEqual(EVENTS + 4)
  expectOrder(receiver.requests)
  for (const received of receiver.requests) expect(verified(made.secret, received).type).toBe('deployment.updated')
}, 90_000)
