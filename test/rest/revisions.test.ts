/**
 * Deployments and revisions as only REST has them: details, comparison, pages and options. test/contract has their rules.
 */
import { describe, expect, test } from 'vitest'
import { bodies, NOWHERE, putStatus, useRestApp, violations } from './support.ts'

const app = useRestApp()

const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const list = (id: string, query = {}) => app.call('GET', `/v2/deployments/${id}/revisions`, { query })
const revise = async (id: string) => (await app.call('POST', `/v2/deployments/${id}/revisions`, { body: {} })).body.id

describe('reading', () => {
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
})

describe.each(['redeploy', 'interrupt'] as const)('%s', (verb) => {
  test('accepts no body, or an empty one with any content type', async () => {
    const { id, latest_revision_id } = await git()
    if (verb === 'redeploy') await putStatus(app.core, latest_revision_id, 'DEPLOYED')
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const path = `/v2/deployments/${id}/revisions/${latest_revision_id}/${verb}`
    expect((await app.call('POST', path, { headers, body: '' })).status).toBe(200)
  })
})

test('deletions accept a content type without a body, and refuse no ids and invalid options', async () => {
  const { id } = await app.create()
  const headers = { 'content-type': 'application/json' }
  const remove = (path: string, query = {}) => app.call('DELETE', `/v2/deployments${path}`, { query, headers })
  expect(violations(await remove('/nope', { force: 'perhaps' }))).toEqual([
    'path.deployment_id uuid_parsing',
    'query.force bool_parsing',
  ])
  expect(violations(await remove('', { deployment_ids: [] }))).toEqual(['query.deployment_ids missing'])
  expect((await app.call('GET', `/v2/deployments/${id}`, { headers })).status).toBe(200)
  expect((await remove(`/${id}`)).status).toBe(204)
})
