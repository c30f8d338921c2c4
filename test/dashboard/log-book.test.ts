/** The part of a log that the dashboard holds in memory: read in pages and followed, without gaps or doubles. */
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { type Line, LogBook, type LogSource } from '../../src/dashboard/pages/revision/log-book.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { writeLog } from '../support/log.ts'

let app: TestApp
const books: LogBook[] = []
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const LINE = '{ cursor time level message attempt }'
const PAGE = `query ($id: ID!, $first: Int, $last: Int, $after: String, $before: String) { revision(id: $id) {
  logs(type: build, first: $first, last: $last, after: $after, before: $before) { nodes ${LINE} pageInfo { hasNextPage hasPreviousPage } } } }`
const FOLLOW = `subscription ($id: ID!, $after: String) { revisionLogs(revisionId: $id, type: build, after: $after) ${LINE} }`

/** Like the page's source (log-source.ts), without a browser. */
function sourceOf(id: string): LogSource {
  return {
    async page(args) {
      const { data } = await app.gql(PAGE, { id, ...args })
      const { nodes, pageInfo } = data.revision.logs
      return { lines: nodes, more: args.last === undefined ? pageInfo.hasNextPage : pageInfo.hasPreviousPage }
    },
    follow(after, { line, end, failed }) {
      const client = createClient({
        url: `${app.url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { 'x-api-key': app.keys.viewer },
      })
      client.subscribe<{ revisionLogs: Line }>(
        { query: FOLLOW, variables: { id, after } },
        { next: ({ data }) => line(data!.revisionLogs), complete: end, error: (error) => failed(String(error)) },
      )
      return () => void client.dispose()
    },
  }
}

function bookOf(id: string): LogBook {
  const book = new LogBook(sourceOf(id))
  books.push(book)
  return book
}
afterAll(() => {
  for (const book of books) book.close()
})

const messages = (book: LogBook) => book.snapshot().lines.map(({ message }) => Number(message))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const write = (revisionId: string, from: number, to: number) =>
  writeLog(
    app.app.core,
    range(from, to).map((n) => ({
      ...{ revisionId, attempt: 1, type: 'build' as const, message: String(n), time: new Date() },
      level: 'info' as const,
    })),
  )

async function logOf(lines: number): Promise<string> {
  const { latest_revision_id: id } = await gitDeployment(app)
  await write(id, 1, lines)
  return id
}

test('it begins with the newest lines, reads back to the first, and continues with new ones', async () => {
  const id = await logOf(2_500)
  const book = bookOf(id)
  await book.openNewest()
  expect(messages(book)).toEqual(range(1_501, 2_500))
  expect(book.snapshot()).toMatchObject({ state: 'following', atStart: false, base: 0 })
  await book.earlier()
  expect(messages(book)).toEqual(range(501, 2_500))
  // so that readers keep their place
  expect(book.snapshot()).toMatchObject({ atStart: false, base: -1_000 })
  await book.earlier()
  await book.earlier()
  expect(messages(book)).toEqual(range(1, 2_500))
  expect(book.snapshot()).toMatchObject({ atStart: true, base: -1_500 })
  await write(id, 2_501, 2_600)
  await expect.poll(() => messages(book)).toEqual(range(1, 2_600))
})

test('it opens around a line, and reads on to the end, where it follows', async () => {
  const id = await logOf(1_500)
  const { lines } = await sourceOf(id).page({ first: 400 })
  const book = bookOf(id)
  await book.openAt(lines[349]!.cursor)
  expect(book.snapshot()).toMatchObject({ state: 'still', atStart: false, found: lines[349]!.cursor })
  expect(messages(book)).toEqual(range(150, 1_349))
  expect(messages(book)).toContain(350)
  await book.later()
  expect(messages(book)).toEqual(range(150, 1_500))
  expect(book.snapshot().state).toBe('following')
  expect(book.point(lines[200]!.cursor)).toBe(true)
  expect(book.snapshot().found).toBe(lines[200]!.cursor)
  expect(book.point(lines[0]!.cursor)).toBe(false)
})

test('it holds a limited part, in either direction of reading', async () => {
  const id = await logOf(1)
  const { deploymentId } = await app.app.core.db.revision.findUniqueOrThrow({ where: { id } })
  await app.app.core.db.$executeRaw`
    INSERT INTO log_lines (deployment_id, revision_id, type, attempt, level, message, time)
    SELECT ${deploymentId}::uuid, ${id}::uuid, 'build', 1, 'info', n::text, now() FROM generate_series(2, 12000) n`
  const book = bookOf(id)
  await book.openOldest()
  expect(messages(book)[0]).toBe(1)
  while (book.snapshot().state === 'still') await book.later()
  expect(messages(book)).toEqual(range(2_001, 12_000))
  expect(book.snapshot()).toMatchObject({ state: 'following', atStart: false, base: 2_000 })
  await book.earlier()
  expect(messages(book)).toEqual(range(1_001, 11_000))
  // its newest end was dropped: nothing is shown after a gap
  expect(book.snapshot()).toMatchObject({ state: 'still', base: 1_000 })
  await write(id, 12_001, 12_002)
  while (book.snapshot().state === 'still') await book.later()
  // the last two by a page or as they arrive
  await expect.poll(() => messages(book).slice(-2)).toEqual([12_001, 12_002])
  expect(messages(book)).toEqual(range(2_003, 12_002))
})

test('results of earlier requests do not disturb a newly opened log', async () => {
  const id = await logOf(1_200)
  const book = bookOf(id)
  const before = book.openOldest()
  await book.openNewest()
  await before
  expect(messages(book)).toEqual(range(201, 1_200))
  book.close()
  expect(book.isNew).toBe(true)
})

test('a failed read is shown', async () => {
  const book = bookOf('00000000-0000-4000-8000-000000000000')
  await book.openNewest()
  expect(book.snapshot()).toMatchObject({ state: 'failed', lines: [] })
})
