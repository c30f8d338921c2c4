/**
 * GET …/revisions/{id}/logs: each parameter of docs/deployments.md#deployments, paging and following, and the storage
 * of lines.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { MAX_LINE_BYTES } from '../../src/domain/logs/append.ts'
import type { LogEntry } from '../../src/domain/protocol/protocol.ts'
import { writeLog } from '../support/log.ts'
import { bodies, NOWHERE, useRestApp, violations } from './support.ts'

const app = useRestApp()
let path: string
let revisionId: string

beforeEach(async () => {
  const { id, latest_revision_id } = await app.create(bodies.gitprovider(app.tenant.integrationId))
  revisionId = latest_revision_id
  path = `/v2/deployments/${id}/revisions/${revisionId}/logs`
})

const time = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const write = (entries: Partial<LogEntry>[], attempt = 1) =>
  writeLog(
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

describe('The answer', () => {
  test('has lines with time, level, message and attempt, oldest first', async () => {
    await write([{ message: 'cloning' }, { message: 'no such ref', level: 'error' }])
    await write([{ message: 'again', level: 'debug' }], 2)
    const { body } = await read()
    const line = { id: expect.any(String), revision_id: revisionId, ansi: null, context: false }
    expect(body.logs).toEqual([
      { ...line, timestamp: '2026-01-01T00:00:00.000Z', level: 'info', message: 'cloning', attempt: 1 },
      { ...line, timestamp: '2026-01-01T00:00:01.000Z', level: 'error', message: 'no such ref', attempt: 1 },
      { ...line, timestamp: '2026-01-01T00:00:00.000Z', level: 'debug', message: 'again', attempt: 2 },
    ])
  })

  test('has a coloured line also for terminals, and searches find its text', async () => {
    const styles = '0:1;31,5:,14:32,20:'
    await write([{ message: 'error in größe ✓' }, { message: 'error in größe ✓ ok', styles }, { message: '', styles }])
    const { body } = await read({ query: 'r in g' })
    const red = '\u001b[0;1;31m'
    expect(body.logs.map(({ message, ansi }: { message: string; ansi: string | null }) => [message, ansi])).toEqual([
      ['error in größe ✓', null],
      ['error in größe ✓ ok', `${red}error\u001b[0m in größe\u001b[0;32m ✓ ok\u001b[0m`],
    ])
  })

  test('gives each line a permanent id, and sorting the ids as text keeps the order', async () => {
    await write(Array.from({ length: 12 }, () => ({})))
    const ids = async (query = {}) => (await read(query)).body.logs.map((line: { id: string }) => line.id)
    const all = await ids()
    expect(new Set(all).size).toBe(12)
    expect([...all].sort()).toEqual(all)
    expect(await ids({ order: 'desc', limit: 3 })).toEqual(all.slice(-3).reverse())
  })

  test('is an empty page without an offset for an empty log', async () => {
    expect((await read()).body).toEqual({ logs: [], next_offset: null, incomplete: false })
  })

  test('keeps the build log and the agent log apart', async () => {
    await write([{ message: 'built' }, { message: 'listening', type: 'deploy' }])
    expect(await messages()).toEqual(['built'])
    expect(await messages({ type: 'deploy' })).toEqual(['listening'])
  })
})

describe('paging', () => {
  beforeEach(() => write(Array.from({ length: 60 }, () => ({}))))

  test('50 lines by default; next_offset continues; the last page is empty and has none', async () => {
    const first = await read()
    expect(first.body.logs).toHaveLength(50)
    const second = await read({ offset: first.body.next_offset })
    expect(second.body.logs.map((line: { message: string }) => line.message)).toEqual(
      Array.from({ length: 10 }, (_, i) => `line ${50 + i}`),
    )
    expect((await read({ offset: second.body.next_offset })).body).toEqual({
      logs: [],
      next_offset: null,
      incomplete: false,
    })
  })

  test('a client that keeps its last offset sees every later line once', async () => {
    const all = await read({ limit: 1000 })
    expect(await messages({ offset: all.body.next_offset })).toEqual([])
    await write([{ message: 'late' }])
    expect(await messages({ offset: all.body.next_offset })).toEqual(['late'])
  })

  test('last: the newest lines, oldest first; next_offset continues after them', async () => {
    const { body } = await read({ last: 2 })
    expect(body.logs.map((line: { message: string }) => line.message)).toEqual(['line 58', 'line 59'])
    await write([{ message: 'late' }])
    expect(await messages({ offset: body.next_offset })).toEqual(['late'])
    expect(await messages({ last: 1000 })).toHaveLength(61)
    // of the matching lines
    expect(await messages({ last: 2, query: 'line 1' })).toEqual(['line 18', 'line 19'])
    expect(await messages({ last: 2, start_time: time(1).toISOString(), end_time: time(30).toISOString() })).toEqual([
      'line 28',
      'line 29',
    ])
  })

  test('a pager misses no line that is written early and committed late', async () => {
    let commit = () => {}
    const held = new Promise<void>((resolve) => {
      commit = resolve
    })
    let written = () => {}
    const early = new Promise<void>((resolve) => {
      written = resolve
    })
    const { body: before } = await read({ limit: 1000 })
    const line = { revisionId, attempt: 1, type: 'build' as const, time: time(0) }
    const first = app.core.db.$transaction(async (sql) => {
      await writeLog({ db: sql as typeof app.core.db }, [{ ...line, message: 'early' }])
      written()
      await held
    })
    await early
    let done = false
    const second = writeLog(app.core, [{ ...line, message: 'late' }]).then(() => {
      done = true
    })
    const waits = async () =>
      (await app.core.db.$queryRaw<unknown[]>`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)
        .length
    while (!done && (await waits()) === 0);
    const { body: meanwhile } = await read({ offset: before.next_offset })
    commit()
    await Promise.all([first, second])
    const offset = meanwhile.next_offset ?? before.next_offset
    const seen = meanwhile.logs.map((one: { message: string }) => one.message)
    expect([...seen, ...(await messages({ offset }))]).toEqual(['early', 'late'])
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
  test('start_time includes later lines, end_time earlier ones', async () => {
    await write([{}, {}, {}, {}])
    expect(await messages({ start_time: '2026-01-01T00:00:02Z' })).toEqual(['line 2', 'line 3'])
    expect(await messages({ end_time: '2026-01-01T00:00:02Z' })).toEqual(['line 0', 'line 1'])
    expect(await messages({ start_time: '2026-01-01T01:00:01+01:00', end_time: '2026-01-01T00:00:03Z' })).toEqual([
      'line 1',
      'line 2',
    ])
  })

  test('the ends of the calendar are valid times', async () => {
    await write([{}])
    expect(await messages({ start_time: '0001-01-01T00:00:00Z', end_time: '9999-12-31T23:59:59Z' })).toEqual(['line 0'])
  })

  test('query finds a part of a line, in upper or lower case; wildcards are literal', async () => {
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
    const levels = ['debug', 'info', 'warning', 'error', 'critical'] as const
    await write(levels.map((level) => ({ level, message: level })))
    for (const [i, level] of levels.entries()) {
      expect(await messages({ level })).toEqual(levels.slice(i))
      expect(await messages({ level: level.toUpperCase() })).toEqual(levels.slice(i))
    }
    expect(await messages({ level: 'Critical' })).toEqual(['critical'])
  })

  test('empty values are no filters', async () => {
    await write([{}])
    const none = { start_time: '', end_time: '', order: '', limit: '', offset: '', query: '', level: '' }
    expect(await messages(none)).toEqual(['line 0'])
  })
})

describe('The logs of a deployment', () => {
  test('have the lines of all its revisions in order of arrival, each naming its revision, with the same parameters', async () => {
    const second = (await app.call('POST', path.replace(/\/revisions\/.*/, '/revisions'), { body: {} })).body.id
    const of = (id: string, message: string) => ({
      revisionId: id,
      attempt: 1,
      type: 'deploy' as const,
      message,
      time: time(0),
    })
    await writeLog(app.core, [of(revisionId, 'a1'), of(revisionId, 'a2')])
    await writeLog(app.core, [of(second, 'b1')])
    await writeLog(app.core, [of(revisionId, 'a3')])
    const all = (query = {}) =>
      app.call('GET', path.replace(/\/revisions\/.*/, '/logs'), { query: { type: 'deploy', ...query } })
    const shown = async (query = {}) =>
      (await all(query)).body.logs.map((line: { message: string; revision_id: string }) => [
        line.message,
        line.revision_id,
      ])
    expect(await shown()).toEqual([
      ['a1', revisionId],
      ['a2', revisionId],
      ['b1', second],
      ['a3', revisionId],
    ])
    expect((await shown({ last: 2 })).map(([message]: string[]) => message)).toEqual(['b1', 'a3'])
    const { next_offset: offset } = (await all({ limit: 3 })).body
    expect(await shown({ offset })).toEqual([['a3', revisionId]])
    expect(await shown({ type: 'build' })).toEqual([])
  })

  test('are 404 for an unknown deployment', async () => {
    const { status, body } = await app.call('GET', `/v2/deployments/${NOWHERE}/logs`, { query: { type: 'build' } })
    expect([status, body.detail]).toEqual([404, `Deployment ID ${NOWHERE} not found.`])
  })
})

