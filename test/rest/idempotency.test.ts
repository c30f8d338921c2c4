/**
 * Idempotency-Key in REST (docs/api-rules.md#retries): a repeated write gets the first answer and takes effect once.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lockEntries } from '../../src/domain/idempotency/entries.ts'
import type { Answer } from '../support/app.ts'
import { bodies, type CallOptions, type RestApp, restApp } from './support.ts'

let app: RestApp
/** Another server on the same database. */
let other: RestApp
beforeAll(async () => {
  app = await restApp()
  other = await restApp({ beside: app })
})
afterAll(async () => {
  await other.close()
  await app.close()
})

const under = (key: string, more: Record<string, string> = {}) => ({ 'idempotency-key': key, ...more })
/** The parts that two answers to one call must share. */
const said = ({ status, text, headers }: Answer) => [status, text, headers.get('x-revision-id'), headers.get('etag')]
const replayed = ({ headers }: Answer) => headers.get('idempotency-replayed')
const violation = (answer: Answer) => [answer.status, ...(answer.body.detail as { loc: string[]; type: string }[])]
const REUSED = [422, { loc: ['header', 'Idempotency-Key'], msg: expect.any(String), type: 'idempotency_key_reused' }]
const update = (id: string, key: string, body: object, how: CallOptions = {}, on = app) =>
  on.call('PATCH', `/v2/deployments/${id}`, { ...how, body, headers: under(key, how.headers) })
const ref = (name: string) => ({ source_revision_config: { repo_ref: name } })
const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
/** Clears the cache of callers, so their rights are looked up again. */
const forget = (keyId: string) => app.core.onKeyRevoked?.(keyId)
const git = async () => app.create(bodies.gitprovider(app.tenant.integrationId))

test('a repeated create gets the first answer on every server, and creates one deployment', async () => {
  const body = { ...bodies.gitprovider(app.tenant.integrationId), secrets: [{ name: 'TOKEN', value: 'sesame' }] }
  const key = randomUUID()
  const create = (on: RestApp) => on.call('POST', '/v2/deployments', { body, headers: under(key) })
  const first = await create(app)
  expect(first.status).toBe(201)
  expect(first.headers.get('x-revision-id')).toBe(first.body.latest_revision_id)
  expect(replayed(first)).toBeNull()
  for (const on of [app, other]) {
    const again = await create(on)
    expect(said(again)).toEqual(said(first))
    expect(replayed(again)).toBe('true')
  }
  expect(first.body.secrets).toEqual([{ name: 'TOKEN', value: 'sesame' }])
  expect(await app.core.db.deployment.count({ where: { name: body.name } })).toBe(1)
  // also when it is no longer the newest, and another deployment has its name
  await update(first.body.id, randomUUID(), ref('next'))
  await app.call('DELETE', `/v2/deployments/${first.body.id}`)
  await app.call('POST', '/v2/deployments', { body })
  expect(said(await create(app))).toEqual(said(first))
})

test('another body, path or query under the same key is a 422; the order of members does not count', async () => {
  const { id } = await git()
  const key = randomUUID()
  const first = await update(id, key, { source_revision_config: { repo_ref: 'a', graph_config_path: 'g.json' } })
  const reordered = await update(id, key, { source_revision_config: { graph_config_path: 'g.json', repo_ref: 'a' } })
  expect(said(reordered)).toEqual(said(first))
  expect(violation(await update(id, key, ref('b')))).toEqual(REUSED)
  expect(violation(await update((await git()).id, key, ref('a'), {}, other))).toEqual(REUSED)
  expect(violation(await app.call('DELETE', `/v2/deployments/${id}`, { headers: under(key) }))).toEqual(REUSED)
  // reported with all other violations, and only after the role check
  expect((await update(id, key, { secrets: 1 })).body.detail).toMatchObject([
    REUSED[1],
    { loc: ['body', 'secrets'], type: 'list_type' },
  ])
  expect(await revisionsOf(id)).toBe(2)
})

