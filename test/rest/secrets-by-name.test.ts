/** Secrets by name over REST (docs/deployments.md#secrets): set, unset, listed without values, and one revealed. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newKey } from '../support/app.ts'
import { bodies, type CallOptions, putStatus, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
/** A server that reveals at most two secrets a minute. */
let sparing: RestApp
beforeAll(async () => {
  app = await restApp()
  sparing = await restApp({ beside: app, settings: { REVEALS_PER_MINUTE: '2' } })
})
afterAll(async () => {
  await sparing.close()
  await app.close()
})

const MASK = '••••••••'
const pair = (name: string, value: string) => ({ name, value })
const TWO = [pair('TOKEN', 'very-secret'), pair('OTHER', 'also-secret')]
const create = (secrets = TWO) => app.create({ ...bodies.gitprovider(app.tenant.integrationId), secrets })
const change = (id: string, body: unknown, how: CallOptions = {}) =>
  app.call('PATCH', `/v2/deployments/${id}/secrets`, { ...how, body })
const list = async (id: string, how: CallOptions = {}) =>
  (await app.call('GET', `/v2/deployments/${id}/secrets`, how)).body.resources
const reveal = (id: string, name: string, how: CallOptions = {}, on = app) =>
  on.call('POST', `/v2/deployments/${id}/secrets/${name}/reveal`, how)
const valuesOf = async (id: string) => (await app.call('GET', `/v2/deployments/${id}`)).body.secrets
const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
const eventsOf = (deploymentId: string, type: string) =>
  app.core.db.event.findMany({ where: { deploymentId, type }, orderBy: { sequence: 'asc' } })

