/** GET /v2/deployments: every filter of docs/api-rules.md#paging, and paging. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listener } from '../support/factories.ts'
import { bodies, type RestApp, restApp, set, violations } from './support.ts'

let app: RestApp
/** Ids by name, in order of creation. */
const ids: Record<string, string> = {}
let tags: { red: string; blue: string }

beforeAll(async () => {
  app = await restApp()
  const { db } = app.core
  const make = async (name: string, body: object) => {
    ids[name] = (await app.create({ ...body, name })).id
  }
  const git = () => bodies.gitprovider(app.tenant.integrationId)
  await make('git-dev', git())
  await make('git-prod', set(git(), 'source_config.deployment_type', 'prod'))
  await make('100%_sure', bodies.internal_container())
  await make('Image', bodies.internal_container())
  const cluster = await listener(app)
  await make('remote', set(bodies.external_container(), 'source_config.listener_id', cluster.id))

  const tag = async (value: string) =>
    (await db.tag.create({ data: { workspaceId: app.tenant.workspaceId, key: 'color', value } })).id
  tags = { red: await tag('red'), blue: await tag('blue') }
  await db.deploymentTag.createMany({
    data: [
      { deploymentId: ids['git-dev']!, tagId: tags.red },
      { deploymentId: ids.Image!, tagId: tags.blue },
    ],
  })
  const to = (name: string, data: object) => db.deployment.update({ where: { id: ids[name]! }, data })
  await to('git-dev', { provisionedAt: new Date(), imageVersion: '1.2.3' })
  await to('git-prod', { provisionedAt: new Date(), idle: true })
  await to('Image', { deletedAt: new Date() })
})
afterAll(() => app.close())

const names = async (query: Record<string, string | number>) => {
  const { status, body } = await app.call('GET', '/v2/deployments', { query })
  expect(status).toBe(200)
  return body.resources.map((deployment: { name: string }) => deployment.name)
}
const ALL = ['remote', 'Image', '100%_sure', 'git-prod', 'git-dev']

describe('The filter', () => {
  const rows: [string, () => Record<string, string>, string[]][] = [
    ['no filter: all, newest first', () => ({}), ALL],
    ['name: exactly this one', () => ({ name: 'git-dev' }), ['git-dev']],
    ['name: not a part of it', () => ({ name: 'git' }), []],
    ['name_contains: a part of it', () => ({ name_contains: 'git' }), ['git-prod', 'git-dev']],
    ['name_contains: in upper or lower case', () => ({ name_contains: 'iMAGE' }), ['Image']],
    ['name_contains: wildcards mean themselves', () => ({ name_contains: '%_s' }), ['100%_sure']],
    ['status READY', () => ({ status: 'READY' }), ['git-dev']],
    ['status UNUSED', () => ({ status: 'UNUSED' }), ['git-prod']],
    ['status AWAITING_DATABASE', () => ({ status: 'AWAITING_DATABASE' }), ['remote', '100%_sure']],
    ['status AWAITING_DELETE', () => ({ status: 'AWAITING_DELETE' }), ['Image']],
    ['status UNKNOWN', () => ({ status: 'UNKNOWN' }), []],
    ['remote_reconciled true', () => ({ remote_reconciled: 'true' }), ['remote']],
    ['remote_reconciled false', () => ({ remote_reconciled: 'false' }), ALL.slice(1)],
    ['remote_reconciled as 1', () => ({ remote_reconciled: '1' }), ['remote']],
    ['tag_value_ids: one', () => ({ tag_value_ids: tags.red }), ['git-dev']],
    ['tag_value_ids: any of several', () => ({ tag_value_ids: `${tags.red},${tags.blue}` }), ['Image', 'git-dev']],
    ['image_version', () => ({ image_version: '1.2.3' }), ['git-dev']],
    ['deployment_type', () => ({ deployment_type: 'prod' }), ['git-prod']],
    ['deployment_ids', () => ({ deployment_ids: `${ids.remote},${ids['git-dev']}` }), ['remote', 'git-dev']],
    ['filters together narrow', () => ({ name_contains: 'git', status: 'READY' }), ['git-dev']],
    [
      'empty values are no filters',
      () => ({
        name: '',
        name_contains: '',
        status: '',
        tag_value_ids: '',
        deployment_ids: '',
        remote_reconciled: '',
        image_version: '',
        deployment_type: '',
      }),
      ALL,
    ],
  ]
  test.each(rows)('%s', async (_what, query, expected) => {
    expect(await names(query())).toEqual(expected)
  })

  test('status UNKNOWN finds the deployments of a silent listener', async () => {
    const silent = { lastSeenAt: new Date(Date.now() - 91_000) }
    await app.core.db.listener.updateMany({ data: silent })
    expect(await names({ status: 'UNKNOWN' })).toEqual(['remote'])
    expect((await app.call('GET', `/v2/deployments/${ids.remote}`)).body.status).toBe('UNKNOWN')
    await app.core.db.listener.updateMany({ data: { lastSeenAt: new Date() } })
  })

  test.each([
    ['limit', '0', 'greater_than_equal'],
    ['limit', '101', 'less_than_equal'],
    ['limit', 'many', 'int_parsing'],
    ['limit', '1.5', 'int_parsing'],
    ['offset', '-1', 'greater_than_equal'],
    ['offset', 'x', 'int_parsing'],
    ['status', 'FINE', 'enum'],
    ['remote_reconciled', 'perhaps', 'bool_parsing'],
    ['deployment_type', 'huge', 'enum'],
  ])('%s=%s is 422', async (name, value, type) => {
    const answer = await app.call('GET', '/v2/deployments', { query: { [name]: value } })
    expect(violations(answer)).toEqual([`query.${name} ${type}`])
  })

  test.each(['deployment_ids', 'tag_value_ids'])('%s with an invalid id is 422', async (name) => {
    const answer = await app.call('GET', '/v2/deployments', { query: { [name]: `${ids.remote},x` } })
    expect(violations(answer)).toEqual([`query.${name}.1 uuid_parsing`])
  })

  test('a text filter with a NUL is 422', async () => {
    const answer = await app.call('GET', '/v2/deployments', { query: { name: 'a\0' } })
    expect(violations(answer)).toEqual(['query.name value_error'])
  })

  test('all violations are reported together', async () => {
    const answer = await app.call('GET', '/v2/deployments', { query: { limit: 0, offset: -1, status: 'x' } })
    expect(violations(answer)).toEqual([
      'query.limit greater_than_equal',
      'query.offset greater_than_equal',
      'query.status enum',
    ])
  })
})

