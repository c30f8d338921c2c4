/** Connections of agents to tokens (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { OAuthProvider, OAuthToken, Prisma } from '../../src/generated/prisma/client.ts'
import { uniqueName, useRestApp } from '../rest/support.ts'
import { storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { bothOf, type How, overBoth } from './api.ts'

const app = useRestApp()
let provider: OAuthProvider
/** The admin's. */
let token: OAuthToken
beforeAll(async () => {
  provider = await storedProvider(app)
  token = await tokenOf(app.keys.admin, { accountLabel: 'alice@example.com' })
})

/** A token of this key's owner; it ends when its access token does. */
const tokenOf = (key: string, row: Partial<Prisma.OAuthTokenUncheckedCreateInput> = {}) =>
  storedToken(app, { provider, key, row: { scopes: ['read', 'write'], refreshable: false, ...row } })
const stored = (agentId: string) => app.core.db.agentConnection.findMany({ where: { agentId } })
const eventsOf = async (id: string) =>
  (await app.core.db.event.findMany({ where: { subjectId: id }, orderBy: { sequence: 'asc' } })).map(({ type }) => type)

overBoth(app, (api) => {
  const connect = (agent_id: string, oauth_token_id: unknown = token.id, how?: How) =>
    api.call('createConnection', { agent_id, oauth_token_id }, how)
  const made = async (agent: string, tokenId?: string, how?: How) => {
    const { ok, value, answer } = await connect(agent, tokenId, how)
    expect(ok, answer.text).toBe(true)
    return value
  }
  const list = (agent_id: string, how?: How) => api.get('listConnections', { agent_id }, how)
  const remove = (agent_id: string, connection_id: string, how?: How) =>
    api.call('deleteConnection', { agent_id, connection_id }, how)

  describe('connecting an agent to one’s own token', () => {
    test('returns the connection with the token’s validity, and lists it, over both', async () => {
      const agent = uniqueName()
      const one = await made(agent)
      expect(one).toEqual({
        id: expect.any(String),
        agent_id: agent,
        oauth_token_id: token.id,
        provider_id: provider.providerId,
        provider_account_label: 'alice@example.com',
        scopes: ['read', 'write'],
        expires_at: token.expiresAt!.toISOString(),
        created_by: (await app.context(app.keys.admin)).actor.subject,
        created_at: expect.any(String),
      })
      for (const each of bothOf(app)) expect(await each.get('listConnections', { agent_id: agent })).toEqual([one])
      expect(await eventsOf(one.id)).toEqual(['connection.created'])
    })

    test('shows one’s own name for the account, and no end if the provider gives none', async () => {
      const mine = await tokenOf(app.keys.admin, { label: 'Work', accountLabel: 'alice', expiresAt: null })
      expect(await made(uniqueName(), mine.id)).toMatchObject({ provider_account_label: 'Work', expires_at: null })
    })

    test('returns the existing connection the second time, and to several concurrent calls', async () => {
      const agent = uniqueName()
      const answers = await Promise.all(Array.from({ length: 8 }, () => made(agent)))
      const rows = await stored(agent)
      expect(rows).toHaveLength(1)
      const { id } = rows[0]!
      expect([...answers, await made(agent)].map((answer) => answer.id)).toEqual(Array(9).fill(id))
      expect(await eventsOf(id)).toEqual(['connection.created'])
    })

    test('during a disconnect ends in one of the two states, never in a failure', async () => {
      const agent = uniqueName()
      const { id } = await made(agent)
      const all = await Promise.all([remove(agent, id), ...Array.from({ length: 6 }, () => connect(agent))])
      expect(all.map(({ ok }) => ok)).toEqual(Array(7).fill(true))
      expect((await stored(agent)).length).toBeLessThanOrEqual(1)
    })

    test('during the token’s deletion ends in one of the two states, never in a failure', async () => {
      const { id } = await tokenOf(app.keys.admin)
      const agents = Array.from({ length: 6 }, () => uniqueName())
      const [deleted, ...answers] = await Promise.all([
        api.call('deleteOAuthToken', { token_id: id }),
        ...agents.map((agent) => connect(agent, id)),
      ])
      expect(deleted.ok).toBe(true)
      for (const { code } of answers) expect([undefined, 'NOT_FOUND']).toContain(code)
      expect(await app.core.db.agentConnection.count({ where: { tokenId: id } })).toBe(0)
    })

    test('accepts any printable agent name, known or unknown', async () => {
      for (const agent of ['日本語 bot/2 %2F?#', 'x'.repeat(255)]) expect((await made(agent)).agent_id).toBe(agent)
      const wrong = [
        ['a\nb', 'agent_id string_pattern_mismatch'],
        ['x'.repeat(256), 'agent_id string_too_long'],
      ] as const
      for (const [agent_id, violation] of wrong) {
        await api.refuses('createConnection', { agent_id, oauth_token_id: token.id }, [violation])
        await api.refuses('listConnections', { agent_id }, [violation])
      }
    })

    test('needs the id of a token', async () => {
      for (const [oauth_token_id, type] of [
        [undefined, 'missing'],
        ['x', 'uuid_parsing'],
        [null, 'string_type'],
      ])
        await api.refuses('createConnection', { agent_id: 'bot', oauth_token_id }, [`oauth_token_id ${type}`])
    })

    test('finds no token of another user, workspace or organization, and no unknown one', async () => {
      const foreign = await storedProvider(app, { organizationId: app.other.organizationId })
      const others = [
        await tokenOf(app.keys.deployer),
        await tokenOf(app.sibling.keys.admin),
        await storedToken(app, { provider: foreign, key: app.other.keys.admin }),
        { id: randomUUID() },
      ]
      for (const { id } of others) {
        const message = `OAuth token ID ${id} not found.`
        expect(await connect('bot', id)).toMatchObject({ code: 'NOT_FOUND', message })
        expect(await app.core.db.agentConnection.count({ where: { tokenId: id } })).toBe(0)
      }
    })

    test('is refused for an ended token, which only its owner can renew', async () => {
      const past = new Date(Date.now() - 1000)
      for (const row of [{ endedAt: past, endedBecause: 'The provider has withdrawn it.' }, { expiresAt: past }]) {
        const { id } = await tokenOf(app.keys.admin, row)
        const message = expect.stringContaining('authenticate again')
        expect(await connect('bot', id)).toMatchObject({ code: 'TOKEN_EXPIRED', message })
      }
      const refreshed = await tokenOf(app.keys.admin, { expiresAt: past, refreshable: true })
      await made('bot', refreshed.id)
    })

    test('needs the role deployer', async () => {
      const how = { key: app.keys.viewer }
      expect((await connect('bot', (await tokenOf(how.key)).id, how)).code).toBe('FORBIDDEN')
      await made('bot', (await tokenOf(app.keys.deployer)).id, { key: app.keys.deployer })
    })
  })

  describe('the list', () => {
    test('has the newest first, of this agent only', async () => {
      const agent = uniqueName()
      const second = await tokenOf(app.keys.admin)
      const all = [await made(agent), await made(agent, second.id)]
      await made(uniqueName())
      expect(await list(agent)).toEqual(all.reverse())
    })

    test('is empty for an unknown agent', async () => {
      for (const agent of [uniqueName(), randomUUID()]) expect(await list(agent)).toEqual([])
    })

    test('shows callers only the connections to their own tokens', async () => {
      const agent = uniqueName()
      const how = { key: app.keys.deployer }
      const mine = await made(agent)
      const theirs = await made(agent, (await tokenOf(how.key)).id, how)
      expect([await list(agent), await list(agent, how)]).toEqual([[mine], [theirs]])
      for (const key of [app.keys.viewer, app.sibling.keys.admin, app.other.keys.admin])
        expect(await list(agent, { key })).toEqual([])
    })
  })

  describe('disconnecting', () => {
    test('removes the connection and keeps the token; of two concurrent calls one succeeds', async () => {
      const agent = uniqueName()
      const { id } = await made(agent)
      const both = await Promise.all([remove(agent, id), remove(agent, id)])
      expect(both.map(({ code }) => code ?? 'done').sort()).toEqual(['NOT_FOUND', 'done'])
      expect(await list(agent)).toEqual([])
      expect(await app.core.db.oAuthToken.count({ where: { id: token.id } })).toBe(1)
      expect(await eventsOf(id)).toEqual(['connection.created', 'connection.deleted'])
      // it can be created again
      expect((await made(agent)).id).not.toBe(id)
    })

    test('finds nothing under another agent’s name, for another user, and elsewhere', async () => {
      const agent = uniqueName()
      const { id } = await made(agent)
      const { keys, sibling, other } = app
      const message = `Connection ID ${id} not found.`
      for (const key of [keys.deployer, sibling.keys.admin, other.keys.admin])
        expect(await remove(agent, id, { key })).toMatchObject({ code: 'NOT_FOUND', message })
      expect((await remove(uniqueName(), id)).code).toBe('NOT_FOUND')
      expect((await remove(agent, randomUUID())).code).toBe('NOT_FOUND')
      expect((await remove(agent, id, { key: keys.viewer })).code).toBe('FORBIDDEN')
      await api.refuses('deleteConnection', { agent_id: agent, connection_id: 'x' }, ['connection_id uuid_parsing'])
      expect(await stored(agent)).toHaveLength(1)
    })
  })

  test('a connection is removed with its token', async () => {
    const agent = uniqueName()
    const { id } = await tokenOf(app.keys.admin)
    await made(agent, id)
    await app.core.db.oAuthToken.delete({ where: { id } })
    expect(await list(agent)).toEqual([])
  })
})