describe('A log call is refused:', () => {
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
    ['last', '0', 'query.last greater_than_equal'],
    ['last', '-1', 'query.last greater_than_equal'],
    ['last', '1001', 'query.last less_than_equal'],
    ['offset', 'made-up', 'query.offset cursor_invalid'],
    ['offset', Buffer.from('["7"]').toString('base64url'), 'query.offset cursor_invalid'],
    ['follow', 'true', 'query.follow value_error'],
    ['follow', 'perhaps', 'query.follow bool_parsing'],
    ['level', 'loud', 'query.level enum'],
    ['query', 'a\0', 'query.query value_error'],
  ])('%s=%j is 422', async (name, value, expected) => {
    expect(violations(await read({ [name]: value }))).toEqual([expected])
  })

  test('a missing type is 422', async () => {
    expect(violations(await app.call('GET', path))).toEqual(['query.type missing'])
  })

  test('a range that ends before it begins is 422', async () => {
    const range = { start_time: '2026-01-01T00:00:02Z', end_time: '2026-01-01T00:00:01Z' }
    expect(violations(await read(range))).toEqual(['query.end_time value_error'])
  })

  test('last together with order, limit or offset is 422', async () => {
    for (const other of [{ order: 'desc' }, { limit: 5 }, { offset: 'x' }] as Record<string, string | number>[])
      expect(violations(await read({ last: 1, ...other }))).toEqual(['query.last value_error'])
  })

  test('unknown ids are 404', async () => {
    const unknown = await app.call('GET', path.replace(revisionId, NOWHERE), { query: { type: 'build' } })
    expect([unknown.status, unknown.body.detail]).toEqual([404, `Revision ID ${NOWHERE} not found.`])
  })

  test('viewers may read', async () => {
    expect((await app.call('GET', path, { key: app.keys.viewer, query: { type: 'build' } })).status).toBe(200)
  })
})

describe('Lines are stored', () => {
  test('without NUL bytes, in the given order', async () => {
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

  test('as an empty log, if there are none', async () => {
    await write([])
    expect(await messages()).toEqual([])
  })
})
