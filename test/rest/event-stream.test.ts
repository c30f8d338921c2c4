/** Streams of events over REST: server-sent events at the addresses of the pages. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { prefersStream } from '../../src/api/rest/framework/stream.ts'
import { move, ROLLOUT } from '../realtime/support.ts'
import { testApp } from '../support/app.ts'
import { openEvents, type SseClient } from '../support/sse.ts'
import { bodies, useRestApp } from './support.ts'

const app = useRestApp(() => ({ settings: { STREAMS_PER_WORKSPACE: '3' } }))

const follow = (path: string, headers: Record<string, string> = {}) =>
  openEvents(app.url + path, { 'x-api-key': app.keys.viewer, ...headers })

/** A deployment whose revision is not deployed yet. */
async function waiting() {
  const { id, latest_revision_id: revisionId } = await app.create(bodies.external_container())
  return { id, revisionId, path: `/v2/deployments/${id}` }
}

const ctx = () => app.context(app.keys.admin)

test('All new events of the workspace are sent in the form of the page', async () => {
  const stream = await follow('/v2/events')
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(stream.headers.get('vary')).toContain('Accept')
  expect(stream.headers.get('x-request-id')).toBeTruthy()
  const { id } = await waiting()
  const [first, second] = await stream.take(2)
  expect(first).toMatchObject({ event: 'tracing_project.created' })
  expect(second).toMatchObject({ event: 'deployment.created', data: { deployment_id: id, actor: { kind: 'api_key' } } })
  const page = await app.call('GET', '/v2/events', { query: { types: 'deployment.created', order: 'desc', limit: 1 } })
  expect([second!.data]).toEqual(page.body.resources)
  expect(second!.id).toBe(second!.data.cursor)
})

describe('A returning client', () => {
  test('continues after its Last-Event-ID, which wins over `after`', async () => {
    const { path } = await waiting()
    const all = (await app.call('GET', `${path}/events`)).body.resources
    const byQuery = await follow(`${path}/events?after=${all[0].cursor}`)
    expect((await byQuery.take(all.length - 1)).map(({ data }) => data)).toEqual(all.slice(1))
    const byHeader = await follow(`${path}/events?after=${all[1].cursor}`, { 'last-event-id': all[0].cursor })
    expect((await byHeader.next())?.data).toEqual(all[1])
  })

  test('with an invalid cursor gets a violation under the name that it used', async () => {
    const refused = await follow('/v2/events', { 'last-event-id': 'nonsense' })
    expect(refused.status).toBe(422)
    expect((await refused.json()).detail).toMatchObject([{ loc: ['header', 'Last-Event-ID'], type: 'cursor_invalid' }])
  })
})

test('A deployment’s stream has only its events of the selected types, and ends when it is torn down', async () => {
  const { id, path } = await waiting()
  const stream = await follow(`${path}/events?types=deployment.updated`)
  await waiting()
  await app.call('PATCH', path, { body: { secrets: [{ name: 'TOKEN', value: 'hush' }] } })
  await app.call('DELETE', path)
  const events = await stream.rest()
  expect(events.map(({ event }) => event)).toEqual(['deployment.updated', 'complete'])
  expect(events[0]!.data).toMatchObject({ deployment_id: id, changed: ['secrets'] })
  // a removed deployment emits nothing more, but its events can still be read
  expect((await (await follow(`${path}/events`)).rest()).map(({ event }) => event)).toEqual(['complete'])
  const again = await follow(`${path}/events?after=${events[0]!.id}`)
  expect((await again.rest()).map(({ event }) => event).slice(-2)).toEqual(['deployment.torn_down', 'complete'])
})

test('A revision’s stream begins with its status, and ends when the revision has ended', async () => {
  const { revisionId, path } = await waiting()
  const stream = await follow(`${path}/revisions/${revisionId}/events`)
  expect((await stream.next())?.data).toMatchObject({
    from: null,
    to: 'CREATING',
    actor: null,
    revision_id: revisionId,
  })
  await move(await ctx(), revisionId, ROLLOUT)
  const events = await stream.rest()
  expect(events.map(({ event, data }) => (event === 'complete' ? event : data.to))).toEqual([...ROLLOUT, 'complete'])
  const ended = await follow(`${path}/revisions/${revisionId}/events`)
  expect((await ended.rest()).map(({ event, data }) => data.to ?? event)).toEqual(['DEPLOYED', 'complete'])
})

