/** The list of deployments: every filter of docs/api-rules.md#paging, and REST's paging. */
import { beforeAll, describe, expect, test } from 'vitest'
import { bodies, set, useRestApp, violations } from '../rest/support.ts'
import { listener } from '../support/factories.ts'
import { overBoth } from './api.ts'

const app = useRestApp()
/** Ids by name, in order of creation. */
const ids: Record<string, string> = {}
let tags: { red: string; blue: string }

beforeAll(async () => {
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

const ALL = ['remote', 'Image', '100%_sure', 'git-prod', 'git-dev']

overBoth(app, (api) => {
  const names = async (filter: object, key?: string) =>
    (await api.get('listDeployments', { ...filter }, { key })).map(({ name }: { name: string }) => name)

  test.each<[string, () => object, string[]]>([
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
    ['remote_reconciled true', () => ({ remote_reconciled: true }), ['remote']],
    ['remote_reconciled false', () => ({ remote_reconciled: false }), ALL.slice(1)],
    ['tag_value_ids: one', () => ({ tag_value_ids: [tags.red] }), ['git-dev']],
    ['tag_value_ids: any of several', () => ({ tag_value_ids: [tags.red, tags.blue] }), ['Image', 'git-dev']],
    ['image_version', () => ({ image_version: '1.2.3' }), ['git-dev']],
    ['deployment_type', () => ({ deployment_type: 'prod' }), ['git-prod']],
    ['deployment_ids', () => ({ deployment_ids: [ids.remote, ids['git-dev']] }), ['remote', 'git-dev']],
    ['filters together narrow', () => ({ name_contains: 'git', status: 'READY' }), ['git-dev']],
    [
      'empty values are no filters',
      () => ({ name: '', name_contains: '', tag_value_ids: [], deployment_ids: [], image_version: '' }),
      ALL,
    ],
  ])('%s', async (_what, filter, expected) => {
    expect(await names(filter())).toEqual(expected)
  })

  test('viewers may list, and other tenants see none', async () => {
    expect(await names({}, app.keys.viewer)).toEqual(ALL)
    for (const key of [app.sibling.keys.admin, app.other.keys.admin])
      expect(await names({}, key)).not.toContain('remote')
  })

  test('status UNKNOWN finds the deployments of a silent listener', async () => {
    const heard = (msAgo: number) =>
      app.core.db.listener.updateMany({ data: { lastSeenAt: new Date(Date.now() - msAgo) } })
    await heard(91_000)
    expect(await names({ status: 'UNKNOWN' })).toEqual(['remote'])
    expect((await api.get('getDeployment', { deployment_id: ids.remote })).status).toBe('UNKNOWN')
    await heard(0)
  })

  test.each([
    [{ status: 'FINE' }, 'status enum'],
    [{ deployment_type: 'huge' }, 'deployment_type enum'],
    [{ deployment_ids: ['11111111-1111-1111-1111-111111111111', 'x'] }, 'deployment_ids.1 uuid_parsing'],
    [{ tag_value_ids: ['x'] }, 'tag_value_ids.0 uuid_parsing'],
    [{ name: 'a\0' }, 'name value_error'],
  ])('%j is refused', async (filter, violation) => {
    await api.refuses('listDeployments', filter, [violation])
  })
})

describe('over REST', () => {
  const query = async (query: Record<string, string | number>) => {
    const { status, body } = await app.call('GET', '/v2/deployments', { query })
    expect(status).toBe(200)
    return body.resources.map((deployment: { name: string }) => deployment.name)
  }

  test('a list of ids may be one value, a boolean a number, and any value empty', async () => {
    expect(await query({ deployment_ids: `${ids.remote},${ids['git-dev']}` })).toEqual(['remote', 'git-dev'])
    expect(await query({ tag_value_ids: `${tags.red},${tags.blue}` })).toEqual(['Image', 'git-dev'])
    expect(await query({ remote_reconciled: '1' })).toEqual(['remote'])
    const every = ['name', 'name_contains', 'status', 'tag_value_ids', 'deployment_ids', 'remote_reconciled']
    const empty = Object.fromEntries([...every, 'image_version', 'deployment_type'].map((name) => [name, '']))
    expect(await query(empty)).toEqual(ALL)
    const answer = await app.call('GET', '/v2/deployments', { query: { deployment_ids: `${ids.remote},x` } })
    expect(violations(answer)).toEqual(['query.deployment_ids.1 uuid_parsing'])
  })

  test.each([
    ['limit', '0', 'greater_than_equal'],
    ['limit', '101', 'less_than_equal'],
    ['limit', 'many', 'int_parsing'],
    ['limit', '1.5', 'int_parsing'],
    ['offset', '-1', 'greater_than_equal'],
    ['offset', 'x', 'int_parsing'],
    ['remote_reconciled', 'perhaps', 'bool_parsing'],
  ])('%s=%s is refused, with all other violations', async (name, value, type) => {
    const answer = await app.call('GET', '/v2/deployments', { query: { [name]: value, status: 'x' } })
    expect(violations(answer)).toEqual([`query.${name} ${type}`, 'query.status enum'])
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
})