test('a key belongs to its caller: another API key or workspace is independent', async () => {
  const { id } = await git()
  const key = randomUUID()
  const mine = await update(id, key, ref('a'))
  const yours = await update(id, key, ref('b'), { key: app.keys.deployer })
  expect(yours.status).toBe(200)
  expect(yours.headers.get('x-revision-id')).not.toBe(mine.headers.get('x-revision-id'))
  const create = (tenant: string) =>
    app.call('POST', '/v2/deployments', {
      key: app.keys.organization,
      body: bodies.internal_container(),
      headers: under(key, { 'x-tenant-id': tenant }),
    })
  expect((await create(app.tenant.workspaceId)).status).toBe(201)
  expect((await create(app.sibling.workspaceId)).status).toBe(201)
})

test('a refusal is not stored: the same call with the same key may succeed later', async () => {
  const body = bodies.internal_container()
  const taken = await app.create({ ...body })
  const key = randomUUID()
  const create = () => app.call('POST', '/v2/deployments', { body, headers: under(key) })
  expect((await create()).status).toBe(409)
  await app.call('DELETE', `/v2/deployments/${taken.id}`)
  const made = await create()
  expect([made.status, replayed(made)]).toEqual([201, null])
  expect(replayed(await create())).toBe('true')
})

test('a repeat shows secret values only to callers who may read them now, while the set is kept', async () => {
  const { id } = await git()
  const key = randomUUID()
  const body = { secrets: [{ name: 'TOKEN', value: `open-${key}` }] }
  const first = await update(id, key, body, { key: app.keys.deployer })
  expect(first.body.secrets).toEqual([{ name: 'TOKEN', value: '••••••••' }])
  const stored = await app.core.db.idempotencyEntry.findFirstOrThrow({ where: { key } })
  expect(JSON.stringify(stored)).not.toContain(`open-${key}`)
  const again = () => update(id, key, body, { key: app.keys.deployer })
  expect(said(await again())).toEqual(said(first))
  await app.core.db.apiKey.updateMany({ where: { id: stored.subject }, data: { secretsRead: true } })
  forget(stored.subject)
  expect((await again()).body.secrets).toEqual(body.secrets)
  await update(id, randomUUID(), { secrets: [] })
  await app.core.db.revision.updateMany({ where: { secretSetId: stored.secretSetId }, data: { secretSetId: null } })
  await app.core.db.secretSet.delete({ where: { id: stored.secretSetId! } })
  expect(said(await again())).toEqual(said(first))
  await app.core.db.apiKey.updateMany({ where: { id: stored.subject }, data: { secretsRead: false } })
  forget(stored.subject)
})
test('a caller who lost the right to write is refused before the store answers', async () => {
  const { id } = await git()
  const key = randomUUID()
  const first = await update(id, key, ref('a'), { key: app.keys.deployer })
  expect(first.status).toBe(200)
  const { subject } = await app.core.db.idempotencyEntry.findFirstOrThrow({ where: { key } })
  const again = () => update(id, key, ref('a'), { key: app.keys.deployer })
  await app.core.db.apiKey.update({ where: { id: subject }, data: { role: 'viewer' } })
  forget(subject)
  expect((await again()).status).toBe(403)
  await app.core.db.apiKey.update({ where: { id: subject }, data: { role: 'deployer' } })
  forget(subject)
  expect(said(await again())).toEqual(said(first))
})

test('a repeat of a call in progress is 409 immediately, on every server', async () => {
  const { id } = await git()
  const key = randomUUID()
  await app.core.db
    .$transaction(async (sql) => {
      await sql.$queryRaw`SELECT 1 FROM deployments WHERE id = ${id}::uuid FOR UPDATE`
      const first = update(id, key, ref('a'))
      await expect.poll(() => app.core.keysInUse.size).toBe(1)
      const here = await update(id, key, ref('a'))
      expect([here.status, here.body.code, here.headers.get('retry-after')]).toEqual([
        409,
        'IDEMPOTENCY_IN_FLIGHT',
        '1',
      ])
      return { first }
    })
    .then(async ({ first }) => expect((await first).status).toBe(200))
  expect(app.core.keysInUse.size).toBe(0)

  const next = randomUUID()
  const caller = await app.context(app.keys.admin)
  const of = { workspaceId: caller.workspace.id, subject: caller.actor.subject, key: next }
  await other.core.transact(async ({ query }) => {
    expect(await lockEntries(query, of, '')).toEqual([])
    expect((await update(id, next, ref('b'))).body.code).toBe('IDEMPOTENCY_IN_FLIGHT')
  })
  expect((await update(id, next, ref('b'))).status).toBe(200)
})