test('Changed deployments are a stream, too, and can be polled with a cursor', async () => {
  const changes = '/v2/deployments/changes'
  const { id: own, path } = await waiting()
  const change = (body: object) => app.call('PATCH', path, { body })
  const stream = await follow(changes)
  const first = (await stream.next())!
  expect(first).toMatchObject({ event: 'deployments.changed', data: { deployment_ids: [] } })
  expect(first.id).toBe(first.data.cursor)
  await change({ source_config: { resource_spec: { cpu: 2 } } })
  // deployments of other tests may still be reported
  const upTo = async (from: SseClient) => {
    for (;;) {
      const { id, data } = (await from.next())!
      if (data.deployment_ids.includes(own)) return id!
    }
  }
  await upTo(stream)
  const asked = (query: Record<string, string>, key = app.keys.viewer) => app.call('GET', changes, { query, key })
  const { body: page } = await asked({ after: first.id! })
  expect(page.deployment_ids).toContain(own)
  expect((await asked({ after: first.id!, deployment_id: own })).body.deployment_ids).toEqual([own])
  const begin = (await asked({ deployment_id: own })).body
  expect(begin).toMatchObject({ deployment_ids: [], cursor: expect.any(String) })
  // after all effects of the change are reported, nothing follows the new position
  const behindNow = async () => {
    const { cursor } = (await asked({ deployment_id: own })).body
    return (await asked({ after: cursor, deployment_id: own })).body.deployment_ids
  }
  await expect.poll(behindNow).toEqual([])
  await change({ source_config: { resource_spec: { cpu: 3 } } })
  await upTo(await follow(`${changes}?deployment_id=${own}`, { 'last-event-id': begin.cursor }))
  const refused = await asked({ after: begin.cursor }, app.sibling.keys.viewer)
  expect(refused.body.detail).toMatchObject([{ loc: ['query', 'after'], type: 'cursor_invalid' }])
  expect((await asked({ deployment_id: own }, app.sibling.keys.viewer)).status).toBe(404)
  expect((await follow(`${changes}?after=nonsense`)).status).toBe(422)
})

test('A stream that ends early gives the reason and the cursor to continue from', async () => {
  const { path } = await waiting()
  const key = await app.gql(
    'mutation { createApiKey(input: { name: "watcher", role: viewer }) { ... on CreateApiKeySuccess { key apiKey { id } } } }',
  )
  const { key: text, apiKey } = key.data.createApiKey
  const stream = await follow(`${path}/events`, { 'x-api-key': text })
  await app.gql('mutation ($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { __typename } }', { id: apiKey.id })
  expect(await stream.rest()).toMatchObject([
    { event: 'error', data: { code: 'UNAUTHENTICATED', detail: expect.any(String), cursor: expect.any(String) } },
  ])
})

test('Another server continues the stream of a stopped one', async () => {
  const { path } = await waiting()
  const second = await testApp({ beside: app })
  const stream = await openEvents(`${second.url}${path}/events`, { 'x-api-key': app.keys.viewer })
  await app.call('PATCH', path, { body: { secrets: [{ name: 'TOKEN', value: 'hush' }] } })
  expect(await stream.next()).toMatchObject({ event: 'deployment.updated' })
  await second.close()
  const end = (await stream.rest()).at(-1)!
  expect(end).toMatchObject({ event: 'error', id: end.data.cursor, data: { code: 'UNAVAILABLE' } })
  await app.call('DELETE', path)
  const again = await follow(`${path}/events?types=deployment.*`, { 'last-event-id': end.id! })
  expect((await again.rest()).map(({ event }) => event)).toEqual([
    'deployment.deleted',
    'deployment.torn_down',
    'complete',
  ])
})

test('A stream of another tenant, of an unknown resource, or above the limit is refused', async () => {
  const { path } = await waiting()
  expect((await follow(`${path}/events`, { 'x-api-key': app.other.keys.admin })).status).toBe(404)
  expect((await follow(`/v2/deployments/${randomUUID()}/events`)).status).toBe(404)
  expect((await follow('/v2/events?types=nonsense')).status).toBe(422)
  expect((await follow('/v2/events?limit=5')).status).toBe(422)
  expect((await follow('/v2/events', { 'x-api-key': 'nobody' })).status).toBe(401)
  const among = await Promise.all([
    follow('/v2/events'),
    follow('/v2/events'),
    follow('/v2/events'),
    follow('/v2/events'),
  ])
  expect(among.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429])
})

test('Accept decides: a stream if it has the highest weight, JSON in every other case', () => {
  for (const accept of [
    'text/event-stream',
    'text/event-stream, */*;q=0.1',
    'application/json;q=0.5, text/event-stream',
    'text/*',
  ])
    expect([accept, prefersStream(accept)]).toEqual([accept, true])
  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/event-stream',
    'text/event-stream;q=0',
    'text/event-stream;q=0.5, */*',
    'text/html',
    'nonsense;;;,',
  ])
    expect([accept, prefersStream(accept)]).toEqual([accept, false])
})
