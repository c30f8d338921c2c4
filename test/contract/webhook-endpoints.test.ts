/** Webhook endpoints over both transports (docs/webhooks.md). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { NOWHERE, useRestApp } from '../rest/support.ts'
import { type Receiver, startReceiver, verified } from '../webhooks/support.ts'
import { overBoth } from './api.ts'

const logged: string[] = []
const app = useRestApp(() => ({
  settings: { OUTBOUND_ALLOW: '127.0.0.1' },
  overrides: { log: createLogger('debug', { write: (line) => void logged.push(line) }) },
}))
let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
})
afterAll(() => receiver?.close())

const body = (more: object = {}) => ({ name: 'on-call', url: `${receiver.origin}/${randomUUID()}`, ...more })
const lastEvent = () =>
  app.core.db.event.findFirst({ where: { workspaceId: app.tenant.workspaceId }, orderBy: { sequence: 'desc' } })

overBoth(app, (api) => {
  const create = (more?: object) => api.get('createWebhookEndpoint', body(more))
  const of = ({ id }: { id: string }) => ({ webhook_endpoint_id: id })

  test('an endpoint is created with its defaults, read back, listed, changed and deleted', async () => {
    const sent = body()
    const made = await api.get('createWebhookEndpoint', sent)
    expect(made).toEqual({
      ...sent,
      id: expect.any(String),
      form: 'standard',
      event_types: ['revision.deployed', 'rollout.failed', 'alert.*'],
      enabled: true,
      silent_since: null,
      created_by: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect(await lastEvent()).toMatchObject({ type: 'webhook_endpoint.created', subjectId: made.id })
    expect(await api.get('getWebhookEndpoint', of(made))).toEqual(made)
    expect(await api.get('listWebhookEndpoints')).toContainEqual(made)
    const changes = { name: 'ops', form: 'slack', event_types: ['rollout.*', '*'], enabled: false }
    expect(await api.get('updateWebhookEndpoint', { ...of(made), ...changes })).toMatchObject(changes)
    expect(await lastEvent()).toMatchObject({ changed: ['name', 'form', 'event_types', 'enabled'] })
    expect((await api.call('deleteWebhookEndpoint', of(made))).ok).toBe(true)
    expect(await lastEvent()).toMatchObject({ type: 'webhook_endpoint.deleted', subjectId: made.id })
    await api.fails('getWebhookEndpoint', of(made), 'NOT_FOUND')
  })

  test('a test message is signed with the secret, which a rotation replaces, and its outcome is told', async () => {
    const made = await create()
    const { body: rotated } = await app.call('POST', `/v2/webhook-endpoints/${made.id}/rotate-secret`)
    const { secret } = rotated
    expect((await api.call('testWebhookEndpoint', of(made))).answer.text).toMatch(/"delivered":true,"answer":200/)
    expect(verified(secret, receiver.requests.at(-1)!)).toMatchObject({ type: 'webhook_endpoint.test' })
    const slack = await create({ form: 'slack' })
    await api.call('testWebhookEndpoint', of(slack))
    expect(receiver.requests.at(-1)!.body).toEqual({ text: 'Test of the webhook endpoint on-call.' })
  })

  test('deliveries are listed by their state and replayed', async () => {
    const made = await create({ enabled: false })
    const row = { endpointId: made.id, workspaceId: app.tenant.workspaceId, type: 'rollout.failed', orderingKey: 'x' }
    await app.core.db.endpointDelivery.createMany({
      data: [
        { ...row, sequence: 1, deliveredAt: new Date(), tries: 1, answer: 200 },
        { ...row, sequence: 2, deadAt: new Date(), tries: 9, error: 'answered 503', answer: 503 },
        { ...row, sequence: 3 },
      ],
    })
    const list = (state?: string) => api.get('listEndpointDeliveries', { ...of(made), ...(state && { state }) })
    expect((await list()).map(({ state }: { state: string }) => state).sort()).toEqual(['dead', 'delivered', 'pending'])
    const [dead] = await list('dead')
    expect(dead).toMatchObject({ event_type: 'rollout.failed', sequence: '2', tries: 9, answer: 503 })
    expect(await api.get('replayEndpointDeliveries', of(made))).toBe(1)
    expect(await list('dead')).toEqual([])
    expect(await list('pending')).toHaveLength(2)
    expect(await api.get('replayEndpointDeliveries', { ...of(made), delivery_ids: [dead.id, NOWHERE] })).toBe(0)
    await api.refuses('replayEndpointDeliveries', { ...of(made), delivery_ids: [] }, ['delivery_ids too_short'])
  })

  test.each<[object, ...string[]]>([
    [{ url: 'https://10.0.0.1/x' }, 'url value_error'],
    [{ url: 'https://[::1]/x' }, 'url value_error'],
    [{ url: 'http://hooks.example.com/x' }, 'url value_error'],
    [{ url: 'https://a:b@hooks.example.com/x' }, 'url value_error'],
    [{ url: 'hooks' }, 'url value_error'],
    [{ url: '' }, 'url string_too_short'],
    [{ name: 'a\nb' }, 'name string_pattern_mismatch'],
    [{ form: 'teams' }, 'form enum'],
    [{ event_types: [] }, 'event_types too_short'],
    [{ event_types: ['rollout.succeeded', '*'] }, 'event_types.0 value_error'],
    [{ name: undefined, url: undefined }, 'name missing', 'url missing'],
  ])('%j is refused', async (more, ...issues) => {
    await api.refuses('createWebhookEndpoint', body(more), issues)
  })

  describe('a caller without the role admin', () => {
    test.each(['deployer', 'viewer'] as const)('with the role %s reads and writes none', async (role) => {
      const own = of(await create())
      const how = { key: app.keys[role] }
      await api.fails('createWebhookEndpoint', body(), 'FORBIDDEN', how)
      await api.fails('updateWebhookEndpoint', { ...own, name: 'x' }, 'FORBIDDEN', how)
      for (const verb of ['get', 'delete', 'test'] as const)
        await api.fails(`${verb}WebhookEndpoint`, own, 'FORBIDDEN', how)
      await api.fails('rotateWebhookEndpointSecret', own, 'FORBIDDEN', how)
      await api.fails('replayEndpointDeliveries', own, 'FORBIDDEN', how)
      await api.fails('listEndpointDeliveries', own, 'FORBIDDEN', how)
      await api.fails('listWebhookEndpoints', {}, 'FORBIDDEN', how)
    })
  })
})

test('a workspace has at most 50 endpoints', async () => {
  const { workspaceId } = app.sibling
  const row = { workspaceId, name: 'x', url: 'https://hooks.example', form: 'standard', secret: 'x', cursor: 0 }
  await app.core.db.webhookEndpoint.createMany({ data: Array.from({ length: 50 }, () => row) })
  const answer = await app.call('POST', '/v2/webhook-endpoints', { key: app.sibling.keys.admin, body: body() })
  expect(answer).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
})

test('secrets are stored encrypted and are not in the log', async () => {
  const stored = JSON.stringify(await app.core.db.webhookEndpoint.findMany({ omit: { cursor: true } }))
  for (const text of [stored, logged.join('')]) expect(text).not.toContain('whsec_')
  expect(logged.join('')).not.toContain(receiver.requests.at(-1)!.path)
})