describe('A change by name', () => {
  test('sets and unsets together in one revision, and keeps the others', async () => {
    const { id, latest_revision_id: first } = await create([...TWO, pair('THIRD', '3')])
    const body = { set: [pair('NEW', 'n'), pair('TOKEN', 'rotated')], unset: ['OTHER'] }
    const answer = await change(id, body, { key: app.keys.deployer })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-revision-id')).toBe(answer.body.latest_revision_id)
    expect(answer.body.latest_revision_id).not.toBe(first)
    expect(answer.body.secrets).toEqual(['TOKEN', 'THIRD', 'NEW'].map((name) => pair(name, MASK)))
    expect(await valuesOf(id)).toEqual([pair('TOKEN', 'rotated'), pair('THIRD', '3'), pair('NEW', 'n')])
    expect(await revisionsOf(id)).toBe(2)
    expect((await eventsOf(id, 'deployment.updated')).map(({ changed }) => changed)).toEqual([['secrets']])
  })

  test('keeps the running revision’s build, like a PATCH of only secrets', async () => {
    const { id, latest_revision_id: first } = await create()
    await app.core.db.revision.update({
      where: { id: first },
      data: { artifact: 'built', repoCommitSha: 'a'.repeat(40) },
    })
    await putStatus(app.core, first, 'DEPLOYED')
    const { body } = await change(id, { set: [pair('NEW', 'n')] })
    const made = await app.core.db.revision.findUniqueOrThrow({ where: { id: body.latest_revision_id } })
    expect(made).toMatchObject({ artifact: 'built', repoCommitSha: 'a'.repeat(40), basedOnId: first })
  })

  test('without a change creates no revision and no event', async () => {
    const { id } = await create()
    for (const body of [{}, { set: [], unset: [] }, { set: null }]) {
      const answer = await change(id, body)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-revision-id')).toBeNull()
    }
    expect(await revisionsOf(id)).toBe(1)
    expect(await eventsOf(id, 'deployment.updated')).toEqual([])
  })

  test('by two callers of different secrets at the same moment keeps both', async () => {
    const { id } = await create()
    const names = Array.from({ length: 6 }, (_, i) => `AT_ONCE_${i}`)
    const answers = await Promise.all(names.map((name) => change(id, { set: [pair(name, name)], unset: [] })))
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    expect(new Set(answers.map(({ body }) => body.latest_revision_id)).size).toBe(names.length)
    const left = await valuesOf(id)
    expect(left).toHaveLength(TWO.length + names.length)
    expect(left).toEqual(expect.arrayContaining([...TWO, ...names.map((name) => pair(name, name))]))
  })

  test('reports every mistake together', async () => {
    const { id } = await create()
    const body = {
      set: [
        pair('1BAD', 'x'),
        pair('PORT', 'x'),
        pair('NEW', MASK),
        pair('TOKEN', 'x'),
        pair('A', 'x'),
        pair('A', 'y'),
      ],
      unset: ['MISSING', 'TOKEN', 'OTHER', 'OTHER'],
    }
    const answer = await change(id, body)
    expect(violations(answer)).toEqual([
      'body.set.0.name value_error',
      'body.set.1.name value_error',
      'body.set.2.value value_error',
      'body.set.5.name value_error',
      'body.unset.0 value_error',
      'body.unset.1 value_error',
      'body.unset.3 value_error',
    ])
    const said = answer.body.detail.map(({ msg }: { msg: string }) => msg)
    expect(said).toContain('There is no secret named MISSING.')
    expect(said).toContain('TOKEN is set by the same call: say one of the two.')
    expect(violations(await change(id, { set: [pair('BIG', 'x'.repeat(64 * 1024 + 1))] }))).toEqual([
      'body.set.0.value value_error',
    ])
    expect(violations(await change(id, { set: 'TOKEN', unset: [1] }))).toEqual([
      'body.set list_type',
      'body.unset.0 string_type',
    ])
    expect(await revisionsOf(id)).toBe(1)
  })

  test('refuses more than a thousand secrets, and a name of a reference', async () => {
    const { id } = await create(Array.from({ length: 1000 }, (_, i) => pair(`S${i}`, 'x')))
    expect(violations(await change(id, { set: [pair('ONE_MORE', 'x')] }))).toEqual(['body.set value_error'])
    expect((await change(id, { set: [pair('ONE_MORE', 'x')], unset: ['S0'] })).status).toBe(200)
    const body = {
      ...bodies.external_container(),
      secret_references: [{ name: 'REFERRED', secret_name: 's', secret_key: 'k' }],
    }
    const referring = await app.create(body)
    expect(violations(await change(referring.id, { set: [pair('REFERRED', 'x')] }))).toEqual([
      'body.set.0.name value_error',
    ])
  })

  test('needs a deployer of the workspace, and is refused during deletion', async () => {
    const { id } = await create()
    const body = { set: [pair('NEW', 'n')] }
    expect((await change(id, body, { key: app.keys.viewer })).status).toBe(403)
    expect((await change(id, body, { key: app.other.keys.admin })).status).toBe(404)
    expect((await change(id, body, { key: app.sibling.keys.admin })).status).toBe(404)
    expect((await change(randomUUID(), body)).status).toBe(404)
    expect(violations(await change('nonsense', body))).toEqual(['path.deployment_id uuid_parsing'])
    await app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date() } })
    expect((await change(id, body)).status).toBe(409)
  })

  test('with If-Match applies to that version only', async () => {
    const { id } = await create()
    const etag = (await app.call('GET', `/v2/deployments/${id}`)).headers.get('etag')!
    const once = (name: string) => change(id, { set: [pair(name, 'x')] }, { headers: { 'if-match': etag } })
    const [first, second] = await Promise.all([once('ONE'), once('TWO')])
    expect([first.status, second.status].sort()).toEqual([200, 412])
    const winner = first.status === 200 ? first : second
    expect((await app.call('GET', `/v2/deployments/${id}`)).headers.get('etag')).toBe(winner.headers.get('etag'))
  })

  test('with an Idempotency-Key takes effect once', async () => {
    const { id } = await create()
    const headers = { 'idempotency-key': randomUUID() }
    const first = await change(id, { set: [pair('NEW', 'n')], unset: ['OTHER'] }, { headers })
    const again = await change(id, { set: [pair('NEW', 'n')], unset: ['OTHER'] }, { headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.text).toBe(first.text)
    expect(await revisionsOf(id)).toBe(2)
  })
})

