/**
 * Followed logs as clients see them: server-sent events over REST, and the same over GraphQL
 * (docs/deployments.md#logs).
 */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { writeLog } from '../support/log.ts'
import { openEvents, subscribe } from '../support/sse.ts'
import { bodies, useRestApp, violations } from './support.ts'

const app = useRestApp(() => ({ settings: { STREAMS_PER_WORKSPACE: '3' } }))
let id: string
let revisionId: string
beforeEach(async () => {
  const made = await app.create(bodies.gitprovider(app.tenant.integrationId))
  id = made.id
  revisionId = made.latest_revision_id
})

const path = () => `/v2/deployments/${id}/revisions/${revisionId}/logs`

function follow(query: Record<string, string>, headers: Record<string, string> = {}, at = path()) {
  const asked = new URLSearchParams({ type: 'deploy', follow: 'true', ...query })
  return openEvents(`${app.url}${at}?${asked}`, { 'x-api-key': app.keys.viewer, ...headers })
}

const write = (messages: readonly string[]) =>
  writeLog(
    app.core,
    messages.map((message) => ({ revisionId, attempt: 1, type: 'deploy', message, time: new Date() })),
  )
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `${from + i}`)
const messages = (events: { data: { message: string } }[]) => events.map(({ data }) => data.message)

test('each line is an event with the JSON of a page; a page’s next_offset equals an event’s id', async () => {
  await write(['a', 'b'])
  const stream = await follow({})
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  await write(['c'])
  const events = await stream.take(3)
  const page = await app.call('GET', path(), { query: { type: 'deploy' } })
  expect(events.map(({ event }) => event)).toEqual(['line', 'line', 'line'])
  expect(events.map(({ data }) => data)).toEqual(page.body.logs)
  expect(events[2]!.id).toBe(page.body.next_offset)
  const on = await follow({ offset: events[0]!.id! }, {}, `/v2/deployments/${id}/logs`)
  expect(messages(await on.take(2))).toEqual(['b', 'c'])
})

test('5,000 lines reach two followers complete and in order, one of which is cut off and returns, while a third reads nothing', async () => {
  const [steady, broken] = [await follow({}), await follow({ last: '0' })]
  await follow({})
  const writing = (async () => {
    for (let from = 0; from < 5000; from += 100) await write(numbered(100, from))
  })()
  const early = await broken.take(1500)
  broken.close()
  const back = await follow({ last: '0' }, { 'last-event-id': early.at(-1)!.id! })
  const late = await back.take(5000 - 1500)
  expect(messages([...early, ...late])).toEqual(numbered(5000))
  expect(messages(await steady.take(5000))).toEqual(numbered(5000))
  await writing
})

test('a build’s log completes after its last line when no more can come', async () => {
  await app.core.db.revision.update({ where: { id: revisionId }, data: { status: 'BUILD_FAILED' } })
  await writeLog(app.core, [{ revisionId, attempt: 1, type: 'build', message: 'no such ref', time: new Date() }])
  const stream = await follow({ type: 'build' })
  expect(messages(await stream.take(1))).toEqual(['no such ref'])
  expect(await stream.next()).toMatchObject({ event: 'complete' })
})

describe('Following is refused', () => {
  const refused = async (query: Record<string, string>, headers: Record<string, string> = {}) => {
    const answer = await follow(query, headers)
    const { detail } = await answer.json()
    return [
      answer.status,
      ...detail.map(({ loc, type }: { loc: string[]; type: string }) => `${loc.join('.')} ${type}`),
    ]
  }

  test('with parameters of pages, and with two starting positions, naming each', async () => {
    expect(
      await refused({ order: 'asc', limit: '5', end_time: '2026-01-01T00:00:00Z', last: '1', offset: 'x' }),
    ).toEqual([
      422,
      'query.order value_error',
      'query.limit value_error',
      'query.end_time value_error',
      'query.last value_error',
    ])
    expect(await refused({ offset: 'made-up' })).toEqual([422, 'query.offset cursor_invalid'])
    expect(await refused({}, { 'last-event-id': 'made-up' })).toEqual([422, 'header.Last-Event-ID cursor_invalid'])
    expect(await refused({ type: 'run' })).toEqual([422, 'query.type enum'])
  })

  test('without Accept: text/event-stream', async () => {
    const headers = { accept: 'application/json' }
    expect(violations(await app.call('GET', path(), { query: { type: 'deploy', follow: 'true' }, headers }))).toEqual([
      'query.follow value_error',
    ])
    const page = await app.call('GET', path(), { query: { type: 'deploy', follow: 'false' } })
    expect(page.body).toEqual({ logs: [], next_offset: null, incomplete: false })
  })

  test('for another tenant’s log, an unknown one, or one stream too many', async () => {
    const foreign = await follow({}, { 'x-api-key': app.other.keys.admin })
    expect([foreign.status, (await foreign.json()).detail]).toEqual([404, `Deployment ID ${id} not found.`])
    const unknown = randomUUID()
    const missing = await follow({}, {}, path().replace(revisionId, unknown))
    expect([missing.status, (await missing.json()).detail]).toEqual([404, `Revision ID ${unknown} not found.`])
    for (let i = 0; i < 3; i++) expect((await follow({})).status).toBe(200)
    expect((await follow({})).status).toBe(429)
  })
})

test('a revoked key ends its streams', async () => {
  const { data } = await app.gql(
    'mutation { createApiKey(input: { name: "ci", role: viewer }) { ... on CreateApiKeySuccess { key apiKey { id } } } }',
  )
  const stream = await follow({}, { 'x-api-key': data.createApiKey.key })
  expect(stream.status).toBe(200)
  await app.gql('mutation ($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { __typename } }', {
    id: data.createApiKey.apiKey.id,
  })
  expect(await stream.next()).toMatchObject({ event: 'error', data: { code: 'UNAUTHENTICATED' } })
})

test('GraphQL sends the same lines, with the cursor of each', async () => {
  await write(['a', 'b', 'c'])
  const query = `subscription ($id: ID!, $after: String) { revisionLogs(revisionId: $id, type: deploy, last: 2, after: $after) { cursor message } }`
  const follow = (variables: object) => subscribe(app, query, { id: revisionId, ...variables })
  const events = await (await follow({})).take(2)
  const lines = events.map(({ data }) => data.data.revisionLogs)
  expect(lines.map(({ message }) => message)).toEqual(['b', 'c'])
  expect(events.map((event) => event.id)).toEqual(lines.map(({ cursor }) => cursor))
  const on = await (await follow({ after: lines[0].cursor })).next()
  expect(on!.data.data.revisionLogs.message).toBe('c')
})
