/** Listeners as a REST client sees them (docs/deployments.md#listeners, docs/protocol.md). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import type { Answer } from '../support/app.ts'
import { listenerKey, listener as stored } from '../support/factories.ts'
import { bodies, type CallOptions, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const body = (more: object = {}) => ({
  compute_type: 'k8s',
  compute_id: `cluster-${randomUUID()}`,
  compute_config: { k8s_namespaces: ['agents'] },
  ...more,
})
const post = (what: object, options?: CallOptions) => app.call('POST', '/v2/listeners', { body: what, ...options })
const patch = (id: string, what: object) => app.call('PATCH', `/v2/listeners/${id}`, { body: what })
const remove = (id: string) => app.call('DELETE', `/v2/listeners/${id}`)
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
/** Requests the deletion of a deployment with something to tear down, so that it stays for a while. */
async function beginDeleting(id: string) {
  await app.core.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
  expect((await app.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204)
}
const tearDown = (id: string) =>
  app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date(), tornDownAt: new Date() } })
const heard = (id: string, secondsAgo: number) =>
  app.core.db.listener.update({ where: { id }, data: { lastSeenAt: new Date(Date.now() - secondsAgo * 1000) } })
const lastEvent = () =>
  app.core.db.event.findFirst({ where: { workspaceId: app.tenant.workspaceId }, orderBy: { sequence: 'desc' } })

describe('Registering a listener', () => {
  test('returns it; it can be read back and found in the event log', async () => {
    const sent = body({ version: '1.2.3' })
    const answer = await post(sent)
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      ...sent,
      id: expect.any(String),
      pod_classes: [],
      status: 'OFFLINE',
      last_seen_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await get(answer.body.id)).body).toEqual(answer.body)
    expect(await lastEvent()).toMatchObject({ type: 'listener.created', subjectId: answer.body.id })
  })

  test('allows namespaces and version to come later', async () => {
    expect(await made({ compute_config: {} })).toMatchObject({
      compute_config: { k8s_namespaces: [] },
      version: null,
    })
    expect((await made({ compute_config: { k8s_namespaces: null } })).compute_config).toEqual({ k8s_namespaces: [] })
  })

  test('with a used compute ID is refused in the workspace, and works in another one', async () => {
    const sent = body()
    expect((await post(sent)).status).toBe(201)
    const again = await post(sent)
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({
      code: 'ALREADY_EXISTS',
      detail: `Listener for workspace ID '${app.tenant.workspaceId}' and compute ID '${sent.compute_id}' already exists.`,
    })
    expect((await post(sent, { key: app.sibling.keys.admin })).status).toBe(201)
  })

  test('many times concurrently with one compute ID creates one, and refuses the others', async () => {
    const sent = body()
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(sent)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    for (const { status, body } of answers) if (status === 409) expect(body.code).toBe('ALREADY_EXISTS')
  })

  test.each([
    [
      { compute_type: undefined, compute_id: undefined, compute_config: undefined },
      ['body.compute_config missing', 'body.compute_id missing', 'body.compute_type missing'],
    ],
    [{ compute_type: 'vm' }, ['body.compute_type enum']],
    [{ compute_id: '' }, ['body.compute_id string_too_short']],
    [{ compute_id: 'a\nb' }, ['body.compute_id string_pattern_mismatch']],
    [{ compute_id: 'x'.repeat(256) }, ['body.compute_id string_too_long']],
    [{ version: 7 }, ['body.version string_type']],
    [{ compute_config: null }, ['body.compute_config dict_type']],
    [{ compute_config: { k8s_namespaces: 'agents' } }, ['body.compute_config.k8s_namespaces list_type']],
    [{ compute_config: { k8s_namespaces: [7] } }, ['body.compute_config.k8s_namespaces.0 string_type']],
    [
      { compute_config: { k8s_namespaces: ['ok', 'Not', '-no', 'no-', 'n.o', '', 'x'.repeat(64)] } },
      [1, 2, 3, 4, 5, 6].map((i) => `body.compute_config.k8s_namespaces.${i} value_error`),
    ],
    [{ compute_config: { k8s_namespaces: ['a', 'b', 'a'] } }, ['body.compute_config.k8s_namespaces.2 value_error']],
  ])('%j is refused, naming each field', async (more, expected) => {
    expect(violations(await post(body(more)))).toEqual(expected)
  })

  test('accepts a namespace of 63 characters', async () => {
    const k8s_namespaces = ['x'.repeat(63), '0', 'a-b']
    expect((await made({ compute_config: { k8s_namespaces } })).compute_config).toEqual({ k8s_namespaces })
  })
})

