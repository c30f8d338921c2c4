/** Tags of a deployment over both transports (docs/deployments.md#tags). */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { useRestApp } from '../rest/support.ts'
import { gitDeployment } from '../support/factories.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

const tag = (key: string, value = randomUUID().slice(0, 8)) => ({ key, value })

overBoth(app, (api) => {
  const set = (deployment_id: string, tags: unknown, how: How = { key: app.keys.deployer }) =>
    api.call('setDeploymentTags', { deployment_id, tags }, how)
  const tagsOf = (deployment_id: string, how?: How) => api.get('listDeploymentTags', { deployment_id }, how)
  const pairs = (tags: { key: string; value: string }[]) => tags.map(({ key, value }) => ({ key, value }))

  test('replace the previous tags, are shared by deployments, and filter the list', async () => {
    const [one, two] = [await gitDeployment(app), await gitDeployment(app)]
    const [team, stage] = [tag('team'), tag('stage')]
    expect((await set(one.id, [team, stage, team])).value.tags).toEqual([stage, team])
    await set(two.id, [team])
    const found = await tagsOf(one.id, { key: app.keys.viewer })
    expect(pairs(found)).toEqual([stage, team])
    expect(await tagsOf(two.id)).toEqual([found[1]])
    expect(await api.get('listTags', { limit: 100 })).toEqual(expect.arrayContaining(found))

    const tagged = async ({ id }: { id: string }) =>
      (await api.get('listDeployments', { tag_value_ids: [id] })).map((deployment: { id: string }) => deployment.id)
    expect(await tagged(found[1])).toEqual([two.id, one.id])
    await set(one.id, [])
    expect(await tagged(found[1])).toEqual([two.id])
    expect(await tagged(found[0])).toEqual([])
  })

  test('are events of the deployment and change its version, unless nothing changed', async () => {
    const { id } = await gitDeployment(app)
    const versionOf = async () => (await api.call('getDeployment', { deployment_id: id })).version!
    const version = await versionOf()
    const tags = [tag('team')]
    for (const _ of [1, 2]) await set(id, tags)
    const events = await app.core.db.event.findMany({ where: { deploymentId: id, type: 'deployment.tagged' } })
    expect(events.map(({ changed }) => changed)).toEqual([['tags']])
    expect(await versionOf()).toBeGreaterThan(version)
    expect((await set(id, [], { version })).code).toBe('PRECONDITION_FAILED')
    expect((await set(id, [], { version: await versionOf() })).ok).toBe(true)
  })

  test('have limits, and need the role deployer and a live deployment', async () => {
    const { id } = await gitDeployment(app)
    const input = { deployment_id: id, tags: [{ key: '', value: 'x'.repeat(129) }] }
    await api.refuses('setDeploymentTags', input, ['tags.0.key string_too_short', 'tags.0.value string_too_long'])
    const many = Array.from({ length: 51 }, (_, i) => tag('k', String(i)))
    await api.refuses('setDeploymentTags', { deployment_id: id, tags: many }, ['tags too_long'])
    await api.refuses('setDeploymentTags', { deployment_id: id }, ['tags missing'])
    expect((await set(id, [], { key: app.keys.viewer })).code).toBe('FORBIDDEN')
    await app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date() } })
    expect((await set(id, [])).code).toBe('CONFLICT')
  })

  test('of another tenant’s deployment are not found', async () => {
    const { id } = await gitDeployment(app)
    for (const key of [app.sibling.keys.admin, app.other.keys.admin]) {
      await api.fails('listDeploymentTags', { deployment_id: id }, 'NOT_FOUND', { key })
      await api.fails('setDeploymentTags', { deployment_id: id, tags: [] }, 'NOT_FOUND', { key })
    }
  })

  test('are created once by concurrent calls', async () => {
    const deployments = await Promise.all(Array.from({ length: 8 }, () => gitDeployment(app)))
    const tags = Array.from({ length: 10 }, (_, i) => tag(`at-once-${api.over}`, String(i)))
    await Promise.all(deployments.map(({ id }, i) => set(id, i % 2 ? tags : [...tags].reverse())))
    const [first, ...others] = await Promise.all(deployments.map(({ id }) => tagsOf(id)))
    expect(pairs(first)).toEqual(tags)
    for (const other of others) expect(other).toEqual(first)
  })
})