test('of ten concurrent calls on two servers one takes effect, and all answers are equal', async () => {
  const { id } = await git()
  const before = await revisionsOf(id)
  const key = randomUUID()
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      for (;;) {
        const answer = await update(id, key, ref('a'), {}, n % 2 ? app : other)
        if (answer.status !== 409) return answer
      }
    }),
  )
  expect(new Set(answers.map((answer) => JSON.stringify(said(answer)))).size).toBe(1)
  expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1)
  expect(await revisionsOf(id)).toBe(before + 1)
})

test('a key is 1 to 255 printable characters, bare or in quotes', async () => {
  const { id } = await git()
  const read = async (key: string) => {
    const answer = await update(id, key, ref('a'))
    return answer.status === 200 ? replayed(answer) : answer.body.detail[0].type
  }
  expect(await read('abc')).toBeNull()
  expect(await read('"abc"')).toBe('true')
  expect(await read('"a \\"b\\" c"')).toBeNull()
  expect(await read('x'.repeat(255))).toBeNull()
  expect(await read('x'.repeat(256))).toBe('string_too_long')
  for (const empty of ['', '""']) expect(await read(empty)).toBe('missing')
  for (const wrong of ['a b', '"open', 'ü', '"a" "b"']) expect(await read(wrong)).toBe('string_pattern_mismatch')
  // only for callers who may write
  expect((await update(id, '', ref('a'), { key: app.keys.viewer })).status).toBe(403)
})

test('a bulk call does each item once: an interrupted one continues where it stopped', async () => {
  const ids = [(await app.create()).id, (await app.create()).id, randomUUID()]
  const key = randomUUID()
  const remove = (deployment_ids: string[]) =>
    app.call('DELETE', '/v2/deployments', { query: { deployment_ids }, headers: under(key) })
  const first = await remove(ids)
  expect(first.status).toBe(207)
  expect(first.body.results.map(({ status }: { status: number }) => status)).toEqual([204, 204, 404])
  const events = () => app.core.db.event.count({ where: { deploymentId: { in: ids }, type: 'deployment.deleted' } })
  expect(await events()).toBe(2)
  const again = await remove(ids)
  expect(again.body).toEqual(first.body)
  expect(await events()).toBe(2)
  expect(violation(await remove(ids.slice(0, 1)))).toEqual(REUSED)
  // the second item had not been done yet
  await app.core.db.idempotencyEntry.deleteMany({ where: { key, position: '/1' } })
  expect((await remove(ids)).body).toEqual(first.body)
})

test('an outcome is stored for a day; then the key is new', async () => {
  const { id } = await git()
  const key = randomUUID()
  const first = await update(id, key, ref('a'))
  await app.core.db.$executeRaw`
    UPDATE idempotency_entries SET created_at = now() - interval '24 hours' WHERE key = ${key}`
  const next = await update(id, key, ref('b'))
  expect([next.status, replayed(next)]).toEqual([200, null])
  expect(next.headers.get('x-revision-id')).not.toBe(first.headers.get('x-revision-id'))
  expect(said(await update(id, key, ref('b')))).toEqual(said(next))
})

test('reads, and results that are unique per call, ignore the key', async () => {
  const { id } = await app.create(bodies.internal_source())
  const headers = under(randomUUID())
  const list = () => app.call('GET', '/v2/deployments', { headers })
  expect((await list()).status).toBe(200)
  const upload = async () => (await app.call('POST', `/v2/deployments/${id}/upload-url`, { headers })).body.object_path
  expect(await upload()).not.toBe(await upload())
  expect(await app.core.db.idempotencyEntry.count({ where: { key: headers['idempotency-key'] } })).toBe(0)
})
