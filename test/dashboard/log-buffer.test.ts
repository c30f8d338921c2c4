/** The part of a log that the dashboard holds in memory: read in pages and followed, without gaps or doubles. */
import { createClient } from 'graphql-ws'
import { afterAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { type Line, LogBuffer, type LogSource } from '../../src/dashboard/pages/revision/log-buffer.ts'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { writeLog } from '../support/log.ts'

const app = useApp()
const buffers: LogBuffer[] = []

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
      return { lines: nodes, hasMore: args.last === undefined ? pageInfo.hasNextPage : pageInfo.hasPreviousPage }
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

function bufferOf(id: string): LogBuffer {
  const buffer = new LogBuffer(sourceOf(id))
  buffers.push(buffer)
  return buffer
}
afterAll(() => {
  for (const buffer of buffers) buffer.close()
})

const messages = (buffer: LogBuffer) => buffer.getSnapshot().lines.map(({ message }) => Number(message))
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
  const buffer = bufferOf(id)
  await buffer.openNewest()
  expect(messages(buffer)).toEqual(range(1_501, 2_500))
  expect(buffer.getSnapshot()).toMatchObject({ state: 'following', atStart: false, firstIndex: 0 })
  await buffer.loadOlder()
  expect(messages(buffer)).toEqual(range(501, 2_500))
  // so that readers keep their place
  expect(buffer.getSnapshot()).toMatchObject({ atStart: false, firstIndex: -1_000 })
  await buffer.loadOlder()
  await buffer.loadOlder()
  expect(messages(buffer)).toEqual(range(1, 2_500))
  expect(buffer.getSnapshot()).toMatchObject({ atStart: true, firstIndex: -1_500 })
  await write(id, 2_501, 2_600)
  await expect.poll(() => messages(buffer)).toEqual(range(1, 2_600))
})

test('it opens around a line, and reads on to the end, where it follows', async () => {
  const id = await logOf(1_500)
  const { lines } = await sourceOf(id).page({ first: 400 })
  const buffer = bufferOf(id)
  await buffer.openAt(lines[349]!.cursor)
  expect(buffer.getSnapshot()).toMatchObject({ state: 'paused', atStart: false, highlighted: lines[349]!.cursor })
  expect(messages(buffer)).toEqual(range(150, 1_349))
  expect(messages(buffer)).toContain(350)
  await buffer.loadNewer()
  expect(messages(buffer)).toEqual(range(150, 1_500))
  expect(buffer.getSnapshot().state).toBe('following')
  expect(buffer.highlight(lines[200]!.cursor)).toBe(true)
  expect(buffer.getSnapshot().highlighted).toBe(lines[200]!.cursor)
  expect(buffer.highlight(lines[0]!.cursor)).toBe(false)
})

test('it holds a limited part, in either direction of reading', async () => {
  const id = await logOf(1)
  const { deploymentId } = await app.app.core.db.revision.findUniqueOrThrow({ where: { id } })
  await app.app.core.db.$executeRaw`
    INSERT INTO log_lines (deployment_id, revision_id, type, attempt, level, message, time)
    SELECT ${deploymentId}::uuid, ${id}::uuid, 'build', 1, 'info', n::text, now() FROM generate_series(2, 12000) n`
  const buffer = bufferOf(id)
  await buffer.openOldest()
  expect(messages(buffer)[0]).toBe(1)
  while (buffer.getSnapshot().state === 'paused') await buffer.loadNewer()
  expect(messages(buffer)).toEqual(range(2_001, 12_000))
  expect(buffer.getSnapshot()).toMatchObject({ state: 'following', atStart: false, firstIndex: 2_000 })
  await buffer.loadOlder()
  expect(messages(buffer)).toEqual(range(1_001, 11_000))
  // its newest end was dropped: nothing is shown after a gap
  expect(buffer.getSnapshot()).toMatchObject({ state: 'paused', firstIndex: 1_000 })
  await write(id, 12_001, 12_002)
  while (buffer.getSnapshot().state === 'paused') await buffer.loadNewer()
  // the last two by a page or as they arrive
  await expect.poll(() => messages(buffer).slice(-2)).toEqual([12_001, 12_002])
  expect(messages(buffer)).toEqual(range(2_003, 12_002))
})

test('results of earlier requests do not disturb a newly opened log', async () => {
  const id = await logOf(1_200)
  const buffer = bufferOf(id)
  const before = buffer.openOldest()
  await buffer.openNewest()
  await before
  expect(messages(buffer)).toEqual(range(201, 1_200))
  buffer.close()
  expect(buffer.isUnopened).toBe(true)
})

test('a failed read is shown', async () => {
  const buffer = bufferOf('00000000-0000-4000-8000-000000000000')
  await buffer.openNewest()
  expect(buffer.getSnapshot()).toMatchObject({ state: 'failed', lines: [] })
})
