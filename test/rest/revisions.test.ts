/** Revisions over REST: reading, redeploy, interrupt (docs/deployments.md#revisions-and-rollouts). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodies, putStatus, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const NOWHERE = '11111111-1111-1111-1111-111111111111'
const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const list = (id: string, query = {}) => app.call('GET', `/v2/deployments/${id}/revisions`, { query })
const get = (id: string, rid: string) => app.call('GET', `/v2/deployments/${id}/revisions/${rid}`)
const act = (verb: 'redeploy' | 'interrupt', id: string, rid: string, key?: string) =>
  app.call('POST', `/v2/deployments/${id}/revisions/${rid}/${verb}`, { key })
const revise = async (id: string) => (await app.call('POST', `/v2/deployments/${id}/revisions`, { body: {} })).body.id

describe('reading', () => {
  test('a revision shows every field', async () => {
    const deployment = await git()
    const { body } = await get(deployment.id, deployment.latest_revision_id)
    expect(body).toEqual({
      id: deployment.latest_revision_id,
      deployment_id: deployment.id,
      status: 'CREATING',
      status_message: 'Preparing.',
      reason: 'IN_PROGRESS',
      reason_since: expect.any(String),
      source: 'gitprovider',
      source_revision_config: deployment.source_revision_config,
      attempt: 1,
      number: 1,
      commit_message: null,
      commit_author: null,
      trigger: 'create',
      created_by: { kind: 'api_key', name: expect.any(String), id: expect.any(String) },
      rollout_at: body.created_at,
      rollout_by: body.created_by,
      superseded_by_id: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      updated_at: expect.any(String),
    })
  })

  test('its details show its work', async () => {
    const { id, latest_revision_id: first } = await git()
    const { status, body } = await app.call('GET', `/v2/deployments/${id}/revisions/${first}/details`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      revision_id: first,
      is_active: false,
      can_redeploy: false,
      why_not_redeployable: 'it is being prepared',
      queue_position: expect.any(Number),
      steps: [{ kind: 'PROVISION', started_at: null, outcome: null, is_current: true }],
      durations: { waited: null, provision: null, build: null, deploy: null, total: null },
      secret_fingerprints: [],
      effective_resources: { min_scale: 1, max_scale: 1, db_max_connections: 100 },
      secret_references: [],
      build_plan: null,
    })
    expect((await app.call('GET', `/v2/deployments/${id}/revisions/${NOWHERE}/details`)).status).toBe(404)
    expect((await app.call('GET', `/v2/deployments/${NOWHERE}/revisions/${first}/details`)).status).toBe(404)
  })

  test('two revisions are compared; one of another deployment, or an unknown one, is refused', async () => {
    const { id, latest_revision_id: from } = await git()
    const { body: changed } = await app.call('PATCH', `/v2/deployments/${id}`, {
      body: { source_revision_config: { repo_ref: 'next' }, secrets: [{ name: 'A', value: 'b' }] },
    })
    const to = changed.latest_revision_id
    const compare = (query: Record<string, string>, of = id) =>
      app.call('GET', `/v2/deployments/${of}/compare`, { query })
    expect((await compare({ from, to })).body).toMatchObject({
      from: { id: from, number: 1, superseded_by_id: to },
      to: { id: to, number: 2, trigger: 'update' },
      is_same: false,
      differences: [{ part: 'source', field: 'repo_ref', from: 'main', to: 'next' }],
      secrets: { added: ['A'], removed: [], changed: [] },
      secret_references: { added: [], removed: [], changed: [] },
      resources_known: true,
    })
    expect((await compare({ from, to: from, redeployed: 'true' })).body.is_same).toBe(true)
    const other = await git()
    expect((await compare({ from, to: other.latest_revision_id })).status).toBe(404)
    expect((await compare({ from, to }, other.id)).status).toBe(404)
    expect((await compare({ from, to }, NOWHERE)).status).toBe(404)
    expect(violations(await compare({ from }))).toBeTruthy()
    expect((await compare({ from, to: 'x' })).status).toBe(422)
  })

  test('concurrent polls each get their own revision, or their own 404', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, git))
    const wrong = made.map(({ latest_revision_id: rid }, i) => [made[(i + 1) % made.length].id, rid])
    const asked = [...made.map((one) => [one.id, one.latest_revision_id]), ...wrong, [made[0].id, NOWHERE]]
    const answers = await Promise.all(asked.map(([id, rid]) => get(id, rid)))
    for (const [i, { status, body }] of answers.entries())
      expect([status, body.id ?? body.code]).toEqual(i < made.length ? [200, asked[i]![1]] : [404, 'NOT_FOUND'])
  })

  test('the list is newest first; its offset fetches the next page; filters narrow it', async () => {
    const { id, latest_revision_id: first } = await git()
    const second = await revise(id)
    const third = await revise(id)
    const seen = async (query: object) => (await list(id, query)).body.resources.map((r: { id: string }) => r.id)
    expect(await seen({})).toEqual([third, second, first])
    const page = await list(id, { limit: 2 })
    expect(page.body.resources.map((r: { id: string }) => r.id)).toEqual([third, second])
    expect(await seen({ limit: 2, offset: page.body.offset })).toEqual([first])
    expect(await seen({ status: 'CREATING' })).toEqual([third])
    expect(await seen({ status: 'SKIPPED' })).toEqual([second, first])
    expect(await seen({ status: 'CREATING,SKIPPED' })).toEqual([third, second, first])
    expect(await seen({ status: 'DEPLOYED' })).toEqual([])
    expect(await seen({ status: '' })).toEqual([third, second, first])
    expect(await seen({ remote_reconciled: 'false' })).toEqual([third, second, first])
    expect(await seen({ remote_reconciled: 'true' })).toEqual([])
  })

  test.each([
    ['limit', '0', 'query.limit greater_than_equal'],
    ['limit', '101', 'query.limit less_than_equal'],
    ['offset', '-1', 'query.offset greater_than_equal'],
    ['status', 'FINE', 'query.status.0 enum'],
    ['remote_reconciled', 'x', 'query.remote_reconciled bool_parsing'],
  ])('the list with %s=%s is 422', async (name, value, expected) => {
    const { id } = await git()
    expect(violations(await list(id, { [name]: value }))).toEqual([expected])
  })

  test('an unknown id is 404, an invalid one 422', async () => {
    const { id, latest_revision_id } = await git()
    const other = await git()
    expect((await list(NOWHERE)).body.detail).toBe(`Deployment ID ${NOWHERE} not found.`)
    expect((await get(NOWHERE, latest_revision_id)).body.detail).toBe(`Deployment ID ${NOWHERE} not found.`)
    expect((await get(id, NOWHERE)).body.detail).toBe(`Revision ID ${NOWHERE} not found.`)
    expect((await get(other.id, latest_revision_id)).body.detail).toBe(`Revision ID ${latest_revision_id} not found.`)
    expect(violations(await get('a', 'b'))).toEqual([
      'path.deployment_id uuid_parsing',
      'path.revision_id uuid_parsing',
    ])
    expect(violations(await list('a'))).toEqual(['path.deployment_id uuid_parsing'])
  })
})

describe('redeploy', () => {
  test('runs an ended revision again and returns the deployment, whose latest revision stays', async () => {
    const { id, latest_revision_id: first } = await git()
    await putStatus(app.core, first, 'DEPLOYED')
    const second = await revise(id)
    await putStatus(app.core, second, 'BUILD_FAILED')
    const answer = await act('redeploy', id, first)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id, latest_revision_id: second })
    expect((await get(id, first)).body).toMatchObject({ id: first, attempt: 2, status: 'AWAITING_BUILD' })
  })

  test('is 400 during progress, without anything to run, and when the deployment is being deleted', async () => {
    const running = await git()
    const answer = await act('redeploy', running.id, running.latest_revision_id)
    expect([answer.status, answer.body.code]).toEqual([400, 'NOT_REDEPLOYABLE'])
    expect(answer.body.detail).toContain('it is being prepared')

    const empty = await app.create(bodies.internal_container())
    await putStatus(app.core, empty.latest_revision_id, 'DEPLOY_FAILED')
    expect((await act('redeploy', empty.id, empty.latest_revision_id)).body.detail).toContain('nothing to build or run')

    await app.core.db.deployment.update({ where: { id: running.id }, data: { deletedAt: new Date() } })
    const deleted = await act('redeploy', running.id, running.latest_revision_id)
    expect([deleted.status, deleted.body.detail]).toEqual([400, expect.stringContaining('being deleted')])
  })
})

describe('interrupt', () => {
  test('stops a revision immediately and returns it', async () => {
    const { id, latest_revision_id } = await git()
    const answer = await act('interrupt', id, latest_revision_id)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ id: latest_revision_id, status: 'INTERRUPTED' })
  })

  test('is 409 when it has ended', async () => {
    const { id, latest_revision_id } = await git()
    await putStatus(app.core, latest_revision_id, 'DEPLOYED')
    const answer = await act('interrupt', id, latest_revision_id)
    expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT'])
  })
})

describe.each(['redeploy', 'interrupt'] as const)('%s', (verb) => {
  test('viewers get 403, unknown ids 404, invalid ids 422', async () => {
    const { id, latest_revision_id } = await git()
    expect((await act(verb, id, latest_revision_id, app.keys.viewer)).status).toBe(403)
    expect((await act(verb, NOWHERE, latest_revision_id)).body.detail).toBe(`Deployment ID ${NOWHERE} not found.`)
    expect((await act(verb, id, NOWHERE)).body.detail).toBe(`Revision ID ${NOWHERE} not found.`)
    expect(violations(await act(verb, 'a', 'b'))).toEqual([
      'path.deployment_id uuid_parsing',
      'path.revision_id uuid_parsing',
    ])
  })

  test('accepts no body, or an empty one with any content type', async () => {
    const { id, latest_revision_id } = await git()
    if (verb === 'redeploy') await putStatus(app.core, latest_revision_id, 'DEPLOYED')
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const path = `/v2/deployments/${id}/revisions/${latest_revision_id}/${verb}`
    expect((await app.call('POST', path, { headers, body: '' })).status).toBe(200)
  })
})
