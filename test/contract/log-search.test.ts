/** Searches of logs over both transports, in a log so long that its older lines are in blocks. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SearchTurns } from '../../src/domain/concurrency/search-turns.ts'
import { createBlockWriter } from '../../src/domain/logs/blocks.ts'
import type { LogEntry } from '../../src/domain/protocol/protocol.ts'
import { bodies, NOWHERE, useRestApp } from '../rest/support.ts'
import { countStatements } from '../support/database.ts'
import { writeLog } from '../support/log.ts'

const app = useRestApp()
let id: string
let revisionId: string

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
const write = (entries: Partial<LogEntry>[]) =>
  writeLog(
    app.core,
    entries.map((entry, i) => ({
      ...{ revisionId, attempt: 1, type: 'deploy' as const, message: '', time: at(i) },
      ...entry,
    })),
  )
/** Lines that no search finds. */
const fill = (count: number) => app.core.db.$executeRaw`
  INSERT INTO log_lines (deployment_id, revision_id, type, attempt, message)
  SELECT ${id}::uuid, ${revisionId}::uuid, 'deploy', 1, 'filler ' || i FROM generate_series(1, ${count}) AS i`
const writeBlocks = () => createBlockWriter(app.core)(new AbortController().signal)

const SAMPLES: Partial<LogEntry>[] = [
  { message: 'Added 12 Packages' },
  { message: '100% done' },
  { message: 'a_b' },
  { message: 'back\\slash' },
  { message: 'ÜBER uns' },
  { message: 'it failed', level: 'error' },
  { message: 'it failed, but that is fine' },
  { message: '{"status":500,"user":{"id":"Ann","tags":["x","y"]},"ok":true}' },
  { message: '{"status": "500", "user": {"id": "Bob"}, "log.level": "debug"}', level: 'critical' },
  { message: '{"status":5001,"path":"C:\\\\temp","note":"status 500"}' },
  { message: '{"status":500' },
  { message: 'status=500 "status":500' },
  { message: '[7d9f8-x2x4z] {"code":7}' },
  { message: '[7d9f8-q9abc] {"code":7}' },
  { message: 'of [7d9f8-x2x4z] itself' },
  { message: '{"run":"0198c5b4-7a52","n": "7"}' },
]
const messagesOf = (...indexes: number[]) => indexes.map((i) => SAMPLES[i]!.message!)

beforeAll(async () => {
  const created = await app.create(bodies.gitprovider(app.tenant.integrationId))
  id = created.id
  revisionId = created.latest_revision_id
  await fill(500)
  await write(SAMPLES)
  await fill(4_000)
  await writeBlocks()
  expect(await app.core.db.logBlock.count({ where: { deploymentId: id } })).toBeGreaterThan(4)
})
beforeEach(() => {
  app.core.searches = new SearchTurns()
})

interface Page {
  messages: string[]
  /** of lines that match */
  found: string[]
  next: string | null
  incomplete: boolean
}
type Query = Record<string, string | number | string[]>
type Read = (query: Query, key?: string) => Promise<Page>

function messagesIn(lines: { message: string; context: boolean }[]) {
  const messages = lines.map(({ message }) => message)
  return { messages, found: lines.filter(({ context }) => !context).map(({ message }) => message) }
}

const overRest: Read = async (query, key = app.keys.admin) => {
  const { status, body, text } = await app.call('GET', `/v2/deployments/${id}/logs`, {
    key,
    query: { type: 'deploy', ...query },
  })
  expect(status, text).toBe(200)
  return { ...messagesIn(body.logs), next: body.next_offset, incomplete: body.incomplete }
}

const LOGS = `query ($id: ID!, $query: String, $level: LogLevel, $fields: [String!], $startTime: DateTime, $endTime: DateTime,
  $replica: String, $context: Int, $first: Int, $after: String, $last: Int, $before: String) {
  deployment(id: $id) { logs(type: deploy, query: $query, level: $level, fields: $fields, replica: $replica, context: $context, startTime: $startTime, endTime: $endTime, first: $first, after: $after, last: $last, before: $before) {
  nodes { message context } incomplete pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`
const overGraphql: Read = async (query, key = app.keys.admin) => {
  const { field, start_time, end_time, limit = 50, offset, order, ...same } = query
  const isNewestFirst = order === 'desc'
  const { data, errors } = await app.gql(
    LOGS,
    {
      ...{ id, ...same, fields: field, startTime: start_time, endTime: end_time },
      ...(isNewestFirst ? { last: limit, before: offset } : { first: limit, after: offset }),
    },
    { key },
  )
  expect(errors).toBeUndefined()
  const { nodes, pageInfo, incomplete } = data.deployment.logs
  if (isNewestFirst) nodes.reverse()
  const hasMore = isNewestFirst ? pageInfo.hasPreviousPage : pageInfo.hasNextPage
  const cursor = isNewestFirst ? pageInfo.startCursor : pageInfo.endCursor
  return { ...messagesIn(nodes), next: hasMore ? cursor : null, incomplete }
}

