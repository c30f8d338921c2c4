/** API keys over both transports (docs/api-rules.md#who-is-calling): created, listed, given an owner, and revoked. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { uniqueName, useRestApp } from '../rest/support.ts'
import { begunLogin, pollLogin } from '../sessions/login-steps.ts'
import { newKey } from '../support/app.ts'
import { agentKey, listener, listenerKey } from '../support/factories.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

/** The key of a login that this key approved. */
async function approvedKey(approver: string): Promise<string> {
  const login = await begunLogin(app)
  await app.rest('POST', `/v2/logins/${login.id}/approve`, { key: approver, body: {} })
  return (await pollLogin(app, login)).body.key
}

const eventsOf = (subjectId: string) =>
  app.core.db.event.findMany({ where: { subjectId }, orderBy: { sequence: 'asc' } })

overBoth(app, (api) => {
  const create = (input: object = {}, how?: How) =>
    api.get('createApiKey', { name: uniqueName('key'), role: 'deployer', ...input }, how)
  const list = (how?: How) => api.get('listApiKeys', { limit: 100 }, how)
  test('a new key is listed with its rights, and has events of its creation and its revocation', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const input = { name: uniqueName('key'), role: 'viewer', owner: 'Ada', secrets_read: true, expires_at }
    const made = await api.call('createApiKey', input)
    const { answer, value } = made
    expect(value, answer.text).toMatchObject({
      ...{ ...input, organization_wide: false, listener_id: null, agent_id: null, last_used_at: null },
      ...{ revoked_at: null, created_by: expect.any(String) },
    })
    expect((await list()).find(({ id }: { id: string }) => id === value.id)).toEqual(value)
    await api.get('revokeApiKey', { api_key_id: value.id })
    await api.get('revokeApiKey', { api_key_id: value.id })
    expect((await list()).find(({ id }: { id: string }) => id === value.id).revoked_at).toEqual(expect.any(String))
    expect((await eventsOf(value.id)).map(({ type }) => type)).toEqual(['api_key.created', 'api_key.revoked'])
  })

  test.each([
    [{ name: undefined }, 'name missing'],
    [{ name: 'a\nb' }, 'name string_pattern_mismatch'],
    [{ role: 'owner' }, 'role enum'],
    [{ role: 'listener' }, 'listener_id missing'],
    [{ agent_id: 'bot' }, 'agent_id value_error'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at value_error'],
  ])('a key with %j is refused', async (input, issue) => {
    await api.refuses('createApiKey', { name: 'ci', role: 'viewer', ...input }, [issue])
  })

  test('an owner is changed by an admin, and set once by the key itself', async () => {
    const { organizationId, workspaceId } = app.tenant
    const key = await newKey(app.core, { organizationId, workspaceId, owner: null, role: 'viewer' })
    const { id } = (await app.rest('GET', '/v2/me', { key })).body.api_key
    const set = (owner: unknown, how?: How) => api.call('updateApiKey', { api_key_id: id, owner }, how)
    expect((await set('Ada', { key: app.keys.deployer })).code).toBe('FORBIDDEN')
    expect((await set('Ada', { key })).value).toMatchObject({ id, owner: 'Ada' })
    expect((await set('Eve', { key })).code).toBe('FORBIDDEN')
    expect((await set('Grace')).value).toMatchObject({ owner: 'Grace' })
    await api.refuses('updateApiKey', { api_key_id: id, owner: '' }, ['owner string_too_short'])
    await api.refuses('updateApiKey', { api_key_id: 'x', owner: 'Ada' }, ['api_key_id uuid_parsing'])
  })

  test('another tenant’s key, and an unknown one, is not found', async () => {
    const id = (await app.rest('GET', '/v2/me', { key: app.other.keys.admin })).body.api_key.id
    for (const api_key_id of [id, randomUUID()]) {
      await api.fails('updateApiKey', { api_key_id, owner: 'Eve' }, 'NOT_FOUND')
      await api.fails('revokeApiKey', { api_key_id }, 'NOT_FOUND')
    }
    expect((await app.rest('GET', '/v2/me', { key: app.other.keys.admin })).status).toBe(200)
    expect((await list()).map((one: { id: string }) => one.id)).not.toContain(id)
  })

  test('only an admin creates keys, and lists and revokes those of others', async () => {
    const { id } = await create()
    for (const role of ['deployer', 'viewer'] as const) {
      const key = await newKey(app.core, { ...app.tenant, role })
      await api.fails('createApiKey', { name: 'ci', role: 'viewer' }, 'FORBIDDEN', { key })
      await api.fails('revokeApiKey', { api_key_id: id }, 'FORBIDDEN', { key })
      const { api_key } = await api.get('getMe', {}, { key })
      expect((await list({ key })).map(({ id }: { id: string }) => id)).toEqual([api_key.id])
    }
  })

  test('a deployer lists and revokes the keys of logins that it approved, and no other', async () => {
    const how = { key: await newKey(app.core, { ...app.tenant, role: 'deployer' }) }
    const { api_key: own } = await api.get('getMe', {}, how)
    const [mine, another] = await Promise.all([how.key, app.keys.deployer].map((key) => approvedKey(key)))
    const idOf = async (key: string) => (await api.get('getMe', {}, { key })).api_key.id
    const [id, foreign] = [await idOf(mine!), await idOf(another!)]
    expect((await list(how)).map((key: { id: string }) => key.id)).toEqual([id, own.id])
    const nodes = await app.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: [id, own.id, foreign] }, how)
    expect(nodes.data.nodes).toEqual([{ id }, { id: own.id }, null])
    await api.fails('revokeApiKey', { api_key_id: foreign }, 'FORBIDDEN', how)
    await api.get('revokeApiKey', { api_key_id: id }, how)
    expect((await list(how))[0]).toMatchObject({ id, revoked_at: expect.any(String) })
  })

  test('keys of machines list no keys', async () => {
    for (const key of [await listenerKey(app, await listener(app)), await agentKey(app, 'bot')])
      await api.fails('listApiKeys', {}, 'FORBIDDEN', { key })
  })

  test('an admin of a workspace neither creates nor revokes a key of the organization', async () => {
    const wide = { organization_wide: true, name: 'wide', role: 'viewer' }
    expect((await api.call('createApiKey', wide)).code).toBe('FORBIDDEN')
    const how = { key: app.keys.organization, tenant: app.tenant.workspaceId }
    const { id } = await api.get('createApiKey', wide, how)
    expect((await api.call('revokeApiKey', { api_key_id: id })).code).toBe('FORBIDDEN')
    expect((await api.call('revokeApiKey', { api_key_id: id }, how)).ok).toBe(true)
  })

  test('two calls at the same moment revoke a key once', async () => {
    const made = await api.call('createApiKey', { name: uniqueName('key'), role: 'viewer' })
    const input = { api_key_id: made.value.id }
    const both = await Promise.all([api.call('revokeApiKey', input), api.call('revokeApiKey', input)])
    expect(both.map(({ ok }) => ok)).toEqual([true, true])
    expect((await eventsOf(made.value.id)).map(({ type }) => type)).toEqual(['api_key.created', 'api_key.revoked'])
  })
})

describe('over REST', () => {
  test('the text of a key is only in the first answer, which no cache may store, and works until the key is revoked', async () => {
    const call = () =>
      app.call('POST', '/v2/keys', {
        body: { name: 'once', role: 'viewer' },
        headers: { 'idempotency-key': 'keys-once' },
      })
    const [first, again] = [await call(), await call()]
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect((await app.rest('GET', '/v2/me', { key: first.body.key })).body.api_key.id).toBe(first.body.api_key.id)
    expect(again.body).toEqual({ api_key: first.body.api_key, key: null })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await app.rest('GET', '/v2/keys')).text).not.toContain(first.body.key)
    await app.call('DELETE', `/v2/keys/${first.body.api_key.id}`)
    expect((await app.rest('GET', '/v2/me', { key: first.body.key })).status).toBe(401)
  })

  test('a list is read in pages', async () => {
    const page = async (offset: number) => (await app.rest('GET', `/v2/keys?limit=2&offset=${offset}`)).body
    const first = await page(0)
    expect(first).toMatchObject({ resources: [{}, {}], offset: 2 })
    expect((await page(1)).resources[0]).toEqual(first.resources[1])
    const { status, body } = await app.rest('GET', '/v2/keys?role=admin')
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
  })
})