describe('paging', () => {
  test('the offset in the answer fetches the next page, until there is none', async () => {
    const seen: string[] = []
    let offset = 0
    for (;;) {
      const { body } = await app.call('GET', '/v2/deployments', { query: { limit: 2, offset } })
      if (body.resources.length === 0) break
      seen.push(...body.resources.map((deployment: { name: string }) => deployment.name))
      offset = body.offset
    }
    expect(seen).toEqual(ALL)
    expect(offset).toBe(5)
  })

  test('limit is 20 by default, at most 100', async () => {
    await Promise.all(Array.from({ length: 18 }, () => app.create(undefined, { key: app.sibling.keys.admin })))
    const own = app.sibling.keys.admin
    await Promise.all(Array.from({ length: 4 }, () => app.create(undefined, { key: own })))
    const first = await app.call('GET', '/v2/deployments', { key: own })
    expect([first.body.resources.length, first.body.offset]).toEqual([20, 20])
    const most = await app.call('GET', '/v2/deployments', { key: own, query: { limit: 100 } })
    expect([most.body.resources.length, most.body.offset]).toEqual([22, 22])
  })

  test('an offset beyond the end is an empty page', async () => {
    const { body } = await app.call('GET', '/v2/deployments', { query: { offset: 1000 } })
    expect(body).toEqual({ resources: [], offset: 1000 })
  })
})

test('viewers may list and read', async () => {
  const key = app.keys.viewer
  expect((await app.call('GET', '/v2/deployments', { key })).status).toBe(200)
  expect((await app.call('GET', `/v2/deployments/${ids.remote}`, { key })).status).toBe(200)
})

test('GET of an unknown id is 404, of an invalid one 422', async () => {
  const id = '22222222-2222-2222-2222-222222222222'
  const answer = await app.call('GET', `/v2/deployments/${id}`)
  expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
    404,
    'NOT_FOUND',
    `Deployment ID ${id} not found.`,
  ])
  expect(violations(await app.call('GET', '/v2/deployments/nope'))).toEqual(['path.deployment_id uuid_parsing'])
})
