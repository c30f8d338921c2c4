/** API keys over both transports (docs/api-rules.md#who-is-calling): created, listed, given an owner, and revoked. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { uniqueName, useRestApp } from '../rest/support.ts'
import { newKey } from '../support/app.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

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

  test('only an admin creates, lists and revokes keys', async () => {
    const { id } = await create()
    for (const key of [app.keys.deployer, app.keys.viewer]) {
      expect((await api.call('createApiKey', { name: 'ci', role: 'viewer' }, { key })).code).toBe('FORBIDDEN')
      expect((await api.call('listApiKeys', {}, { key })).code).toBe('FORBIDDEN')
      expect((await api.call('revokeApiKey', { api_key_id: id }, { key })).code).toBe('FORBIDDEN')
    }
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
