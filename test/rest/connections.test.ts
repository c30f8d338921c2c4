/** Connections of agents to tokens as a REST client sees them (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OAuthProvider, OAuthToken, Prisma } from '../../src/generated/prisma/client.ts'
import { countStatements } from '../support/database.ts'
import { storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type CallOptions, type RestApp, restApp, uniqueName, violations } from './support.ts'

let app: RestApp
let provider: OAuthProvider
/** The admin's. */
let token: OAuthToken
beforeAll(async () => {
  // no sweep, because its statements would be counted
  app = await restApp({ settings: { SWEEP_SECONDS: '3600' } })
  provider = await storedProvider(app)
  token = await tokenOf(app.keys.admin, { accountLabel: 'alice@example.com' })
})
afterAll(() => app.close())

/** A token of this key's owner; it ends when its access token does. */
const tokenOf = (key: string, row: Partial<Prisma.OAuthTokenUncheckedCreateInput> = {}) =>
  storedToken(app, { provider, key, row: { scopes: ['read', 'write'], refreshable: false, ...row } })

const pathOf = (agent: string) => `/v2/auth/agents/${encodeURIComponent(agent)}/connections`
const connect = (agent: string, oauth_token_id: unknown = token.id, options?: CallOptions) =>
  app.call('POST', pathOf(agent), { body: { oauth_token_id }, ...options })
const list = (agent: string, options?: CallOptions) => app.call('GET', pathOf(agent), options)
const remove = (agent: string, id: string, options?: CallOptions) =>
  app.call('DELETE', `${pathOf(agent)}/${id}`, options)
async function made(agent: string, tokenId = token.id, options?: CallOptions) {
  const answer = await connect(agent, tokenId, options)
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}
const stored = (agentId: string) => app.core.db.agentConnection.findMany({ where: { agentId } })
const eventsOf = async (id: string) =>
  (await app.core.db.event.findMany({ where: { subjectId: id }, orderBy: { sequence: 'asc' } })).map(({ type }) => type)