describe('The list', () => {
  const who = (name: string) => ({ kind: 'api_key', name, id: expect.any(String) })

  test('shows time and author of each, without values, to every reader', async () => {
    const { core } = app
    const key = (name: string) => newKey(core, { ...app.tenant, name, role: 'deployer' })
    const [ann, ben] = [await key('ann'), await key('ben')]
    const { id } = await app.create({ ...bodies.internal_container(), secrets: TWO }, { key: ann })
    const [before] = await list(id, { key: app.keys.viewer })
    expect(before).toEqual({ name: 'TOKEN', set_at: expect.any(String), set_by: who('ann') })
    await change(id, { set: [pair('OTHER', 'x'), pair('NEW', 'n')] }, { key: ben })
    const after = await list(id, { key: app.keys.viewer })
    expect(after).toEqual([
      before,
      { name: 'OTHER', set_at: expect.any(String), set_by: who('ben') },
      { name: 'NEW', set_at: expect.any(String), set_by: who('ben') },
    ])
    expect(after[1].set_at > before.set_at).toBe(true)
    // in a whole set that is sent, an unchanged value keeps its author
    const secrets = [pair('TOKEN', MASK), pair('OTHER', 'x'), pair('NEW', 'other')]
    await app.call('PATCH', `/v2/deployments/${id}`, { body: { secrets }, key: ann })
    expect((await list(id)).map((one: { set_by: { name: string } }) => one.set_by.name)).toEqual(['ann', 'ben', 'ann'])
  })

  test('has no time and author for secrets from earlier servers', async () => {
    const { id } = await create()
    await app.core.db.$executeRaw`UPDATE secret_sets SET set_by = NULL WHERE deployment_id = ${id}::uuid`
    expect(await list(id)).toEqual(TWO.map(({ name }) => ({ name, set_at: null, set_by: null })))
    await change(id, { set: [pair('NEW', 'n')] })
    expect(await list(id)).toEqual([
      ...TWO.map(({ name }) => ({ name, set_at: null, set_by: null })),
      { name: 'NEW', set_at: expect.any(String), set_by: expect.objectContaining({ kind: 'api_key' }) },
    ])
  })

  test('shows only the own workspace', async () => {
    const { id } = await create()
    const of = (key: string) => app.call('GET', `/v2/deployments/${id}/secrets`, { key })
    expect((await of(app.other.keys.admin)).status).toBe(404)
    expect((await of(app.sibling.keys.admin)).status).toBe(404)
  })
})

describe('A reveal', () => {
  test('returns the value to callers with the right, is stored nowhere, and is logged with the name only', async () => {
    const { id } = await create()
    const headers = { 'idempotency-key': randomUUID() }
    const answer = await reveal(id, 'TOKEN', { key: app.keys.secretsReader, headers })
    expect([answer.status, answer.body]).toEqual([200, TWO[0]])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('etag')).toBeNull()
    // not a stored answer: the current value
    await change(id, { set: [pair('TOKEN', 'rotated')] })
    const again = await reveal(id, 'TOKEN', { key: app.keys.secretsReader, headers })
    expect(again.body.value).toBe('rotated')
    expect(again.headers.get('idempotency-replayed')).toBeNull()
    const events = await app.call('GET', `/v2/deployments/${id}/events`, { query: { types: 'secret.revealed' } })
    expect(events.body.resources).toMatchObject([
      { type: 'secret.revealed', deployment_id: id, subject_id: 'TOKEN', actor: { kind: 'api_key' } },
      { subject_id: 'TOKEN' },
    ])
    expect(events.text).not.toContain('very-secret')
    expect(await app.core.db.idempotencyEntry.count({ where: { key: headers['idempotency-key'] } })).toBe(0)
  })

  test('is refused for callers without the right, and finds nothing of another workspace', async () => {
    const { id } = await create()
    for (const key of [app.keys.viewer, app.keys.deployer])
      expect((await reveal(id, 'TOKEN', { key })).status).toBe(403)
    for (const key of [app.other.keys.admin, app.sibling.keys.admin])
      expect((await reveal(id, 'TOKEN', { key })).status).toBe(404)
    const missing = await reveal(id, 'MISSING')
    expect([missing.status, missing.body.detail]).toEqual([404, 'There is no secret named MISSING.'])
    expect(await eventsOf(id, 'secret.revealed')).toEqual([])
  })

  test('above the limit per minute is a 429 with the time to wait, for that key only', async () => {
    const { id } = await create()
    const by = (key: string) => reveal(id, 'TOKEN', { key }, sparing)
    expect([await by(app.keys.admin), await by(app.keys.admin)].map(({ status }) => status)).toEqual([200, 200])
    const refused = await sparing.rest('POST', `/v2/deployments/${id}/secrets/TOKEN/reveal`, { key: app.keys.admin })
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await by(app.keys.secretsReader)).status).toBe(200)
    expect(await eventsOf(id, 'secret.revealed')).toHaveLength(3)
  })
})
