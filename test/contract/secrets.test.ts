/**
 * Secrets (docs/deployments.md#secrets): who sees values, the meaning of a returned mask, and secrets by name: set, unset,
 * listed without values, and one revealed.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bodies, putStatus, useRestApp, violations } from '../rest/support.ts'
import { newKey } from '../support/app.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()
/** A server that reveals at most two secrets a minute. */
const sparing = useRestApp(() => ({ beside: app, settings: { REVEALS_PER_MINUTE: '2' } }))

const MASK = '••••••••'
const pair = (name: string, value: string) => ({ name, value })
const TWO = [pair('TOKEN', 'very-secret'), pair('OTHER', '')]
const MASKED = TWO.map(({ name }) => pair(name, MASK))
const withSecrets = (secrets = TWO) => ({ ...bodies.gitprovider(app.tenant.integrationId), secrets })
const created = (secrets?: typeof TWO) => app.create(withSecrets(secrets))
const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
const eventsOf = (deploymentId: string, type: string) =>
  app.core.db.event.findMany({ where: { deploymentId, type }, orderBy: { sequence: 'asc' } })

overBoth(app, (api) => {
  const set = (deployment_id: string, changes: object, how?: How) =>
    api.call('setSecrets', { deployment_id, ...changes }, how)
  const valuesOf = async (deployment_id: string, how?: How) =>
    (await api.get('getDeployment', { deployment_id }, how)).secrets
  const list = (deployment_id: string, how?: How) => api.get('listSecrets', { deployment_id }, how)
  const reveal = (deployment_id: string, name: string, how?: How) =>
    api.call('revealSecret', { deployment_id, name }, how)

  describe('values', () => {
    test('are shown to admins and readers of secrets; deployers and viewers see the mask', async () => {
      const { id, secrets } = await api.get('createDeployment', withSecrets())
      expect(secrets).toEqual(TWO)
      expect(await valuesOf(id, { key: app.keys.secretsReader })).toEqual(TWO)
      for (const key of [app.keys.deployer, app.keys.viewer]) expect(await valuesOf(id, { key })).toEqual(MASKED)
    })

    test('are masked in the answers of writes, too', async () => {
      const how = { key: app.keys.deployer }
      const { id, secrets } = await api.get('createDeployment', withSecrets(), how)
      expect(secrets).toEqual(MASKED)
      expect((await api.get('updateDeployment', { deployment_id: id }, how)).secrets).toEqual(MASKED)
    })

    test('are kept by a returned mask; the rest of the set is replaced', async () => {
      const { id } = await created()
      const secrets = [MASKED[0]!, pair('NEW', '1')]
      await api.get('updateDeployment', { deployment_id: id, secrets }, { key: app.keys.deployer })
      expect(await valuesOf(id)).toEqual([TWO[0], pair('NEW', '1')])
    })

    test('are not repeated by a refusal', async () => {
      const input = withSecrets([pair('1BAD', 'very-secret')])
      const { answer } = await api.refuses('createDeployment', input, ['secrets.0.name value_error'])
      expect(answer.text).not.toContain('very-secret')
    })
  })

  describe('a change by name', () => {
    test('sets and unsets together in one revision, and keeps the others', async () => {
      const { id } = await created([...TWO, pair('THIRD', '3')])
      const changes = { set: [pair('NEW', 'n'), pair('TOKEN', 'rotated')], unset: ['OTHER'] }
      const { value, revision } = await set(id, changes, { key: app.keys.deployer })
      expect(revision).toBe(value.latest_revision_id)
      expect(value.secrets).toEqual(['TOKEN', 'THIRD', 'NEW'].map((name) => pair(name, MASK)))
      expect(await valuesOf(id)).toEqual([pair('TOKEN', 'rotated'), pair('THIRD', '3'), pair('NEW', 'n')])
      expect(await revisionsOf(id)).toBe(2)
      expect((await eventsOf(id, 'deployment.updated')).map(({ changed }) => changed)).toEqual([['secrets']])
    })

    test('keeps the running revision’s build, like a change of only secrets', async () => {
      const { id, latest_revision_id: first } = await created()
      const built = { artifact: 'built', repoCommitSha: 'a'.repeat(40) }
      await app.core.db.revision.update({ where: { id: first }, data: built })
      await putStatus(app.core, first, 'DEPLOYED')
      const { revision } = await set(id, { set: [pair('NEW', 'n')] })
      const made = await app.core.db.revision.findUniqueOrThrow({ where: { id: revision! } })
      expect(made).toMatchObject({ ...built, basedOnId: first })
    })

    test('without a change creates no revision and no event', async () => {
      const { id } = await created()
      for (const changes of [{}, { set: [], unset: [] }, { set: null }])
        expect(await set(id, changes)).toMatchObject({ ok: true, revision: null })
      expect(await revisionsOf(id)).toBe(1)
      expect(await eventsOf(id, 'deployment.updated')).toEqual([])
    })

    test('by several callers of different secrets at the same moment keeps all', async () => {
      const { id } = await created()
      const added = Array.from({ length: 6 }, (_, i) => pair(`AT_ONCE_${i}`, `${i}`))
      const answers = await Promise.all(added.map((one) => set(id, { set: [one] })))
      expect(new Set(answers.map(({ revision }) => revision)).size).toBe(added.length)
      const left = await valuesOf(id)
      expect(left).toHaveLength(TWO.length + added.length)
      expect(left).toEqual(expect.arrayContaining([...TWO, ...added]))
    })

    test('reports every mistake together', async () => {
      const { id: deployment_id } = await created()
      const wrong = {
        set: [
          ...[pair('1BAD', 'x'), pair('PORT', 'x'), pair('NEW', MASK)],
          ...[pair('TOKEN', 'x'), pair('A', 'x'), pair('A', 'y')],
        ],
        unset: ['MISSING', 'TOKEN', 'OTHER', 'OTHER'],
      }
      const { message } = await api.refuses('setSecrets', { deployment_id, ...wrong }, [
        ...['set.0.name value_error', 'set.1.name value_error', 'set.2.value value_error', 'set.5.name value_error'],
        ...['unset.0 value_error', 'unset.1 value_error', 'unset.3 value_error'],
      ])
      expect(message).toContain('There is no secret named MISSING.')
      expect(message).toContain('TOKEN is set by the same call: say one of the two.')
      const big = { deployment_id, set: [pair('BIG', 'x'.repeat(64 * 1024 + 1))] }
      await api.refuses('setSecrets', big, ['set.0.value value_error'])
      const typed = { deployment_id, set: { a: 1 }, unset: [1] }
      await api.refuses('setSecrets', typed, ['set list_type', 'unset.0 string_type'])
      expect(await revisionsOf(deployment_id)).toBe(1)
    })

    test('refuses more than a thousand secrets, and a name of a reference', async () => {
      const { id: deployment_id } = await created(Array.from({ length: 1000 }, (_, i) => pair(`S${i}`, 'x')))
      const more = { set: [pair('ONE_MORE', 'x')] }
      await api.refuses('setSecrets', { deployment_id, ...more }, ['set value_error'])
      expect((await set(deployment_id, { ...more, unset: ['S0'] })).ok).toBe(true)
      const secret_references = [{ name: 'REFERRED', secret_name: 's', secret_key: 'k' }]
      const { id } = await app.create({ ...bodies.external_container(), secret_references })
      await api.refuses('setSecrets', { deployment_id: id, set: [pair('REFERRED', 'x')] }, ['set.0.name value_error'])
    })

    test('needs a deployer of the workspace, and is refused during deletion', async () => {
      const { id } = await created()
      const changes = { set: [pair('NEW', 'n')] }
      expect((await set(id, changes, { key: app.keys.viewer })).code).toBe('FORBIDDEN')
      for (const key of [app.other.keys.admin, app.sibling.keys.admin])
        expect((await set(id, changes, { key })).code).toBe('NOT_FOUND')
      expect((await set(randomUUID(), changes)).code).toBe('NOT_FOUND')
      await api.refuses('setSecrets', { deployment_id: 'nonsense', ...changes }, ['deployment_id uuid_parsing'])
      await app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date() } })
      expect((await set(id, changes)).code).toBe('CONFLICT')
    })

    test('of a version applies to that version only', async () => {
      const { id: deployment_id } = await created()
      const once = (name: string) => set(deployment_id, { set: [pair(name, 'x')] }, { version: 1 })
      const answers = await Promise.all([once('ONE'), once('TWO')])
      expect(answers.map(({ code }) => code ?? 'done').sort()).toEqual(['PRECONDITION_FAILED', 'done'])
      const { version } = await api.call('getDeployment', { deployment_id })
      expect(answers.find(({ ok }) => ok)!.version).toBe(version)
    })
  })

  describe('the list', () => {
    const who = (name: string) => ({ kind: 'api_key', name, id: expect.any(String) })
    const at = expect.any(String)

    test('shows time and author of each, without values, to every reader', async () => {
      const [ann, ben] = await Promise.all(
        ['ann', 'ben'].map((name) => newKey(app.core, { ...app.tenant, name, role: 'deployer' })),
      )
      const { id } = await app.create(withSecrets(), { key: ann! })
      const reader = { key: app.keys.viewer }
      const [before] = await list(id, reader)
      expect(before).toEqual({ name: 'TOKEN', set_at: at, set_by: who('ann') })
      await set(id, { set: [pair('OTHER', 'x'), pair('NEW', 'n')] }, { key: ben })
      const after = await list(id, reader)
      expect(after).toEqual([before, ...['OTHER', 'NEW'].map((name) => ({ name, set_at: at, set_by: who('ben') }))])
      expect(after[1].set_at > before.set_at).toBe(true)
      // in a whole set that is sent, an unchanged value keeps its author
      const secrets = [pair('TOKEN', MASK), pair('OTHER', 'x'), pair('NEW', 'other')]
      await api.get('updateDeployment', { deployment_id: id, secrets }, { key: ann })
      const authors = (await list(id)).map((one: { set_by: { name: string } }) => one.set_by.name)
      expect(authors).toEqual(['ann', 'ben', 'ann'])
    })

    test('has no time and author for secrets from earlier servers', async () => {
      const { id } = await created()
      await app.core.db.$executeRaw`UPDATE secret_sets SET set_by = NULL WHERE deployment_id = ${id}::uuid`
      const unknown = TWO.map(({ name }) => ({ name, set_at: null, set_by: null }))
      expect(await list(id)).toEqual(unknown)
      await set(id, { set: [pair('NEW', 'n')] })
      expect(await list(id)).toEqual([...unknown, { name: 'NEW', set_at: at, set_by: expect.anything() }])
    })

    test('shows only the own workspace', async () => {
      const { id } = await created()
      for (const key of [app.other.keys.admin, app.sibling.keys.admin])
        await api.fails('listSecrets', { deployment_id: id }, 'NOT_FOUND', { key })
    })
  })

  describe('a reveal', () => {
    test('returns the current value to callers with the right, is stored nowhere, and is logged with the name only', async () => {
      const { id } = await created()
      const how = { key: app.keys.secretsReader, headers: { 'idempotency-key': randomUUID() } }
      const { value, answer } = await reveal(id, 'TOKEN', how)
      expect(value).toEqual(TWO[0])
      expect([answer.headers.get('cache-control'), answer.headers.get('etag')]).toEqual(['no-store', null])
      await set(id, { set: [pair('TOKEN', 'rotated')] })
      const again = await reveal(id, 'TOKEN', how)
      expect([again.value.value, again.answer.headers.get('idempotency-replayed')]).toEqual(['rotated', null])
      const events = await eventsOf(id, 'secret.revealed')
      expect(events).toMatchObject(Array(2).fill({ subjectId: 'TOKEN', actorKind: 'api_key' }))
      expect(JSON.stringify(events.map(({ message, changed }) => [message, changed]))).not.toContain('very-secret')
      expect(await app.core.db.idempotencyEntry.count({ where: { key: how.headers['idempotency-key'] } })).toBe(0)
    })

    test('is refused for callers without the right, and finds nothing of another workspace', async () => {
      const { id } = await created()
      for (const key of [app.keys.viewer, app.keys.deployer])
        expect((await reveal(id, 'TOKEN', { key })).code).toBe('FORBIDDEN')
      for (const key of [app.other.keys.admin, app.sibling.keys.admin])
        expect((await reveal(id, 'TOKEN', { key })).code).toBe('NOT_FOUND')
      const message = 'There is no secret named MISSING.'
      expect(await reveal(id, 'MISSING')).toMatchObject({ code: 'NOT_FOUND', message })
      expect(await eventsOf(id, 'secret.revealed')).toEqual([])
    })
  })
})

