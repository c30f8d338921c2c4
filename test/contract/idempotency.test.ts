/** Idempotency keys (docs/api-rules.md#retries): a repeated write gets the first answer and takes effect once. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { lockEntries } from '../../src/domain/idempotency/entries.ts'
import { bodies, uniqueName, useRestApp } from '../rest/support.ts'
import { bothOf, type How, type Outcome, overBoth, type VerbName } from './api.ts'

const app = useRestApp()
/** Another server on the same database. */
const other = useRestApp(() => ({ beside: app }))

const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const under = (key: string, how: How = {}): How => ({ ...how, headers: { 'idempotency-key': key } })
/** The parts that two answers to one call must share. */
const said = ({ answer: { status, text, headers } }: Outcome) => [
  ...[status, text, headers.get('x-revision-id'), headers.get('etag')],
]
const replayed = ({ answer }: Outcome) => answer.headers.get('idempotency-replayed')
const ref = (name: string) => ({ source_revision_config: { repo_ref: name } })
const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
const entryOf = (key: string) => app.core.db.idempotencyEntry.findFirstOrThrow({ where: { key } })
/** Changes the rights of a key, and forgets that they are known. */
async function change(subject: string, data: { role?: 'viewer' | 'deployer'; secretsRead?: boolean }) {
  await app.core.db.apiKey.update({ where: { id: subject }, data })
  app.core.onKeyRevoked?.(subject)
}

