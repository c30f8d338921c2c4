/** DELETE of one deployment and of many (docs/deployments.md#deployments). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RestApp, restApp, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const NOWHERE = '11111111-1111-1111-1111-111111111111'
const remove = (id: string, query = {}, key?: string) => app.call('DELETE', `/v2/deployments/${id}`, { query, key })
const get = (id: string) => app.call('GET', `/v2/deployments/${id}`)

/** A deployment that may exist in the runtime, so it must be torn down. */
async function begun() {
  const deployment = await app.create()
  await app.core.db.step.updateMany({ where: { deploymentId: deployment.id }, data: { firstTakenAt: new Date() } })
  return deployment
}

describe('DELETE of one', () => {
  test('is 204, shows AWAITING_DELETE and its revision INTERRUPTED; again is 204', async () => {
    const { id, latest_revision_id } = await begun()
    expect((await remove(id)).status).toBe(204)
    const now = await get(id)
    expect(now.body).toMatchObject({ status: 'AWAITING_DELETE', active_revision_id: null })
    expect(now.body.status_message).toEqual(expect.any(String))
    const revision = await app.call('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}`)
    expect(revision.body.status).toBe('INTERRUPTED')
    expect((await remove(id)).status).toBe(204)
  })

  test('that was never begun leaves nothing: GET is 404 immediately, a second DELETE 204', async () => {
    const { id } = await app.create()
    expect((await remove(id)).status).toBe(204)
    expect((await get(id)).status).toBe(404)
    expect((await remove(id)).status).toBe(204)
  })

  test('keeps the tracing project unless delete_tracing_project is set', async () => {
    const projects = (name: string) => app.core.db.tracingProject.count({ where: { name } })
    const kept = await app.create()
    await remove(kept.id)
    expect(await projects(kept.name)).toBe(1)
    const dropped = await app.create()
    await remove(dropped.id, { delete_tracing_project: 'true' })
    expect(await projects(dropped.name)).toBe(0)
  })

  test('by force needs an admin, and drops what can’t be torn down', async () => {
    const { id } = await begun()
    expect((await remove(id, { force: 'true' }, app.keys.deployer)).status).toBe(403)
    expect((await get(id)).body.status).not.toBe('AWAITING_DELETE')
    expect((await remove(id, { force: 'true' })).status).toBe(204)
    expect((await get(id)).status).toBe(404)
  })

  test('is 403 for viewers, 404 for an unknown id, 422 for an invalid id or option', async () => {
    const { id } = await app.create()
    expect((await remove(id, {}, app.keys.viewer)).status).toBe(403)
    expect((await remove(NOWHERE)).status).toBe(404)
    expect(violations(await remove('nope', { force: 'perhaps' }))).toEqual([
      'path.deployment_id uuid_parsing',
      'query.force bool_parsing',
    ])
  })

  test('accepts a content type without a body', async () => {
    const { id } = await app.create()
    const headers = { 'content-type': 'application/json' }
    expect((await app.call('GET', `/v2/deployments/${id}`, { headers })).status).toBe(200)
    expect((await app.call('DELETE', `/v2/deployments/${id}`, { headers })).status).toBe(204)
  })
})

describe('DELETE of many', () => {
  const removeAll = (ids: string[], key?: string) =>
    app.call('DELETE', '/v2/deployments', { query: { deployment_ids: ids }, key })

  test('is 200 when all are being deleted', async () => {
    const made = [await begun(), await app.create()]
    const answer = await removeAll(made.map(({ id }) => id))
    expect(answer.status).toBe(200)
    expect(answer.body.results).toEqual(made.map(({ id }) => ({ deployment_id: id, status: 204, detail: null })))
    expect((await get(made[0].id)).body.status).toBe('AWAITING_DELETE')
  })

  test('is 207 when some failed, and deletes the others', async () => {
    const { id } = await begun()
    const stranger = await app.create(undefined, { key: app.other.keys.admin })
    const answer = await removeAll([NOWHERE, id, stranger.id])
    expect(answer.status).toBe(207)
    expect(answer.body.results).toEqual([
      { deployment_id: NOWHERE, status: 404, detail: `Deployment ID ${NOWHERE} not found.` },
      { deployment_id: id, status: 204, detail: null },
      { deployment_id: stranger.id, status: 404, detail: `Deployment ID ${stranger.id} not found.` },
    ])
    expect((await get(id)).body.status).toBe('AWAITING_DELETE')
    expect((await app.call('GET', `/v2/deployments/${stranger.id}`, { key: app.other.keys.admin })).status).toBe(200)
  })

  test('deletes an id that is named twice once', async () => {
    const { id } = await begun()
    expect((await removeAll([id, id])).body.results).toHaveLength(1)
  })

  test('of none, of more than 100, or with an invalid id is 422; viewers get 403', async () => {
    expect(violations(await removeAll([]))).toEqual(['query.deployment_ids missing'])
    expect(violations(await removeAll(Array(101).fill(NOWHERE)))).toEqual(['query.deployment_ids too_long'])
    expect(violations(await removeAll([NOWHERE, 'x']))).toEqual(['query.deployment_ids.1 uuid_parsing'])
    expect((await removeAll([NOWHERE], app.keys.viewer)).status).toBe(403)
  })
})