describe.each([
  ['REST', overRest],
  ['GraphQL', overGraphql],
])('over %s', (_name, read) => {
  test.each<[string, Query, number[]]>([
    ['a part of a line, in another case', { query: 'pACKages' }, [0]],
    ['wildcards as they are', { query: '%' }, [1]],
    ['an underscore as it is', { query: '_' }, [2]],
    ['a backslash as it is', { query: '\\' }, [3, 9]],
    ['letters outside of ASCII in another case', { query: 'über' }, [4]],
    ['a level and more severe ones', { level: 'error' }, [5, 8]],
    ['a text at a level', { query: 'failed', level: 'warning' }, [5]],
    ['a number and a string alike in a field', { field: 'status=500' }, [7, 8]],
    ['a nested field, in another case', { field: 'user.id=ANN' }, [7]],
    ['a field with a dot in its name', { field: 'log.level=debug' }, [8]],
    ['an item of an array', { field: 'user.tags.1=y' }, [7]],
    ['true in a field', { field: 'ok=true' }, [7]],
    ['a value that JSON escapes', { field: 'path=c:\\temp' }, [9]],
    ['two fields of one line', { field: ['status=500', 'user.id=bob'] }, [8]],
    ['no two fields of two lines', { field: ['status=5001', 'user.id=bob'] }, []],
    ['a field and a text', { field: 'status=5001', query: 'note' }, [9]],
    ['an id that begins with a digit', { field: 'run=0198C5B4-7a52' }, [15]],
    ['the lines of a replica', { replica: '7d9f8-x2x4z' }, [12]],
    ['a field behind the name of a replica', { field: 'code=7' }, [12, 13]],
    ['a range of time', { start_time: at(1).toISOString(), end_time: at(3).toISOString() }, [1, 2]],
    ['nothing', { query: 'no line has this' }, []],
  ])('a search finds %s', async (_what, query, indexes) => {
    const found = await read(query)
    expect(found).toMatchObject({ messages: messagesOf(...indexes), incomplete: false })
    expect((await read({ ...query, order: 'desc' })).messages).toEqual(messagesOf(...indexes).reverse())
  })

  test.each<['asc' | 'desc', string[]]>([
    ['asc', [...messagesOf(7, 8, 9, 10, 11), 'new status']],
    ['desc', messagesOf(11, 10, 9, 8, 7)],
  ])('pages of a search (%s) neither lose nor double a line when one arrives meanwhile', async (order, expected) => {
    const seen: string[] = []
    for (let offset: string | null = ''; offset !== null; ) {
      const { messages, next } = await read({ query: 'status', order, limit: 2, offset })
      if (offset === '') await write([{ message: 'new status' }])
      seen.push(...messages)
      offset = messages.length > 0 ? next : null
    }
    await app.core.db.logLine.deleteMany({ where: { deploymentId: id, message: 'new status' } })
    expect(seen).toEqual(expected)
  })

  test.each([
    ['asc', messagesOf(5, 6)],
    ['desc', messagesOf(6, 5)],
  ])('a search (%s) at its time limit returns a cursor, and goes on from there', async (order, expected) => {
    app.core.searches = new SearchTurns(0)
    const seen: string[] = []
    let calls = 0
    for (let offset: string | null = ''; offset !== null; calls++) {
      const { messages, incomplete, next } = await read({ query: 'failed', order, offset })
      seen.push(...messages)
      offset = incomplete ? next : null
    }
    expect([seen, calls]).toEqual([expected, 3])
  })

  test.each(['asc', 'desc'])(
    'pages of a search with context (%s) have each line once, at every page size',
    async (order) => {
      const sorted = (messages: string[]) => (order === 'asc' ? messages : [...messages].reverse())
      for (const limit of [1, 2, 3, 4, 50])
        for (const limitMs of [0, 2_000]) {
          app.core.searches = new SearchTurns(limitMs)
          const messages: string[] = []
          const found: string[] = []
          for (let offset: string | null = ''; offset !== null; ) {
            const page = await read({ query: 'd', level: 'error', context: 2, order, limit, offset })
            messages.push(...page.messages)
            found.push(...page.found)
            offset = page.messages.length > 0 || page.incomplete ? page.next : null
          }
          expect([limit, messages]).toEqual([limit, sorted(messagesOf(3, 4, 5, 6, 7, 8, 9, 10))])
          expect(found).toEqual(sorted(messagesOf(5, 8)))
        }
    },
  )
})