overBoth(sparing, (api) => {
  test('reveals above the limit per minute are refused with the time to wait, for that key only', async () => {
    const { id: deployment_id } = await created()
    const admin = await newKey(app.core, { ...app.tenant, role: 'admin' })
    const by = (key: string) => api.call('revealSecret', { deployment_id, name: 'TOKEN' }, { key })
    expect([await by(admin), await by(admin)].map(({ ok }) => ok)).toEqual([true, true])
    const refused = await by(admin)
    expect(refused.code).toBe('RATE_LIMITED')
    expect(Number(refused.answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await by(await newKey(app.core, { ...app.tenant, role: 'viewer', secretsRead: true }))).ok).toBe(true)
    expect(await eventsOf(deployment_id, 'secret.revealed')).toHaveLength(3)
  })
})

test('unsetSecrets is GraphQL’s name for a change that only removes', async () => {
  const { id: deploymentId } = await created()
  const unset = async (input: object, key = app.keys.admin) =>
    (
      await app.gql(
        `mutation ($input: UnsetSecretsInput!) { unsetSecrets(input: $input) { __typename
          ... on UnsetSecretsSuccess { revision { number } deployment { secrets { name value } } } } }`,
        { input: { deploymentId, unset: ['OTHER'], ...input } },
        { key },
      )
    ).data.unsetSecrets
  expect(await unset({ ifVersion: 99 })).toEqual({ __typename: 'PreconditionFailedError' })
  expect(await unset({}, app.keys.viewer)).toEqual({ __typename: 'ForbiddenError' })
  expect(await unset({}, app.other.keys.admin)).toEqual({ __typename: 'NotFoundError' })
  expect(await unset({})).toMatchObject({ revision: { number: 2 }, deployment: { secrets: [TWO[0]] } })
})

test('over REST a list has no values, and a malformed body is not repeated', async () => {
  await created()
  const listed = await app.call('GET', '/v2/deployments', { key: app.keys.deployer })
  const malformed = await app.call('POST', '/v2/deployments', { body: '{"secrets": [{"value": "very-secret" oops' })
  expect(violations(malformed)).toEqual(['body json_invalid'])
  expect(listed.text + malformed.text).not.toContain('very-secret')
})
