/** GET …/revisions/{id}/logs: each parameter of contract 3, paging and following; and how lines are stored. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appendLog, MAX_LINE_BYTES } from '../../src/domain/logs/append.ts'
import type { LogEntry } from '../../src/domain/work/protocol.ts'
import { bodies, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
let path: string
let revisionId: string
const NOWHERE = '11111111-1111-1111-1111-111111111111'

beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())
beforeEach(async () => {
  const { id, latest_revision_id } = await app.create(bodies.gitprovider(app.tenant.integrationId))
  revisionId = latest_revision_id
  path = `/v2/deployments/${id}/revisions/${revisionId}/logs`
})

const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const write = (entries: Partial<LogEntry>[], attempt = 1) =>
  appendLog(
    app.core,
    entries.map((entry, i) => ({
      revisionId,
      attempt,
      type: 'build' as const,
      message: `line ${i}`,
      time: time(i),
      ...entry,
    })),
  )
const read = (query: Record<string, string | number> = {}) =>
  app.call('GET', path, { query: { type: 'build', ...query } })
const messages = async (query = {}) => {
  const answer = await read(query)
  expect(answer.status, answer.text).toBe(200)
  return answer.body.logs.map((line: { message: string }) => line.message)
}

describe('what is answered', () => {
  test('lines with time, level, message and attempt, oldest first', async () => {
    await write([{ message: 'cloning' }, { message: 'no such ref', level: 'error' }])
    await write([{ message: 'again', level: 'debug' }], 2)
    const { body } = await read()
    expect(body.logs).toEqual([
      { timestamp: '2026-01-01T00:00:00.000Z', level: 'info', message: 'cloning', attempt: 1 },
      { timestamp: '2026-01-01T00:00:01.000Z', level: 'error', message: 'no such ref', attempt: 1 },
      { timestamp: '2026-01-01T00:00:00.000Z', level: 'debug', message: 'again', attempt: 2 },
    ])
  })

  test('an empty log is an empty page without an offset', async () => {
    expect((await read()).body).toEqual({ logs: [], next_offset: null })
  })

  test('the log of the build and that of the agent are two', async () => {
    await write([{ message: 'built' }, { message: 'listening', type: 'deploy' }])
    expect(await messages()).toEqual(['built'])
    expect(await messages({ type: 'deploy' })).toEqual(['listening'])
  })
})

describe('paging', () => {
  beforeEach(() => write(Array.from({ length: 60 }, () => ({}))))

  test('50 lines unless said otherwise; next_offset goes on; the last page is empty and has none', async () => {
    const first = await read()
    expect(first.body.logs).toHaveLength(50)
    const second = await read({ offset: first.body.next_offset })
    expect(second.body.logs.map((line: { message: string }) => line.message)).toEqual(
      Array.from({ length: 10 }, (_, i) => `line ${50 + i}`),
    )
    expect((await read({ offset: second.body.next_offset })).body).toEqual({ logs: [], next_offset: null })
  })

  test('a client that keeps its last offset sees every line that comes later, once', async () => {
    const all = await read({ limit: 1000 })
    expect(await messages({ offset: all.body.next_offset })).toEqual([])
    await write([{ message: 'late' }])
    expect(await messages({ offset: all.body.next_offset })).toEqual(['late'])
  })

  test('order=desc goes from the newest to the beginning, where there is no offset', async () => {
    const first = await read({ order: 'desc', limit: 40 })
    expect(first.body.logs[0].message).toBe('line 59')
    const second = await read({ order: 'desc', limit: 40, offset: first.body.next_offset })
    expect(second.body.logs).toHaveLength(20)
    expect(second.body.logs.at(-1).message).toBe('line 0')
    expect(second.body.next_offset).toBeNull()
  })
})

describe('filters', () => {
  test('start_time and what comes later; end_time and what comes before', async () => {
    await write([{}, {}, {}, {}])
    expect(await messages({ start_time: '2026-01-01T00:00:02Z' })).toEqual(['line 2', 'line 3'])
    expect(await messages({ end_time: '2026-01-01T00:00:02Z' })).toEqual(['line 0', 'line 1'])
    expect(await messages({ start_time: '2026-01-01T01:00:01+01:00', end_time: '2026-01-01T00:00:03Z' })).toEqual([
      'line 1',
      'line 2',
    ])
  })

  test('the ends of the calendar are times like others', async () => {
    await write([{}])
    expect(await messages({ start_time: '0001-01-01T00:00:00Z', end_time: '9999-12-31T23:59:59Z' })).toEqual(['line 0'])
  })

  test('query finds a part of a line, in upper or lower case; wildcards mean themselves', async () => {
    await write([
      { message: 'Added 12 packages' },
      { message: '100% done' },
      { message: 'a_b' },
      { message: 'back\\slash' },
    ])
    expect(await messages({ query: 'PACK' })).toEqual(['Added 12 packages'])
    expect(await messages({ query: '%' })).toEqual(['100% done'])
    expect(await messages({ query: '_' })).toEqual(['a_b'])
    expect(await messages({ query: '\\' })).toEqual(['back\\slash'])
  })

  test('level: this one and the more severe ones', async () => {
    await write((['debug', 'info', 'warning', 'error'] as const).map((level) => ({ level, message: level })))
    expect(await messages({ level: 'debug' })).toEqual(['debug', 'info', 'warning', 'error'])
    expect(await messages({ level: 'warning' })).toEqual(['warning', 'error'])
    expect(await messages({ level: 'error' })).toEqual(['error'])
  })

  test('empty values are no filters', async () => {
    await write([{}])
    const none = { start_time: '', end_time: '', order: '', limit: '', offset: '', query: '', level: '' }
    expect(await messages(none)).toEqual(['line 0'])
  })
})

describe('what is refused', () => {
  test.each([
    ['type', '', 'query.type enum'],
    ['type', 'run', 'query.type enum'],
    ['start_time', 'yesterday', 'query.start_time datetime_parsing'],
    ['end_time', '2026-01-01', 'query.end_time datetime_parsing'],
    ['start_time', '0000-01-01T00:00:00Z', 'query.start_time datetime_parsing'],
    ['end_time', '9999-12-31T23:59:59-01:00', 'query.end_time datetime_parsing'],
    ['order', 'up', 'query.order enum'],
    ['limit', '0', 'query.limit greater_than_equal'],
    ['limit', '1001', 'query.limit less_than_equal'],
    ['limit', 'x', 'query.limit int_parsing'],
    ['offset', 'made-up', 'query.offset cursor_invalid'],
    ['offset', Buffer.from('["7"]').toString('base64url'), 'query.offset cursor_invalid'],
    ['level', 'loud', 'query.level enum'],
    ['query', 'a\0', 'query.query value_error'],
  ])('%s=%j is 422', async (name, value, expected) => {
    expect(violations(await read({ [name]: value }))).toEqual([expected])
  })

  test('a missing type is 422', async () => {
    expect(violations(await app.call('GET', path))).toEqual(['query.type missing'])
  })

  test('unknown ids are 404', async () => {
    const unknown = await app.call('GET', path.replace(revisionId, NOWHERE), { query: { type: 'build' } })
    expect([unknown.status, unknown.body.detail]).toEqual([404, `Revision ID ${NOWHERE} not found.`])
  })

  test('viewers may read', async () => {
    expect((await app.call('GET', path, { key: app.keys.viewer, query: { type: 'build' } })).status).toBe(200)
  })
})

describe('how lines are stored', () => {
  test('without NUL bytes, and in the order they were given', async () => {
    await write([
      { message: 'a\0b', time: time(9) },
      { message: 'c', time: time(1) },
    ])
    expect(await messages()).toEqual(['ab', 'c'])
  })

  test('cut to 8 KiB, never inside a character', async () => {
    await write([{ message: '€'.repeat(MAX_LINE_BYTES) }])
    const [message] = await messages()
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(MAX_LINE_BYTES)
    expect(message).toMatch(/^€+…$/)
  })

  test('none is none', async () => {
    await write([])
    expect(await messages()).toEqual([])
  })
})
