/** API keys: create, list, revoke, and how soon a revocation takes effect. */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { hashKey, keys } from '../../src/domain/keys/key.ts'
import { createKey as create, revokeKey } from '../../src/domain/keys/manage.ts'
import { newestCursor } from '../../src/domain/paging/paging.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { mutate } from '../graphql/mutate.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { listener } from '../support/factories.ts'

const app = useApp()
let admin: RequestContext
let organizationAdmin: RequestContext
beforeAll(async () => {
  admin = await app.context(app.keys.admin)
  organizationAdmin = await app.context(app.keys.organization, app.tenant.workspaceId)
})

const createKey = async (...call: Parameters<typeof create>) => {
  const { row, text } = await create(...call)
  return { row, text: text! }
}
const statusOf = async (key: string, on = app, tenant?: string) =>
  (await on.rest('GET', '/v2/deployments', { key, tenant })).status
const body = (more: object = {}) => ({ body: { name: 'ci', role: 'deployer', ...more } })
const revoke = (ctx: RequestContext, id: string) => revokeKey(ctx, { path: { api_key_id: id } })
const lastEvent = () =>
  app.app.core.db.event.findFirstOrThrow({
    where: { workspaceId: app.tenant.workspaceId },
    orderBy: { sequence: 'desc' },
  })

