/** How sessions end, who may see and end them, and what they never show. */
import { describe, expect, test } from 'vitest'
import { createRetention } from '../../src/domain/retain.ts'
import { issueSessionCode } from '../../src/domain/sessions/open.ts'
import { newKey, type TestApp, testApp, useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { asPage, type Browser, signIn } from './support.ts'

const app = useApp()
const beside = useApp(() => ({ beside: app }))

const statusOn = async (on: TestApp, page: Browser) => (await on.rest('GET', '/v2/deployments', asPage(page))).status
const own = async (how: object = {}) => {
  const text = await newKey(app.app.core, { ...app.tenant, ...how })
  const { actor } = await app.context(text, app.tenant.workspaceId)
  return { text, id: actor.subject, page: await signIn(app, { api_key: text }) }
}
const revoke = (id: string, how: object = {}) => app.rest('DELETE', `/v2/sessions/${id}`, how)
const revokeKey = (apiKeyId: string) =>
  app.gql('mutation($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { __typename } }', { id: apiKeyId })
/** A stream of the page, with its text until it ends. */
async function stream(on: TestApp, page: Browser): Promise<{ text: Promise<string> }> {
  const headers = { ...page.headers, accept: 'text/event-stream' }
  const response = await fetch(`${on.url}/v2/events`, { headers })
  expect(response.status).toBe(200)
  return { text: response.text() }
}

describe('a session ends', () => {
  test('with its key, immediately and on another server, including open streams', async () => {
    const { id, page } = await own()
    expect([await statusOn(app, page), await statusOn(beside, page)]).toEqual([200, 200])
    const streams = [await stream(app, page), await stream(beside, page)]
    await revokeKey(id)
    expect(await statusOn(app, page)).toBe(401)
    await expect.poll(() => statusOn(beside, page)).toBe(401)
    for (const { text } of streams) expect(await text).toContain('UNAUTHENTICATED')
  })

  test('by revocation, while its key stays valid', async () => {
    const { text, page } = await own()
    const open = await stream(beside, page)
    expect((await revoke('current', asPage(page))).status).toBe(204)
    expect(await statusOn(app, page)).toBe(401)
    expect(await open.text).toContain('UNAUTHENTICATED')
    await expect.poll(() => statusOn(beside, page)).toBe(401)
    expect((await app.rest('GET', '/v2/deployments', { key: text })).status).toBe(200)
    expect(await signIn(app, { api_key: text })).toBeTruthy()
  })

  test('at its expiry, its key’s expiry, or a change of its key’s role', async () => {
    const { db } = app.app.core
    const [first, second, third] = [await own(), await own(), await own({ role: 'deployer' })]
    const open = [await stream(beside, first.page), await stream(beside, second.page), await stream(beside, third.page)]
    await db.session.update({ where: { id: first.page.id }, data: { expiresAt: new Date(0) } })
    await db.apiKey.update({ where: { id: second.id }, data: { expiresAt: new Date(0) } })
    await db.apiKey.update({ where: { id: third.id }, data: { role: 'viewer' } })
    for (const { text } of open) expect(await text).toContain('UNAUTHENTICATED')
    // caches last some seconds, but a first look-up is never cached
    const late = await testApp({ beside: app })
    expect([await statusOn(late, first.page), await statusOn(late, second.page)]).toEqual([401, 401])
    expect((await late.rest('POST', '/v2/deployments', { ...asPage(third.page), body: {} })).status).toBe(403)
    await late.close()
  })

  test('when the same subject opens the hundredth later session, on every server', async () => {
    const { text, page: first } = await own()
    const { apiKeyId, subject } = await app.app.core.db.session.findUniqueOrThrow({ where: { id: first.id } })
    await app.app.core.db.session.createMany({
      data: Array.from({ length: 99 }, (_, n) => ({
        organizationId: app.tenant.organizationId,
        kind: 'api_key',
        subject,
        apiKeyId,
        hash: `${first.id} ${n}`,
        openedAt: new Date(),
        expiresAt: new Date(Date.now() + 60_000),
      })),
    })
    const open = await stream(beside, first)
    expect([await statusOn(app, first), await statusOn(beside, first)]).toEqual([200, 200])
    await signIn(app, { api_key: text })
    expect(await statusOn(app, first)).toBe(401)
    await expect.poll(() => statusOn(beside, first)).toBe(401)
    expect(await open.text).toContain('UNAUTHENTICATED')
    const told = { subjectId: first.id, type: 'session.revoked' }
    expect(await app.app.core.db.event.count({ where: told })).toBe(1)
    expect(await app.app.core.db.session.count({ where: { apiKeyId } })).toBe(100)
    expect(await app.app.core.db.session.count({ where: { id: first.id } })).toBe(0)
  })

  test('once: a second revocation changes nothing and writes no event', async () => {
    const { page } = await own()
    const both = await Promise.all([revoke(page.id), revoke(page.id)])
    expect(both.map(({ status }) => status)).toEqual([204, 204])
    expect((await revoke(page.id)).status).toBe(204)
    const where = { subjectId: page.id, type: 'session.revoked' }
    expect(await app.app.core.db.event.count({ where })).toBe(1)
  })
})

describe('sessions', () => {
  const listed = async (call: object) => {
    const { body } = await app.rest('GET', '/v2/sessions?limit=100', call)
    return (body.resources as { id: string }[]).map(({ id }) => id)
  }

  test('are visible only to their subject and to admins of the workspace', async () => {
    const [one, other] = [await own(), await own()]
    expect(await listed(asPage(one.page))).toEqual([one.page.id])
    expect(await listed({ key: one.text })).toEqual([one.page.id])
    expect(await listed({})).toEqual(expect.arrayContaining([one.page.id, other.page.id]))
    for (const key of [app.sibling.keys.admin, app.other.keys.admin]) {
      expect(await listed({ key })).not.toContain(one.page.id)
      expect((await revoke(one.page.id, { key })).body).toMatchObject({ code: 'NOT_FOUND' })
      const { data } = await app.gql('query($id: ID!) { node(id: $id) { id } }', { id: one.page.id }, { key })
      expect(data.node).toBeNull()
    }
    expect((await revoke(other.page.id, asPage(one.page))).status).toBe(404)
    expect((await revoke('current')).status).toBe(404)
    expect((await revoke('not-an-id')).status).toBe(422)
    expect(await statusOn(app, other.page)).toBe(200)
    expect((await revoke(other.page.id)).status).toBe(204)
  })

  test('are the same in GraphQL, in windows', async () => {
    const { page } = await own()
    const query =
      '{ sessions(first: 100) { totalCount nodes { id current role endedAt actor { kind name } organizationWide apiKeyId } } }'
    const { data } = await app.gql(query, {}, asPage(page))
    expect(data.sessions).toMatchObject({ totalCount: 1, nodes: [{ id: page.id, current: true, endedAt: null }] })
    const found = await app.gql('query($id: ID!) { node(id: $id) { __typename id } }', { id: page.id }, asPage(page))
    expect(found.data.node).toEqual({ __typename: 'Session', id: page.id })
    const revoked = await app.gql(
      'mutation($id: ID!) { revokeSession(input: { sessionId: $id }) { ... on RevokeSessionSuccess { session { id endedAt } } } }',
      { id: page.id },
    )
    expect(revoked.data.revokeSession.session).toEqual({ id: page.id, endedAt: expect.any(String) })
    const missing = await app.gql(
      'mutation($id: ID!) { revokeSession(input: { sessionId: $id }) { ... on NotFoundError { code } } }',
      { id: page.id },
      { key: app.other.keys.admin },
    )
    expect(missing.data.revokeSession).toEqual({ code: 'NOT_FOUND' })
  })

  test('of the organization can be ended only by organization-wide credentials and their subject', async () => {
    const wide = await own({ organizationWide: true, role: 'admin' })
    expect((await revoke(wide.page.id)).status).toBe(403)
    const call = asPage(wide.page, { 'x-tenant-id': app.tenant.workspaceId })
    expect((await revoke('current', call)).status).toBe(204)
  })

  test('do not include unused codes', async () => {
    const { organizationId, workspaceId } = app.tenant
    const before = (await listed({})).length
    await issueSessionCode(app.app.core, { kind: 'command_line', organizationId, workspaceId }, { seconds: 600 })
    expect((await listed({})).length).toBe(before)
  })
})

test('a session shows secret values as masks, also to an admin, in REST and GraphQL', async () => {
  const { id } = await gitDeployment(app, { secrets: [{ name: 'TOKEN', value: 'the-value' }] })
  const page = await signIn(app, { api_key: app.keys.admin })
  const query = 'query($id: ID!) { deployment(id: $id) { secrets { name value } } }'
  // each twice, because the second is answered from the cache
  for (const call of [{}, asPage(page), {}, asPage(page)]) {
    const isSession = 'headers' in call
    const rest = await app.rest('GET', `/v2/deployments/${id}`, call)
    const graphql = await app.gql(query, { id }, call)
    expect([rest.text, graphql.text].map((text) => text.includes('the-value'))).toEqual([!isSession, !isSession])
  }
})

test('retention removes sessions a day after their end, and unused codes', async () => {
  const { db } = app.app.core
  const [ended, recent, ofKey] = [await own(), await own(), await own()]
  const old = new Date(Date.now() - 25 * 3_600_000)
  await db.session.update({ where: { id: ended.page.id }, data: { endedAt: old } })
  await db.session.update({ where: { id: recent.page.id }, data: { endedAt: new Date(Date.now() - 3_600_000) } })
  await db.apiKey.update({ where: { id: ofKey.id }, data: { revokedAt: old } })
  const { organizationId } = app.tenant
  await issueSessionCode(app.app.core, { kind: 'command_line', organizationId, workspaceId: null }, { seconds: -1 })
  await createRetention(app.app.core)(new AbortController().signal)
  const left = await db.session.findMany({ where: { id: { in: [ended, recent, ofKey].map(({ page }) => page.id) } } })
  expect(left.map(({ id }) => id)).toEqual([recent.page.id])
  expect(await db.session.count({ where: { codeExpiresAt: { lt: new Date() }, openedAt: null } })).toBe(0)
})

test('the last use of a session and of its key is recorded', async () => {
  const { id, page } = await own()
  const before = new Date(Date.now() - 3_600_000)
  await app.app.core.db.session.update({ where: { id: page.id }, data: { lastUsedAt: before } })
  await app.app.core.db.apiKey.update({ where: { id }, data: { lastUsedAt: before } })
  expect(await statusOn(app, page)).toBe(200)
  await expect
    .poll(async () => {
      const key = await app.app.core.db.apiKey.findUniqueOrThrow({ where: { id }, include: { sessions: true } })
      return [key.lastUsedAt! > before, key.sessions[0]!.lastUsedAt! > before]
    })
    .toEqual([true, true])
})

const withSecret = async () => (await gitDeployment(app, { secrets: [{ name: 'TOKEN', value: 'the-value' }] })).id

const of = (api_key: string) => signIn(app, { api_key })

test('a change over a session answers masks, also to an admin, and its event names the subject', async () => {
  const id = await withSecret()
  const session = await of(app.keys.admin)
  const body = { set: [{ name: 'NEW', value: 'another-value' }] }
  const answer = await app.rest('PATCH', `/v2/deployments/${id}/secrets`, { ...asPage(session), body })
  expect(answer.status).toBe(200)
  expect(answer.body.secrets.map(({ name }: { name: string }) => name)).toEqual(['TOKEN', 'NEW'])
  expect(answer.text).not.toMatch(/the-value|another-value/)
  const list = await app.rest('GET', `/v2/deployments/${id}/secrets`, asPage(session))
  expect(list.body.resources[1]).toMatchObject({ name: 'NEW', set_by: { kind: 'api_key' } })
})

test('a session reveals one value only to a caller who may read values', async () => {
  const id = await withSecret()
  const reveal = async (key: string) =>
    app.rest('POST', `/v2/deployments/${id}/secrets/TOKEN/reveal`, asPage(await of(key)))
  const answer = await reveal(app.keys.secretsReader)
  expect([answer.status, answer.body]).toEqual([200, { name: 'TOKEN', value: 'the-value' }])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect((await reveal(app.keys.deployer)).status).toBe(403)
  expect((await reveal(app.sibling.keys.admin)).status).toBe(404)
  const { text } = await app.rest('GET', `/v2/deployments/${id}/events`)
  expect(text).toContain('secret.revealed')
  expect(text).not.toContain('the-value')
})
