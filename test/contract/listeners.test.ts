/** Listeners (docs/deployments.md#listeners, docs/protocol.md). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodies, useRestApp } from '../rest/support.ts'
import { newKey } from '../support/app.ts'
import { listener, listenerKey } from '../support/factories.ts'
import { type Api, type How, overBoth } from './api.ts'

const app = useRestApp()

const body = (more: object = {}) => ({
  compute_type: 'k8s',
  compute_id: `cluster-${randomUUID()}`,
  compute_config: { k8s_namespaces: ['agents'] },
  ...more,
})
const namespaces = (...k8s_namespaces: unknown[]) => ({ compute_config: { k8s_namespaces } })
const NAMESPACES = 'compute_config.k8s_namespaces'
const deploy = async (listener_id: string, k8s_namespace?: string) =>
  app.create({
    ...bodies.external_container(),
    source_config: { listener_id, ...(k8s_namespace ? { listener_config: { k8s_namespace } } : {}) },
  })
/** Requests the deletion of a deployment with something to tear down, so that it stays for a while. */
async function beginDeleting(id: string) {
  await app.core.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
  expect((await app.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204)
}
const tearDown = (id: string) =>
  app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date(), tornDownAt: new Date() } })
const lastEvent = () =>
  app.core.db.event.findFirst({ where: { workspaceId: app.tenant.workspaceId }, orderBy: { sequence: 'desc' } })

/** Calls about a listener, whose answers have no value. */
const CALLS: [string, (api: Api, id: string, how?: How) => ReturnType<Api['call']>][] = [
  ['createListener', (api, _id, how) => api.call('createListener', body(), how)],
  ['updateListener', (api, id, how) => api.call('updateListener', { listener_id: id }, how)],
  ['deleteListener', (api, id, how) => api.call('deleteListener', { listener_id: id }, how)],
  ['getListener', (api, id, how) => api.call('getListener', { listener_id: id }, how)],
  ['listListeners', (api, _id, how) => api.call('listListeners', {}, how)],
]