describe('creating a key', () => {
  test('returns its text once and stores only its hash', async () => {
    const { row, text } = await createKey(admin, body())
    expect(text).toMatch(/^cpk_[\w-]{43}$/)
    expect(row).toMatchObject({ name: 'ci', role: 'deployer', secretsRead: false, prefix: text.slice(0, 12) })
    expect(row).toMatchObject({ workspaceId: app.tenant.workspaceId, createdBy: admin.actor.subject, expiresAt: null })
    expect(row).not.toHaveProperty('hash')
    const stored = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { id: row.id } })
    expect(stored.hash).toBe(hashKey(text))
    expect(JSON.stringify(stored)).not.toContain(text)
    expect(await statusOf(text)).toBe(200)
  })

  test('is in the event log, without the key', async () => {
    const { row } = await createKey(admin, body())
    expect(await lastEvent()).toMatchObject({
      type: 'api_key.created',
      subjectId: row.id,
      actor: admin.actor.subject,
      message: null,
    })
  })

  test('accepts an expiry and the permission to read secrets', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString()
    const { row, text } = await createKey(admin, body({ role: 'viewer', secrets_read: true, expires_at }))
    expect(row.expiresAt?.toISOString()).toBe(expires_at)
    expect((await app.context(text)).actor.secretsRead).toBe(true)
  })

  test('reports all violations together', async () => {
    await expect(createKey(admin, { body: { name: '', role: 'root', expires_at: 'soon' } })).rejects.toMatchObject({
      violations: [
        { loc: ['body', 'name'], type: 'string_too_short' },
        {
          loc: ['body', 'role'],
          type: 'enum',
          msg: 'Must be one of: viewer, deployer, admin, listener, agent, builder, caller.',
        },
        { loc: ['body', 'expires_at'], type: 'datetime_parsing' },
      ],
    })
    await expect(createKey(admin, body({ name: 'a\u0000b' }))).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    await expect(createKey(admin, body({ name: 'x'.repeat(129) }))).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    await expect(createKey(admin, body({ expires_at: '2020-01-01T00:00:00Z' }))).rejects.toMatchObject({
      violations: [{ loc: ['body', 'expires_at'], msg: 'Must be in the future.' }],
    })
  })

  test('needs an admin', async () => {
    const { id } = await listener(app)
    for (const more of [{}, { role: 'listener', listener_id: id }, { role: 'agent', agent_id: 'bot' }])
      for (const key of [app.keys.deployer, app.keys.secretsReader])
        await expect(createKey(await app.context(key), body(more))).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('for the whole organization needs a credential for the whole organization', async () => {
    const wide = body({ organization_wide: true })
    await expect(createKey(admin, wide)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const { row, text } = await createKey(organizationAdmin, wide)
    expect(row.workspaceId).toBeNull()
    expect(await statusOf(text, app, app.sibling.workspaceId)).toBe(200)
  })
})

describe('a listener’s key', () => {
  const of = (listener_id: string | null, more: object = {}) => body({ role: 'listener', listener_id, ...more })

  test('is created for one listener of the workspace and is limited to it', async () => {
    const { id } = await listener(app)
    const { row, text } = await createKey(admin, of(id.toUpperCase()))
    expect(row).toMatchObject({ role: 'listener', listenerId: id, workspaceId: app.tenant.workspaceId })
    expect((await app.context(text)).actor).toMatchObject({ role: 'listener', listenerId: id, secretsRead: false })
  })

  test('can’t be created for another tenant’s listener', async () => {
    for (const { workspaceId } of [app.sibling, app.other]) {
      const { id } = await listener(app, { workspaceId })
      await expect(createKey(admin, of(id))).rejects.toMatchObject({ message: `Listener ID ${id} not found.` })
    }
  })

  test('needs its listener and one workspace, and can’t read secrets; no other role has a listener', async () => {
    const { id } = await listener(app)
    const wide = { organization_wide: true, secrets_read: true }
    await expect(createKey(organizationAdmin, of(null, wide))).rejects.toMatchObject({
      violations: [
        { loc: ['body', 'listener_id'], type: 'missing' },
        { loc: ['body', 'organization_wide'], type: 'value_error' },
        { loc: ['body', 'secrets_read'], type: 'value_error' },
      ],
    })
    await expect(createKey(admin, of(id, { role: 'viewer' }))).rejects.toMatchObject({
      violations: [{ loc: ['body', 'listener_id'], type: 'value_error' }],
    })
    await expect(createKey(admin, of('x'))).rejects.toMatchObject({
      violations: [{ loc: ['body', 'listener_id'], type: 'uuid_parsing' }],
    })
  })
})

describe('an agent’s key', () => {
  const of = (agent_id: unknown, more: object = {}) => body({ role: 'agent', agent_id, ...more })

  test('is created for one agent and is limited to it', async () => {
    const { row, text } = await createKey(admin, of('support bot/2'))
    expect(row).toMatchObject({ role: 'agent', agentId: 'support bot/2', workspaceId: app.tenant.workspaceId })
    const { actor } = await app.context(text)
    expect(actor).toMatchObject({ role: 'agent', agentId: 'support bot/2', listenerId: null, secretsRead: false })
  })

  test('needs its agent and one workspace, and can’t read secrets; no other role has an agent', async () => {
    const wide = { organization_wide: true, secrets_read: true }
    await expect(createKey(organizationAdmin, of(null, wide))).rejects.toMatchObject({
      violations: [
        { loc: ['body', 'agent_id'], type: 'missing' },
        { loc: ['body', 'organization_wide'], type: 'value_error' },
        { loc: ['body', 'secrets_read'], type: 'value_error' },
      ],
    })
    const { id } = await listener(app)
    for (const other of [{ role: 'viewer' }, { role: 'listener', listener_id: id }]) {
      await expect(createKey(admin, of('bot', other))).rejects.toMatchObject({
        violations: [{ loc: ['body', 'agent_id'], msg: 'Only for the role agent.', type: 'value_error' }],
      })
    }
    await expect(createKey(admin, of('bot', { listener_id: id }))).rejects.toMatchObject({
      violations: [{ loc: ['body', 'listener_id'], msg: 'Only for the role listener.', type: 'value_error' }],
    })
    for (const wrong of ['', 'a\nb', 'x'.repeat(256), 7]) {
      await expect(createKey(admin, of(wrong))).rejects.toMatchObject({ violations: [{ loc: ['body', 'agent_id'] }] })
    }
  })

  test('always has an agent, and no other key has one: the database enforces it', async () => {
    const { row } = await createKey(admin, of('bot'))
    const change = (data: object) => app.app.core.db.apiKey.update({ where: { id: row.id }, data })
    for (const data of [{ agentId: null }, { role: 'viewer' as const }]) {
      await expect(change(data)).rejects.toThrow('api_keys_agent_check')
    }
  })
})

describe('listing keys', () => {
  test('shows the workspace’s and the organization-wide keys, newest first, without hashes', async () => {
    const { rows } = await keys.window(admin, { first: 100 })
    expect(rows.length).toBe(await keys.count(admin))
    expect(rows.every((row) => [app.tenant.workspaceId, null].includes(row.workspaceId))).toBe(true)
    expect(rows.every((row) => row.organizationId === app.tenant.organizationId)).toBe(true)
    expect(rows[0]).not.toHaveProperty('hash')
    const times = rows.map((row) => row.createdAt.getTime())
    expect(times).toEqual(times.toSorted((a, b) => b - a))
  })

  test('has pages forwards and backwards', async () => {
    const all = (await keys.window(admin, { first: 100 })).rows.map((row) => row.id)
    const first = await keys.window(admin, { first: 2 })
    const second = await keys.window(admin, { first: 2, after: newestCursor(first.rows[1]!) })
    expect([...first.rows, ...second.rows].map((row) => row.id)).toEqual(all.slice(0, 4))
    expect(first.hasMore).toBe(true)
    const back = await keys.window(admin, { last: 1, before: newestCursor(second.rows[0]!) })
    expect(back.rows.map((row) => row.id)).toEqual([all[1]])
  })

  test('rejects an invalid cursor', async () => {
    const forged = Buffer.from(JSON.stringify(['never', 'nobody'])).toString('base64url')
    for (const after of ['nonsense', forged]) {
      await expect(keys.window(admin, { after })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    }
  })

  test('shows other callers only their own key', async () => {
    const deployer = await app.context(app.keys.deployer)
    expect((await keys.window(deployer, {})).rows).toMatchObject([{ id: deployer.actor.subject }])
  })
})

describe('revoking a key', () => {
  test('takes effect immediately, and a second time changes nothing', async () => {
    const { row, text } = await createKey(admin, body())
    expect(await statusOf(text)).toBe(200)
    const revoked = await revoke(admin, row.id)
    expect(await statusOf(text)).toBe(401)
    const event = await lastEvent()
    expect(event).toMatchObject({ type: 'api_key.revoked', subjectId: row.id, actor: admin.actor.subject })
    expect((await revoke(admin, row.id)).revokedAt).toEqual(revoked.revokedAt)
    expect((await lastEvent()).sequence).toBe(event.sequence)
  })

  test('takes effect on other servers with the NOTIFY', async () => {
    const replica = await testApp({ beside: app })
    try {
      const { row, text } = await createKey(admin, body())
      expect(await statusOf(text, replica)).toBe(200)
      const revokedAt = performance.now()
      await revoke(admin, row.id)
      await expect.poll(() => statusOf(text, replica)).toBe(401)
      // a cache that missed it would keep the key for 10 s
      expect(performance.now() - revokedAt).toBeLessThan(9_000)
    } finally {
      await replica.close()
    }
  })

  test('of another tenant is NOT_FOUND', async () => {
    const others = [await app.context(app.sibling.keys.admin), await app.context(app.other.keys.admin)]
    const { row, text } = await createKey(admin, body())
    for (const ctx of others) {
      await expect(revoke(ctx, row.id)).rejects.toMatchObject({ message: `API key ID ${row.id} not found.` })
    }
    await expect(revoke(admin, randomUUID())).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(revoke(admin, 'x')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(await statusOf(text)).toBe(200)
  })

  test('that is organization-wide needs an organization-wide credential', async () => {
    const { organizationId, workspaceId } = app.tenant
    const text = await newKey(app.app.core, { organizationId, workspaceId, organizationWide: true })
    const { id } = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { hash: hashKey(text) } })
    await expect(revoke(admin, id)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await revoke(organizationAdmin, id)
    expect(await statusOf(text, app, workspaceId)).toBe(401)
  })

  test('needs an admin', async () => {
    const { row } = await createKey(admin, body())
    await expect(revoke(await app.context(app.keys.deployer), row.id)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

test('GraphQL creates, lists and revokes them', async () => {
  const create = (input: object, key = app.keys.admin) =>
    mutate(app, 'createApiKey', 'key apiKey { id prefix role organizationWide agentId }', input, { key })
  const { key, apiKey } = await create({ name: 'ci', role: 'viewer' })
  expect(apiKey).toMatchObject({ prefix: key.slice(0, 12), role: 'viewer', organizationWide: false, agentId: null })
  expect((await app.gql('{ viewer { subject } }', {}, { key })).data.viewer.subject).toBe(apiKey.id)
  const LIST = '{ apiKeys(first: 1) { nodes { id revokedAt } pageInfo { hasNextPage } } }'
  const listed = await app.gql(LIST)
  expect(listed.data.apiKeys).toEqual({ nodes: [{ id: apiKey.id, revokedAt: null }], pageInfo: { hasNextPage: true } })
  expect(listed.text).not.toContain(key)
  const revoked = await mutate(app, 'revokeApiKey', 'apiKey { revokedAt }', { apiKeyId: apiKey.id })
  expect(revoked.apiKey.revokedAt).toEqual(expect.any(String))
  expect(await statusOf(key)).toBe(401)
  const ofAgent = await create({ name: 'ci', role: 'agent', agentId: 'bot' })
  expect(ofAgent.apiKey).toMatchObject({ role: 'agent', agentId: 'bot' })

  expect(await create({ name: 'x', role: 'admin' }, app.keys.deployer)).toMatchObject({ __typename: 'ForbiddenError' })
})

describe('the owner of a key', () => {
  const ownerless = async (role: 'viewer' | 'admin') => {
    const { organizationId, workspaceId } = app.tenant
    const key = await newKey(app.app.core, { organizationId, workspaceId, role, name: `${role} of CI`, owner: null })
    return { key, id: (await app.context(key)).actor.subject }
  }
  const update = (key: string, apiKeyId: string, owner: string) =>
    mutate(app, 'updateApiKey', 'apiKey { owner }', { apiKeyId, owner }, { key })

  test('is the author in events from the time when the owner is set', async () => {
    const { key, id } = await ownerless('admin')
    const me = `{ me { actor { name } apiKey { id owner } } }`
    expect((await app.gql(me, {}, { key })).data.me).toEqual({
      actor: { name: 'admin of CI' },
      apiKey: { id, owner: null },
    })
    expect(await update(key, id, 'Ada')).toEqual({ __typename: 'UpdateApiKeySuccess', apiKey: { owner: 'Ada' } })
    expect((await app.gql(me, {}, { key })).data.me).toEqual({ actor: { name: 'Ada' }, apiKey: { id, owner: 'Ada' } })
    await update(key, id, 'Grace')
    const written = await app.app.core.db.event.findMany({
      where: { type: 'api_key.updated', subjectId: id },
      orderBy: { sequence: 'asc' },
    })
    expect(written.map(({ actorName }) => actorName)).toEqual(['admin of CI', 'Ada'])
    expect(written[0]).toMatchObject({ actorKind: 'api_key', changed: ['owner'] })
  })

  test('can be set by a viewer once, for their own key only', async () => {
    const [own, other] = [await ownerless('viewer'), await ownerless('viewer')]
    expect(await update(own.key, other.id, 'Ada')).toMatchObject({ code: 'FORBIDDEN' })
    expect(await update(own.key, own.id, 'Ada')).toMatchObject({ apiKey: { owner: 'Ada' } })
    expect(await update(own.key, own.id, 'Grace')).toMatchObject({ code: 'FORBIDDEN' })
    expect(await update(app.keys.admin, own.id, 'Grace')).toMatchObject({ apiKey: { owner: 'Grace' } })
  })

  test('is one line of 1 to 128 characters, and can’t be set for another tenant’s key', async () => {
    const { key, id } = await ownerless('viewer')
    for (const owner of ['', 'a\nb', 'x'.repeat(129)])
      expect(await update(key, id, owner)).toMatchObject({ code: 'VALIDATION_FAILED' })
    expect(await update(app.keys.admin, randomUUID(), 'Ada')).toMatchObject({ code: 'NOT_FOUND' })
  })
})