overBoth(app, (api) => {
  const elsewhere = bothOf(other).find(({ over }) => over === api.over)!
  const update = (deployment_id: string, key: string, changes: object, how?: How, on = api) =>
    on.call('updateDeployment', { deployment_id, ...changes }, under(key, how))
  const isReused = (outcome: Outcome) =>
    expect(outcome).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [expect.stringMatching(/idempotency.*key idempotency_key_reused$/i)],
    })

  test('a repeated create gets the first answer on every server, and creates one deployment', async () => {
    const secrets = [{ name: 'TOKEN', value: 'sesame' }]
    const body = { ...bodies.gitprovider(app.tenant.integrationId), secrets }
    const key = randomUUID()
    const create = (on = api) => on.call('createDeployment', body, under(key))
    const first = await create()
    expect(first.value.secrets).toEqual(secrets)
    expect([first.revision, replayed(first)]).toEqual([first.value.latest_revision_id, null])
    for (const on of [api, elsewhere]) {
      const again = await create(on)
      expect([said(again), replayed(again)]).toEqual([said(first), 'true'])
    }
    expect(await app.core.db.deployment.count({ where: { name: body.name } })).toBe(1)
    // also when it is no longer the newest, and another deployment has its name
    await update(first.value.id, randomUUID(), ref('next'))
    await api.get('deleteDeployment', { deployment_id: first.value.id })
    await api.get('createDeployment', body)
    expect(said(await create())).toEqual(said(first))
  })

  test('another call under the same key is refused; the order of members does not count', async () => {
    const { id } = await git()
    const key = randomUUID()
    const first = await update(id, key, { source_revision_config: { repo_ref: 'a', graph_config_path: 'g.json' } })
    const reordered = { source_revision_config: { graph_config_path: 'g.json', repo_ref: 'a' } }
    expect(said(await update(id, key, reordered))).toEqual(said(first))
    isReused(await update(id, key, ref('b')))
    isReused(await update((await git()).id, key, ref('a'), {}, elsewhere))
    isReused(await api.call('deleteDeployment', { deployment_id: id }, under(key)))
    for (const each of bothOf(app)) isReused(await each.call('createRevision', { deployment_id: id }, under(key)))
    expect(await revisionsOf(id)).toBe(2)
  })

  test('a key belongs to its caller: another API key or workspace is independent', async () => {
    const { id } = await git()
    const key = randomUUID()
    const mine = await update(id, key, ref('a'))
    const yours = await update(id, key, ref('b'), { key: app.keys.deployer })
    expect(yours.ok).toBe(true)
    expect(yours.revision).not.toBe(mine.revision)
    for (const { workspaceId: tenant } of [app.tenant, app.sibling])
      await api.get('createDeployment', bodies.internal_container(), under(key, { key: app.keys.organization, tenant }))
  })

  test('a refusal is not stored: the same call with the same key may succeed later', async () => {
    const body = bodies.internal_container()
    const taken = await app.create({ ...body })
    const key = randomUUID()
    const create = () => api.call('createDeployment', body, under(key))
    expect((await create()).code).toBe('ALREADY_EXISTS')
    await api.get('deleteDeployment', { deployment_id: taken.id })
    expect([replayed(await create()), replayed(await create())]).toEqual([null, 'true'])
  })

  test('a repeat shows secret values only to callers who may read them now, while the set is kept', async () => {
    const { id } = await git()
    const key = randomUUID()
    const secrets = [{ name: 'TOKEN', value: `open-${key}` }]
    const again = () => update(id, key, { secrets }, { key: app.keys.deployer })
    const first = await again()
    expect(first.value.secrets).toEqual([{ name: 'TOKEN', value: '••••••••' }])
    const stored = await entryOf(key)
    expect(JSON.stringify(stored)).not.toMatch(new RegExp(`open-${key}|ciphertext`))
    expect(said(await again())).toEqual(said(first))
    await change(stored.subject, { secretsRead: true })
    expect((await again()).value.secrets).toEqual(secrets)
    await app.core.db.deployment.update({ where: { id }, data: { secretSetId: null } })
    await app.core.db.revision.updateMany({ where: { deploymentId: id }, data: { secretSetId: null } })
    await app.core.db.secretSet.deleteMany({ where: { deploymentId: id } })
    expect(said(await again())).toEqual(said(first))
    await change(stored.subject, { secretsRead: false })
  })

  test('a caller who lost the right to write is refused before the store answers', async () => {
    const { id } = await git()
    const key = randomUUID()
    const again = () => update(id, key, ref('a'), { key: app.keys.deployer })
    const first = await again()
    const { subject } = await entryOf(key)
    await change(subject, { role: 'viewer' })
    expect((await again()).code).toBe('FORBIDDEN')
    await change(subject, { role: 'deployer' })
    expect([said(await again()), first.ok]).toEqual([said(first), true])
  })

  test('a repeat of a call in progress is refused immediately, on every server', async () => {
    const { id } = await git()
    const key = randomUUID()
    const refused = async (next: string) => {
      const { code, answer } = await update(id, next, ref('a'))
      expect([code, answer.status, answer.headers.get('retry-after')]).toEqual(['IDEMPOTENCY_IN_FLIGHT', 409, '1'])
    }
    const [first] = await app.core.db.$transaction(async (sql) => {
      await sql.$queryRaw`SELECT 1 FROM deployments WHERE id = ${id}::uuid FOR UPDATE`
      const running = update(id, key, ref('a'))
      await expect.poll(() => app.core.keysInUse.size).toBe(1)
      await refused(key)
      return [running]
    })
    expect((await first!).ok).toBe(true)
    expect(app.core.keysInUse.size).toBe(0)

    const next = randomUUID()
    const { workspace, actor } = await app.context(app.keys.admin)
    await other.core.transact(async ({ query }) => {
      expect(await lockEntries(query, { workspaceId: workspace.id, subject: actor.subject, key: next }, '')).toEqual([])
      await refused(next)
    })
    expect((await update(id, next, ref('a'))).ok).toBe(true)
  })

  test('of ten concurrent calls on two servers one takes effect, and all answers are equal', async () => {
    const { id } = await git()
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        for (;;) {
          const outcome = await update(id, key, ref('a'), {}, n % 2 ? api : elsewhere)
          if (outcome.code !== 'IDEMPOTENCY_IN_FLIGHT') return outcome
        }
      }),
    )
    expect(new Set(answers.map((outcome) => JSON.stringify(said(outcome)))).size).toBe(1)
    expect(answers.filter((outcome) => replayed(outcome) === null)).toHaveLength(1)
    expect(await revisionsOf(id)).toBe(2)
  })

  test('an outcome is stored for a day; then the key is new', async () => {
    const { id } = await git()
    const key = randomUUID()
    const first = await update(id, key, ref('a'))
    await app.core.db.$executeRaw`
      UPDATE idempotency_entries SET created_at = now() - interval '24 hours' WHERE key = ${key}`
    const next = await update(id, key, ref('b'))
    expect([next.ok, replayed(next)]).toEqual([true, null])
    expect(next.revision).not.toBe(first.revision)
    expect(said(await update(id, key, ref('b')))).toEqual(said(next))
  })

  test('reads, and results that are unique per call, ignore the key', async () => {
    const { id: deployment_id } = await app.create(bodies.internal_source())
    const key = randomUUID()
    const get = (verb: VerbName, input: object) => api.get(verb, { ...input }, under(key))
    await get('listDeployments', { name: uniqueName() })
    const upload = async () => (await get('createUploadUrl', { deployment_id })).object_path
    expect(await upload()).not.toBe(await upload())
    expect(await app.core.db.idempotencyEntry.count({ where: { key } })).toBe(0)
  })
})