test('the list is newest first, page by page', async () => {
  const own = await restApp()
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.unshift((await own.call('POST', '/v2/listeners', { body: body() })).body.id)
  const page = async (query: CallOptions['query']) => (await own.call('GET', '/v2/listeners', { query })).body
  const idsOf = (answer: { resources: { id: string }[] }) => answer.resources.map(({ id }) => id)
  expect(idsOf(await page({}))).toEqual(ids)
  const first = await page({ limit: 2 })
  expect([idsOf(first), first.offset]).toEqual([ids.slice(0, 2), 2])
  const second = await page({ limit: 2, offset: first.offset })
  expect([idsOf(second), second.offset]).toEqual([ids.slice(2), 3])
  for (const query of [{ limit: 0 }, { limit: 101 }, { offset: -1 }] as Record<string, number>[])
    expect((await own.call('GET', '/v2/listeners', { query })).status).toBe(422)
  await own.close()
})

describe('Changing a listener', () => {
  test('keeps absent and null members, and is in the event log', async () => {
    const one = await made({ version: '1' })
    const next = await patch(one.id, { version: '2', compute_config: null })
    expect(next.status).toBe(200)
    expect(next.body).toEqual({ ...one, version: '2', updated_at: expect.any(String) })
    expect(next.body.updated_at > one.updated_at).toBe(true)
    expect(await lastEvent()).toMatchObject({ type: 'listener.updated', subjectId: one.id })
    const told = await app.app.core.db.event.count({ where: { subjectId: one.id } })
    for (const same of [{}, { version: '2' }, { compute_config: one.compute_config }])
      expect((await patch(one.id, same)).body).toEqual(next.body)
    expect(await app.app.core.db.event.count({ where: { subjectId: one.id } })).toBe(told)
    const k8s_namespaces = ['agents', 'more']
    expect((await patch(one.id, { version: null, compute_config: { k8s_namespaces } })).body).toMatchObject({
      version: '2',
      compute_config: { k8s_namespaces },
    })
    expect((await patch(one.id, { compute_config: { k8s_namespaces: null } })).body.compute_config).toEqual({
      k8s_namespaces,
    })
    expect((await patch(one.id, { compute_config: { k8s_namespaces: [] } })).body.compute_config).toEqual({
      k8s_namespaces: [],
    })
  })

  test('accepts the returned values, but type and ID can’t be changed', async () => {
    const one = await made()
    expect((await patch(one.id, one)).status).toBe(200)
    const refused = await patch(one.id, { compute_id: 'another', compute_config: { k8s_namespaces: ['NO'] } })
    expect(violations(refused)).toEqual([
      'body.compute_config.k8s_namespaces.0 value_error',
      'body.compute_id value_error',
    ])
    expect(violations(await patch(one.id, { compute_type: 'vm' }))).toEqual(['body.compute_type enum'])
    expect((await get(one.id)).body.compute_id).toBe(one.compute_id)
  })

  test('removes a namespace only when no deployment is in it; others can always be added', async () => {
    const one = await made({ compute_config: { k8s_namespaces: ['blue', 'green'] } })
    const { body: deployment } = await deploy(one.id, 'blue')
    const set = (...k8s_namespaces: string[]) => patch(one.id, { compute_config: { k8s_namespaces } })
    const refused = await set('green')
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.detail).toMatch(/^1 deployment uses namespace 'blue', which would be removed: 'agent-/)
    expect((await set('blue', 'red')).body.compute_config).toEqual({ k8s_namespaces: ['blue', 'red'] })
    await beginDeleting(deployment.id)
    expect((await set('red')).body.detail).toContain(`'${deployment.name}' (being deleted)`)
    await tearDown(deployment.id)
    expect((await set('red')).status).toBe(200)
  })
})