describe('connecting an agent to one’s own token', () => {
  test('returns the connection with the token’s validity, and lists it', async () => {
    const agent = uniqueName()
    const { body } = await connect(agent)
    expect(body).toEqual({
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
    expect((await list(agent)).body).toEqual({ data: [body] })
    expect(await eventsOf(body.id)).toEqual(['connection.created'])
  })

  test('shows one’s own name for the account, and no end if the provider gives none', async () => {
    const mine = await tokenOf(app.keys.admin, { label: 'Work', accountLabel: 'alice', expiresAt: null })
    expect(await made(uniqueName(), mine.id)).toMatchObject({ provider_account_label: 'Work', expires_at: null })
  })

  test('returns the existing connection the second time', async () => {
    const agent = uniqueName()
    const first = await made(agent)
    expect(await made(agent)).toEqual(first)
    expect(await stored(agent)).toHaveLength(1)
    expect(await eventsOf(first.id)).toEqual(['connection.created'])
  })

  test('by several concurrent calls creates one connection, which each of them gets', async () => {
    const agent = uniqueName()
    const answers = await Promise.all(Array.from({ length: 8 }, () => made(agent)))
    const rows = await stored(agent)
    expect(rows).toHaveLength(1)
    const { id } = rows[0]!
    expect(answers.map((answer) => answer.id)).toEqual(Array(8).fill(id))
    expect(await eventsOf(id)).toEqual(['connection.created'])
  })

  test('during a disconnect ends in one of the two states, never in a failure', async () => {
    const agent = uniqueName()
    const first = await made(agent)
    const [removed, ...again] = await Promise.all([
      remove(agent, first.id),
      ...Array.from({ length: 6 }, () => connect(agent)),
    ])
    expect(removed.status).toBe(204)
    expect(again.map(({ status }) => status)).toEqual(Array(6).fill(201))
    expect((await stored(agent)).length).toBeLessThanOrEqual(1)
  })

  test('during the token’s deletion ends in one of the two states, never in a failure', async () => {
    const { id } = await tokenOf(app.keys.admin)
    const agents = Array.from({ length: 6 }, () => uniqueName())
    const [deleted, ...answers] = await Promise.all([
      app.call('DELETE', `/v2/auth/tokens/${id}`),
      ...agents.map((agent) => connect(agent, id)),
    ])
    expect(deleted.status).toBe(204)
    for (const { status, text } of answers) expect([201, 404], text).toContain(status)
    expect(await app.core.db.agentConnection.count({ where: { tokenId: id } })).toBe(0)
  })

  test('accepts any printable agent name, known or unknown', async () => {
    for (const agent of ['日本語 bot/2 %2F?#', 'x'.repeat(255)]) expect((await made(agent)).agent_id).toBe(agent)
    for (const agent of ['a\nb', 'x'.repeat(256)]) {
      expect(violations(await connect(agent))[0]).toMatch(/^path\.agent_id /)
    }
  })

  test('needs the id of a token', async () => {
    const post = (body: unknown) => app.call('POST', pathOf('bot'), { body })
    expect(violations(await post({}))).toEqual(['body.oauth_token_id missing'])
    expect(violations(await post({ oauth_token_id: 'x' }))).toEqual(['body.oauth_token_id uuid_parsing'])
    expect(violations(await post({ oauth_token_id: null }))).toEqual(['body.oauth_token_id string_type'])
    expect(violations(await post('{'))).toEqual(['body json_invalid'])
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
      const answer = await connect('bot', id)
      expect([answer.status, answer.body.detail]).toEqual([404, `OAuth token ID ${id} not found.`])
      expect(await app.core.db.agentConnection.count({ where: { tokenId: id } })).toBe(0)
    }
  })

  test('is refused for an ended token, which only its owner can renew', async () => {
    const past = new Date(Date.now() - 1000)
    const ended = [{ endedAt: past, endedBecause: 'The provider has withdrawn it.' }, { expiresAt: past }]
    for (const row of ended) {
      const { id } = await tokenOf(app.keys.admin, row)
      const answer = await connect('bot', id)
      expect([answer.status, answer.body.code]).toEqual([409, 'TOKEN_EXPIRED'])
      expect(answer.body.detail).toContain('authenticate again')
    }
    const refreshed = await tokenOf(app.keys.admin, { expiresAt: past, refreshable: true })
    await made('bot', refreshed.id)
  })

  test('needs the role deployer', async () => {
    const key = app.keys.viewer
    const own = await tokenOf(key)
    const answer = await connect('bot', own.id, { key })
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
    const deployers = await tokenOf(app.keys.deployer)
    await made('bot', deployers.id, { key: app.keys.deployer })
  })
})

describe('the list', () => {
  test('has the newest first, of this agent only, in one statement', async () => {
    const agent = uniqueName()
    const second = await tokenOf(app.keys.admin)
    const ids = [(await made(agent)).id, (await made(agent, second.id)).id]
    await made(uniqueName())
    let answer = await list(agent)
    const statements = await countStatements(app.app.database, async () => {
      answer = await list(agent)
    })
    expect(answer.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.reverse())
    expect(statements).toHaveLength(1)
    expect(statements[0]).not.toContain('sealed')
  })

  test('is empty for an unknown agent', async () => {
    expect((await list(uniqueName())).body).toEqual({ data: [] })
    expect((await list(randomUUID())).body).toEqual({ data: [] })
    expect(violations(await list('a\nb'))[0]).toMatch(/^path\.agent_id /)
  })

  test('shows callers only the connections to their own tokens', async () => {
    const agent = uniqueName()
    const deployers = await tokenOf(app.keys.deployer)
    const mine = await made(agent)
    const theirs = await made(agent, deployers.id, { key: app.keys.deployer })
    expect((await list(agent)).body).toEqual({ data: [mine] })
    expect((await list(agent, { key: app.keys.deployer })).body).toEqual({ data: [theirs] })
    for (const key of [app.keys.viewer, app.sibling.keys.admin, app.other.keys.admin]) {
      expect((await list(agent, { key })).body).toEqual({ data: [] })
    }
  })
})

describe('disconnecting', () => {
  test('removes the connection and keeps the token', async () => {
    const agent = uniqueName()
    const { id } = await made(agent)
    expect((await remove(agent, id)).status).toBe(204)
    expect((await list(agent)).body).toEqual({ data: [] })
    expect(await app.core.db.oAuthToken.count({ where: { id: token.id } })).toBe(1)
    expect(await eventsOf(id)).toEqual(['connection.created', 'connection.deleted'])
    expect((await remove(agent, id)).status).toBe(404)
    // it can be created again
    expect((await made(agent)).id).not.toBe(id)
  })

  test('by two concurrent calls succeeds once', async () => {
    const agent = uniqueName()
    const { id } = await made(agent)
    const both = await Promise.all([remove(agent, id), remove(agent, id)])
    expect(both.map(({ status }) => status).sort()).toEqual([204, 404])
    expect(await eventsOf(id)).toEqual(['connection.created', 'connection.deleted'])
  })

  test('finds nothing under another agent’s name, for another user, and elsewhere', async () => {
    const agent = uniqueName()
    const { id } = await made(agent)
    const { keys, sibling, other } = app
    for (const key of [keys.deployer, sibling.keys.admin, other.keys.admin]) {
      const answer = await remove(agent, id, { key })
      expect([answer.status, answer.body.detail]).toEqual([404, `Connection ID ${id} not found.`])
    }
    expect((await remove(uniqueName(), id)).status).toBe(404)
    expect((await remove(agent, randomUUID())).status).toBe(404)
    expect(violations(await remove(agent, 'x'))).toEqual(['path.connection_id uuid_parsing'])
    expect((await remove(agent, id, { key: keys.viewer })).status).toBe(403)
    expect(await stored(agent)).toHaveLength(1)
  })
})

test('a connection is removed with its token', async () => {
  const agent = uniqueName()
  const { id } = await tokenOf(app.keys.admin)
  await made(agent, id)
  await app.core.db.oAuthToken.delete({ where: { id } })
  expect((await list(agent)).body).toEqual({ data: [] })
})
