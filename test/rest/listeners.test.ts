/** Pages of listeners over REST, and what deployments of a silent listener show. test/contract has the rules. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import { listenerKey, listener as stored } from '../support/factories.ts'
import { bodies, type CallOptions, useRestApp } from './support.ts'

const app = useRestApp()

const body = (more: object = {}) => ({
  compute_type: 'k8s',
  compute_id: `cluster-${randomUUID()}`,
  compute_config: { k8s_namespaces: ['agents'] },
  ...more,
})
const post = (what: object, options?: CallOptions) => app.call('POST', '/v2/listeners', { body: what, ...options })
const get = (id: string) => app.call('GET', `/v2/listeners/${id}`)
async function made(more?: object) {
  const answer = await post(body(more))
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const deploy = (listener_id: string, k8s_namespace?: string) =>
  app.call('POST', '/v2/deployments', {
    body: {
      ...bodies.external_container(),
      source_config: { listener_id, ...(k8s_namespace ? { listener_config: { k8s_namespace } } : {}) },
    },
  })
const heard = (id: string, secondsAgo: number) =>
  app.core.db.listener.update({ where: { id }, data: { lastSeenAt: new Date(Date.now() - secondsAgo * 1000) } })
test('the list is newest first, page by page', async () => {
  const { admin: key } = app.sibling.keys
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.unshift((await post(body(), { key })).body.id)
  const list = (query: CallOptions['query']) => app.call('GET', '/v2/listeners', { query, key })
  const page = async (query: CallOptions['query']) => (await list(query)).body
  const idsOf = (answer: { resources: { id: string }[] }) => answer.resources.map(({ id }) => id)
  expect(idsOf(await page({}))).toEqual(ids)
  const first = await page({ limit: 2 })
  expect([idsOf(first), first.offset]).toEqual([ids.slice(0, 2), 2])
  const second = await page({ limit: 2, offset: first.offset })
  expect([idsOf(second), second.offset]).toEqual([ids.slice(2), 3])
  for (const query of [{ limit: 0 }, { limit: 101 }, { offset: -1 }] as Record<string, number>[])
    expect((await list(query)).status).toBe(422)
})

describe('A silent listener', () => {
  test('is OFFLINE and its deployments are UNKNOWN; both end when it calls', async () => {
    const one = await made()
    const { body: deployment } = await deploy(one.id)
    const seen = async () => [
      (await get(one.id)).body.status,
      (await app.call('GET', `/v2/deployments/${deployment.id}`)).body.status,
    ]
    // it has not called yet; its deployments get the time for its installation
    expect(await seen()).toEqual(['OFFLINE', 'AWAITING_DATABASE'])
    await heard(one.id, 80)
    expect(await seen()).toEqual(['ONLINE', 'AWAITING_DATABASE'])
    await heard(one.id, 91)
    expect(await seen()).toEqual(['OFFLINE', 'UNKNOWN'])
    const unknown = await app.call('GET', '/v2/deployments', { query: { status: 'UNKNOWN' } })
    expect(unknown.body.resources.map(({ id }: { id: string }) => id)).toEqual([deployment.id])
    await app.core.db.deployment.update({ where: { id: deployment.id }, data: { provisionedAt: new Date() } })
    await heard(one.id, 0)
    expect(await seen()).toEqual(['ONLINE', 'READY'])
    expect((await get(one.id)).body.last_seen_at).toEqual(expect.any(String))
  })

  test('that never called: the time of its deployments counts from their creation', async () => {
    const { id } = await stored(app, { lastSeenAt: null, createdAt: new Date(Date.now() - 100_000) })
    expect((await get(id)).body).toMatchObject({ status: 'OFFLINE', last_seen_at: null })
    expect((await deploy(id)).body.status).toBe('UNKNOWN')
  })

  test('is named by a revision that waits for it', async () => {
    const one = await made()
    const { body } = await deploy(one.id, 'agents')
    const path = `/v2/deployments/${body.id}`
    const message = async () =>
      (await app.call('GET', `${path}/revisions/${body.latest_revision_id}`)).body.status_message
    const which = `Waiting for listener ${one.compute_id}`
    expect(await message()).toBe(`${which} to prepare the deployment.`)

    await heard(one.id, 1000)
    const { lastSeenAt } = await app.core.db.listener.findUniqueOrThrow({ where: { id: one.id } })
    const since = lastSeenAt!.toISOString().replace(/\.\d+/, '')
    await sweep(app.core)
    expect(await message()).toBe(`${which}, which has not called since ${since}, to prepare the deployment.`)
    await heard(one.id, 0)
    await sweep(app.core)
    expect(await message()).toBe(`${which} to prepare the deployment.`)
  })

  test('that stays silent for a day fails the waiting revisions, and is named', async () => {
    const one = await made()
    const { body } = await deploy(one.id, 'agents')
    await heard(one.id, 25 * 3600)
    await app.core.db
      .$executeRaw`UPDATE steps SET created_at = now() - interval '25 hours' WHERE deployment_id = ${body.id}::uuid`
    await sweep(app.core)
    const path = `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`
    const { status, status_message } = (await app.call('GET', path)).body
    expect(status).toBe('CREATE_FAILED')
    expect(status_message).toMatch(
      /^No worker took it for 24 h\. It waited for listener cluster-\S+, which has not called since \S+Z\.$/,
    )
  })

  test('is named by a deletion that waits for it, and force drops the deployment', async () => {
    const one = await made()
    const key = await listenerKey(app, { id: one.id, workspaceId: app.tenant.workspaceId })
    const post = (path: string, body: object) => app.call('POST', `/v2/listeners/${one.id}/${path}`, { key, body })
    const { body } = await deploy(one.id, 'agents')
    const [claim] = (await post('claims', {})).body.claims
    await post(`claims/${claim.claim_id}/release`, { token: claim.token })
    const path = `/v2/deployments/${body.id}`
    expect((await app.call('DELETE', path)).status).toBe(204)
    const message = async () => (await app.call('GET', path)).body.status_message
    expect(await message()).toBe(`Waiting for listener ${one.compute_id} to tear it down.`)
    await heard(one.id, 1000)
    await sweep(app.core)
    expect(await message()).toMatch(/, which has not called since \S+, to tear it down\.$/)
    expect((await app.call('DELETE', `/v2/listeners/${one.id}`)).status).toBe(409)
    expect((await app.call('DELETE', path, { query: { force: 'true' } })).status).toBe(204)
    expect((await app.call('GET', path)).status).toBe(404)
    expect((await app.call('DELETE', `/v2/listeners/${one.id}`)).status).toBe(204)
  })

  test('that never called is named as such', async () => {
    const one = await stored(app, { lastSeenAt: null, createdAt: new Date(Date.now() - 100_000) })
    const { body } = await deploy(one.id, 'agents')
    const { body: revision } = await app.call('GET', `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`)
    expect(revision.status_message).toBe(
      `Waiting for listener ${one.computeId}, which has never called, to prepare the deployment.`,
    )
  })
})