describe('Deleting a listener', () => {
  test('removes it and its keys', async () => {
    const one = await made()
    const key = await listenerKey(app, { id: one.id, workspaceId: app.tenant.workspaceId })
    const status = async () => (await app.call('GET', '/v2/deployments', { key })).status
    expect(await status()).toBe(403)
    expect((await remove(one.id)).status).toBe(204)
    expect(await lastEvent()).toMatchObject({ type: 'listener.deleted', subjectId: one.id })
    expect((await get(one.id)).status).toBe(404)
    expect(await status()).toBe(401)
    expect((await remove(one.id)).status).toBe(404)
  })

  test('is refused while deployments use it: the answer lists them, including those being deleted', async () => {
    const one = await made()
    const deployments: { id: string; name: string }[] = []
    for (let i = 0; i < 7; i++) deployments.push((await deploy(one.id)).body)
    await beginDeleting(deployments[0]!.id)
    const refused = await remove(one.id)
    const names = deployments.slice(0, 5).map(({ name }) => `'${name}'`)
    names[0] += ' (being deleted)'
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(refused.body.detail).toBe(
      `7 deployments use listener ID ${one.id}: ${names.join(', ')} and 2 more. Delete them first, and wait until they are torn down.`,
    )
    for (const { id } of deployments) await tearDown(id)
    expect((await remove(one.id)).status).toBe(204)
  })
})

test('an unknown ID is not found, and an invalid one is refused', async () => {
  const id = randomUUID()
  const calls = (path: string): Promise<Answer>[] => [get(path), patch(path, {}), remove(path)]
  for (const answer of await Promise.all(calls(id))) {
    expect([answer.status, answer.body.code, answer.body.detail]).toEqual([
      404,
      'NOT_FOUND',
      `Listener ID ${id} not found.`,
    ])
  }
  for (const answer of await Promise.all(calls('x')))
    expect(violations(answer)).toEqual(['path.listener_id uuid_parsing'])
})

test.each(['viewer', 'deployer'] as const)('a %s reads listeners but changes none', async (role) => {
  const { id } = await made()
  const key = app.keys[role]
  expect((await app.call('GET', '/v2/listeners', { key })).status).toBe(200)
  expect((await app.call('GET', `/v2/listeners/${id}`, { key })).status).toBe(200)
  for (const [method, path] of [
    ['POST', '/v2/listeners'],
    ['PATCH', `/v2/listeners/${id}`],
    ['DELETE', `/v2/listeners/${id}`],
  ] as const) {
    const answer = await app.call(method, path, { key, ...(method === 'DELETE' ? {} : { body: {} }) })
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  }
})

test.each(['developer', 'plus', 'enterprise'] as const)('the plan %s has no listeners, for any call', async (plan) => {
  const own = await restApp()
  const { workspaceId, organizationId } = own.tenant
  const { id } = await stored(own)
  await own.core.db.organization.update({ where: { id: organizationId }, data: { plan } })
  for (const [method, path] of [
    ['POST', '/v2/listeners'],
    ['GET', '/v2/listeners'],
    ['GET', `/v2/listeners/${id}`],
    ['PATCH', `/v2/listeners/${id}`],
    ['DELETE', `/v2/listeners/${id}`],
  ] as const) {
    const answer = await own.call(method, path, method === 'POST' || method === 'PATCH' ? { body: body() } : {})
    expect([answer.status, answer.body.code]).toEqual([403, 'PLAN_REQUIRED'])
    expect(answer.body.detail).toBe(
      `Listeners cannot be created for workspace ID '${workspaceId}'. Creating listeners is only allowed for organizations with self-hosted enterprise plans.`,
    )
  }
  await own.close()
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

test('a deployment can’t use a listener without namespaces', async () => {
  const one = await made({ compute_config: {} })
  for (const answer of [await deploy(one.id, 'agents'), await deploy(one.id, 'agents')]) {
    expect(violations(answer)).toEqual(['body.source_config.listener_id value_error'])
    expect(answer.body.detail[0].msg).toContain('add them to compute_config.k8s_namespaces of the listener first')
  }
})
