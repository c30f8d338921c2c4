/** docs/client.md: watching and following over connections that break. */
import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '../../src/client/index.ts'
import { resumingStream } from '../../src/client/stream.ts'
import { move, ROLLOUT } from '../realtime/support.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts'
import { clientOf } from './support.ts'

const app = useApp()

/** A route to the server that ends with the test. */
async function cuttable(): Promise<TcpProxy> {
  const proxy = await tcpProxy(app.url)
  onTestFinished(() => proxy.close())
  return proxy
}
const cut = (proxy: TcpProxy) => {
  proxy.away(true)
  proxy.away(false)
}
async function deployed() {
  const { id, latest_revision_id } = await imageDeployment(app)
  return { deploymentId: id as string, revisionId: latest_revision_id as string }
}
const roll = async (revisionId: string, statuses = ROLLOUT as readonly (typeof ROLLOUT)[number][]) =>
  move(await app.context(app.keys.admin), revisionId, statuses)

test('a revision is watched to its end, with each status once and in order, though every connection breaks', async () => {
  const which = await deployed()
  const proxy = await cuttable()
  const seen: Event[] = []
  for await (const event of clientOf({ ...app, url: proxy.url }).watch(which)) {
    seen.push(event)
    cut(proxy)
    const next = ROLLOUT[seen.length - 1]
    if (next) await roll(which.revisionId, [next])
  }
  expect(seen.map(({ to }) => to)).toEqual(['CREATING', ...ROLLOUT])
  expect(new Set(seen.map(({ cursor }) => cursor)).size).toBe(seen.length)
})

test('a deployment is watched from a cursor on, over two servers', async () => {
  const which = await deployed()
  const client = clientOf(app)
  const first = client.watch(which)[Symbol.asyncIterator]()
  const { value } = await first.next()
  await first.return?.()
  await roll(which.revisionId)
  const second = await testApp({ beside: app })
  onTestFinished(() => second.close())
  const seen: (string | null)[] = []
  for await (const { to, cursor } of clientOf({ ...app, url: second.url }).watch({ ...which, after: value!.cursor })) {
    expect(cursor).not.toBe(value!.cursor)
    seen.push(to)
  }
  expect(seen).toEqual([...ROLLOUT])
})

test('a stream ends with its key, and reports it', async () => {
  const { organizationId, workspaceId } = app.tenant
  const key = await newKey(app.app.core, { organizationId, workspaceId })
  const { actor } = await app.context(key)
  const revoke = 'mutation($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { __typename } }'
  const watching = clientOf({ url: app.url, keys: { ...app.keys, admin: key } }).watch(await deployed())
  const ended = (async () => {
    for await (const _ of watching) await app.gql(revoke, { id: actor.subject })
  })()
  await expect(ended).rejects.toMatchObject({ code: 'UNAUTHENTICATED', requestId: expect.any(String) })
})

test('a log is followed line by line, complete and in order, though connections break', async () => {
  const { deploymentId, revisionId } = await deployed()
  const proxy = await cuttable()
  const write = (from: number, count: number) =>
    app.app.core.db.logLine.createMany({
      data: Array.from({ length: count }, (_, n) => ({
        deploymentId,
        revisionId,
        attempt: 1,
        type: 'deploy' as const,
        message: `line ${from + n}`,
      })),
    })
  await write(1, 500)
  const seen: string[] = []
  for await (const { message } of clientOf({ ...app, url: proxy.url }).followLogs({ deploymentId, type: 'deploy' })) {
    seen.push(message)
    if (seen.length % 250 === 0) cut(proxy)
    if (seen.length === 500) await write(501, 500)
    if (seen.length === 1000) break
  }
  expect(seen).toEqual(Array.from({ length: 1000 }, (_, n) => `line ${n + 1}`))
})

test('following can begin with the newest lines', async () => {
  const { deploymentId, revisionId } = await deployed()
  await app.app.core.db.logLine.createMany({
    data: [1, 2, 3].map((n) => ({
      deploymentId,
      revisionId,
      attempt: 1,
      type: 'build' as const,
      message: `line ${n}`,
    })),
  })
  const lines: string[] = []
  for await (const { message } of clientOf(app).followLogs({ deploymentId, revisionId, type: 'build', last: 2 })) {
    lines.push(message)
    if (lines.length === 2) break
  }
  expect(lines).toEqual(['line 2', 'line 3'])
})

test('watching an unknown deployment fails immediately', async () => {
  const nobody = '00000000-0000-4000-8000-000000000000'
  const iterator = clientOf(app).watch({ deploymentId: nobody })[Symbol.asyncIterator]()
  await expect(iterator.next()).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('a connection that breaks before its first event continues from its starting position', async () => {
  const sent = [':\nid: where-it-began\n\n', 'id: next\nevent: tag.created\ndata: {}\n\nevent: complete\ndata: {}\n\n']
  const asked: (string | null)[] = []
  const open = async (cursor: string | null) => {
    asked.push(cursor)
    return new Response(sent[asked.length - 1])
  }
  const seen: (string | undefined)[] = []
  const source = { open, origin: 'http://pilothouse.test', retry: { retryForMs: 5_000 } }
  for await (const { event } of resumingStream(source)) seen.push(event)
  expect([asked, seen]).toEqual([[null, 'where-it-began'], ['tag.created']])
})