overBoth(app, (api) => {
  const create = (more?: object, how?: How) => api.get('createListener', body(more), how)
  const update = (listener_id: string, changes: object) => api.call('updateListener', { listener_id, ...changes })
  const remove = (listener_id: string) => api.call('deleteListener', { listener_id })
  const get = (listener_id: string) => api.get('getListener', { listener_id })

  describe('registering a listener', () => {
    test('returns it; it can be read back and found in the event log', async () => {
      const sent = body({ version: '1.2.3' })
      const made = await api.get('createListener', sent)
      expect(made).toEqual({
        ...sent,
        ...{ id: expect.any(String), pod_classes: [], status: 'OFFLINE', last_seen_at: null },
        ...{ created_at: expect.any(String), updated_at: expect.any(String) },
      })
      expect(await get(made.id)).toEqual(made)
      expect((await api.get('listListeners'))[0]).toEqual(made)
      expect(await lastEvent()).toMatchObject({ type: 'listener.created', subjectId: made.id })
    })

    test('allows namespaces and version to come later', async () => {
      for (const compute_config of [{}, { k8s_namespaces: null }])
        expect(await create({ compute_config })).toMatchObject({
          compute_config: { k8s_namespaces: [] },
          version: null,
        })
    })

    test('with a used compute ID is refused in the workspace, and works in another one', async () => {
      const sent = body()
      await api.get('createListener', sent)
      expect((await api.fails('createListener', sent, 'ALREADY_EXISTS')).message).toBe(
        `Listener for workspace ID '${app.tenant.workspaceId}' and compute ID '${sent.compute_id}' already exists.`,
      )
      await api.get('createListener', sent, { key: app.sibling.keys.admin })
    })

    test('many times concurrently with one compute ID creates one, and refuses the others', async () => {
      const sent = body()
      const answers = await Promise.all(Array.from({ length: 8 }, () => api.call('createListener', sent)))
      expect(answers.map(({ code }) => code ?? 'made').sort()).toEqual([...Array(7).fill('ALREADY_EXISTS'), 'made'])
    })

    test.each<[object, ...string[]]>([
      [
        { compute_type: undefined, compute_id: undefined, compute_config: undefined },
        ...['compute_config missing', 'compute_id missing', 'compute_type missing'],
      ],
      [{ compute_type: 'vm' }, 'compute_type enum'],
      [{ compute_id: '' }, 'compute_id string_too_short'],
      [{ compute_id: 'a\nb' }, 'compute_id string_pattern_mismatch'],
      [{ compute_id: 'x'.repeat(256) }, 'compute_id string_too_long'],
      [{ version: 7 }, 'version string_type'],
      [{ compute_config: null }, 'compute_config dict_type'],
      [{ compute_config: { k8s_namespaces: { a: 'b' } } }, `${NAMESPACES} list_type`],
      [namespaces(7), `${NAMESPACES}.0 string_type`],
      [
        namespaces('ok', 'Not', '-no', 'no-', 'n.o', '', 'x'.repeat(64)),
        ...[1, 2, 3, 4, 5, 6].map((i) => `${NAMESPACES}.${i} value_error`),
      ],
      [namespaces('a', 'b', 'a'), `${NAMESPACES}.2 value_error`],
    ])('%j is refused, naming each field', async (more, ...issues) => {
      await api.refuses('createListener', body(more), issues)
    })

    test('accepts a namespace of 63 characters', async () => {
      const { compute_config } = namespaces('x'.repeat(63), '0', 'a-b')
      expect(await create({ compute_config })).toMatchObject({ compute_config })
    })
  })

  describe('changing a listener', () => {
    test('keeps absent and null members, and is in the event log', async () => {
      const one = await create({ version: '1' })
      const { value: next } = await update(one.id, { version: '2', compute_config: null })
      expect(next).toEqual({ ...one, version: '2', updated_at: expect.any(String) })
      expect(next.updated_at > one.updated_at).toBe(true)
      expect(await lastEvent()).toMatchObject({ type: 'listener.updated', subjectId: one.id })
      const events = () => app.core.db.event.count({ where: { subjectId: one.id } })
      const told = await events()
      for (const same of [{}, { version: '2' }, { compute_config: one.compute_config }])
        expect((await update(one.id, same)).value).toEqual(next)
      expect(await events()).toBe(told)
      const more = namespaces('agents', 'more')
      expect((await update(one.id, { version: null, ...more })).value).toMatchObject({ version: '2', ...more })
      expect((await update(one.id, { compute_config: { k8s_namespaces: null } })).value).toMatchObject(more)
      expect((await update(one.id, namespaces())).value).toMatchObject(namespaces())
    })

    test('can’t change its type and ID', async () => {
      const { id, compute_id, compute_type } = await create()
      expect((await update(id, { compute_id, compute_type })).ok).toBe(true)
      const refused = { listener_id: id, compute_id: 'another', ...namespaces('NO') }
      await api.refuses('updateListener', refused, [`${NAMESPACES}.0 value_error`, 'compute_id value_error'])
      await api.refuses('updateListener', { listener_id: id, compute_type: 'vm' }, ['compute_type enum'])
      expect((await get(id)).compute_id).toBe(compute_id)
    })

    test('removes a namespace only when no deployment is in it; others can always be added', async () => {
      const { id } = await create(namespaces('blue', 'green'))
      const deployment = await deploy(id, 'blue')
      const set = (...names: string[]) => update(id, namespaces(...names))
      expect(await set('green')).toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/^1 deployment uses namespace 'blue', which would be removed: 'agent-/),
      })
      expect((await set('blue', 'red')).value).toMatchObject(namespaces('blue', 'red'))
      await beginDeleting(deployment.id)
      expect((await set('red')).message).toContain(`'${deployment.name}' (being deleted)`)
      await tearDown(deployment.id)
      expect((await set('red')).ok).toBe(true)
    })
  })

  describe('deleting a listener', () => {
    test('removes it and its keys', async () => {
      const { id } = await create()
      const key = await listenerKey(app, { id, workspaceId: app.tenant.workspaceId })
      const code = async () => (await app.call('GET', '/v2/deployments', { key })).status
      expect(await code()).toBe(403)
      expect((await remove(id)).ok).toBe(true)
      expect(await lastEvent()).toMatchObject({ type: 'listener.deleted', subjectId: id })
      await api.fails('getListener', { listener_id: id }, 'NOT_FOUND')
      expect(await code()).toBe(401)
      expect((await remove(id)).code).toBe('NOT_FOUND')
    })

    test('is refused while deployments use it: the answer lists them, including those being deleted', async () => {
      const { id } = await create()
      const deployments: { id: string; name: string }[] = []
      for (let i = 0; i < 7; i++) deployments.push(await deploy(id))
      await beginDeleting(deployments[0]!.id)
      const names = deployments.slice(0, 5).map(({ name }) => `'${name}'`)
      names[0] += ' (being deleted)'
      expect(await remove(id)).toMatchObject({
        code: 'CONFLICT',
        message: `7 deployments use listener ID ${id}: ${names.join(', ')} and 2 more. Delete them first, and wait until they are torn down.`,
      })
      for (const { id } of deployments) await tearDown(id)
      expect((await remove(id)).ok).toBe(true)
    })
  })

  test('an unknown ID or another tenant’s is not found, and an invalid one is refused', async () => {
    const { id } = await create()
    for (const verb of ['getListener', 'updateListener', 'deleteListener'] as const) {
      for (const [listener_id, key] of [
        [randomUUID(), app.keys.admin],
        [id, app.sibling.keys.admin],
        [id, app.other.keys.admin],
      ] as const)
        expect((await api.fails(verb, { listener_id }, 'NOT_FOUND', { key })).message).toBe(
          `Listener ID ${listener_id} not found.`,
        )
      await api.refuses(verb, { listener_id: 'x' }, ['listener_id uuid_parsing'])
    }
  })

  test.each(['viewer', 'deployer'] as const)('a %s reads listeners but changes none', async (role) => {
    const { id } = await create()
    for (const [name, call] of CALLS) {
      const { code } = await call(api, id, { key: app.keys[role] })
      expect([name, code]).toEqual([name, /^(get|list)/.test(name) ? undefined : 'FORBIDDEN'])
    }
  })

  describe('a plan without listeners', () => {
    const setPlan = (plan: 'self_hosted_enterprise' | 'developer' | 'plus' | 'enterprise') =>
      app.core.db.organization.update({ where: { id: app.other.organizationId }, data: { plan } })
    let id: string
    beforeAll(async () => {
      id = (await listener(app, { workspaceId: app.other.workspaceId })).id
    })
    afterAll(() => setPlan('self_hosted_enterprise'))

    test.each(['developer', 'plus', 'enterprise'] as const)('%s refuses every call', async (plan) => {
      await setPlan(plan)
      // a new key, because the plan of a caller is cached
      const key = await newKey(app.core, { ...app.other, role: 'admin' })
      for (const [name, call] of CALLS)
        expect([name, await call(api, id, { key })]).toMatchObject([
          name,
          {
            code: 'PLAN_REQUIRED',
            message: `Listeners cannot be created for workspace ID '${app.other.workspaceId}'. Creating listeners is only allowed for organizations with self-hosted enterprise plans.`,
          },
        ])
    })
  })

  test('a deployment can’t use a listener without namespaces', async () => {
    const { id } = await create({ compute_config: {} })
    const source_config = { listener_id: id, listener_config: { k8s_namespace: 'agents' } }
    const input = { ...bodies.external_container(), source_config }
    const refused = await api.refuses('createDeployment', input, ['source_config.listener_id value_error'])
    expect(refused.message).toContain('add them to compute_config.k8s_namespaces of the listener first')
  })
})