const download = (query: Query, key = app.keys.viewer) =>
  app.call('GET', `/v2/deployments/${id}/logs/download`, { key, query: { type: 'deploy', ...query } })

test('a download has all lines of a log, oldest first', async () => {
  const { status, text, headers } = await download({})
  const lines = text.split('\n')
  expect([status, headers.get('content-type'), lines.length - 1]).toEqual([
    200,
    'text/plain; charset=utf-8',
    4_500 + SAMPLES.length,
  ])
  expect(lines[505]).toBe(`${at(5).toISOString()} error    it failed`)
})

test('a download of a search has the matching lines with their context, as JSON', async () => {
  const query = { query: 'FAILED', context: 1, revision_id: revisionId }
  const { text, headers } = await download({ ...query, format: 'ndjson' })
  const { body } = await app.call('GET', `/v2/deployments/${id}/logs`, {
    query: { type: 'deploy', query: 'failed', context: 1 },
  })
  expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(body.logs)
})

test.each<[string, Query]>([
  ['format', { format: 'xml' }],
  ['limit', { limit: 5 }],
  ['context', { context: 21 }],
  ['revision_id', { revision_id: 'x' }],
  ['end_time', { start_time: at(3).toISOString(), end_time: at(1).toISOString() }],
])('a download refuses an invalid %s', async (name, query) => {
  const { status, body } = await download(query)
  expect([status, body.detail[0].loc]).toEqual([422, ['query', name]])
})

test('a download of another tenant’s log, and of an unknown revision, is a 404', async () => {
  expect((await download({}, app.other.keys.admin)).status).toBe(404)
  expect((await download({ revision_id: NOWHERE })).status).toBe(404)
})

test('a search of a revision’s log finds the same lines', async () => {
  const path = `/v2/deployments/${id}/revisions/${revisionId}/logs`
  const { body } = await app.call('GET', path, { query: { type: 'deploy', query: 'FAILED', order: 'desc' } })
  expect(body.logs.map((line: { message: string }) => line.message)).toEqual(messagesOf(6, 5))
})

test('a search of thousands of lines sends few statements', async () => {
  const path = `/v2/deployments/${id}/logs`
  const search = (query: string) => app.call('GET', path, { query: { type: 'deploy', order: 'desc', query } })
  await search('failed')
  const sent = (query: string) => countStatements(app.app.database, () => search(query))
  const log = (statements: string[]) => statements.filter((sql) => sql.includes('log_'))
  expect(log(await sent('filler'))).toHaveLength(1)
  expect(log(await sent('no line has this'))).toHaveLength(3)
})

test('searches that wait for their turn delay neither new lines nor other reads', async () => {
  app.core.searches = new SearchTurns(60_000)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const running = ['a', 'b'].map((workspaceId) => app.core.searches!.run(workspaceId, undefined, () => held))
  let over = 0
  const waiting = Array.from({ length: 20 }, () => overRest({ query: 'no line has this' }).then(() => over++))
  await write([{ message: 'written while searches wait', time: at(0) }])
  const { messages } = await overRest({ order: 'desc', limit: 1 })
  expect([messages, over]).toEqual([['written while searches wait'], 0])
  release()
  await Promise.all([...running, ...waiting])
  await app.core.db.logLine.deleteMany({ where: { deploymentId: id, message: 'written while searches wait' } })
})

test('a search of another tenant finds no log', async () => {
  const key = app.other.keys.admin
  const query = { type: 'deploy', query: 'failed' }
  expect((await app.call('GET', `/v2/deployments/${id}/logs`, { key, query })).status).toBe(404)
  expect((await app.gql(LOGS, { id, query: 'failed' }, { key })).data?.deployment ?? null).toBeNull()
})

test.each([
  ['no name', '=1', 'field.0'],
  ['no value', 'status', 'field.0'],
  ['too many fields', Array.from({ length: 11 }, (_, i) => `a${i}=1`).join(','), 'field'],
])('a field with %s is refused', async (_what, field, loc) => {
  const { status, body } = await app.call('GET', `/v2/deployments/${id}/logs`, { query: { type: 'deploy', field } })
  expect([status, body.detail[0].loc.slice(1).join('.')]).toEqual([422, loc])
  const { errors } = await app.gql(LOGS, { id, fields: field.split(',') })
  expect(errors![0].extensions.issues[0].path.join('.')).toBe(loc.replace('field', 'fields'))
})
