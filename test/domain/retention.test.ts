/** What is removed, and when (docs/operations.md#what-is-kept-and-for-how-long). */
import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createRelay } from '../../src/api/realtime/relay.ts'
import { streamRevisionStatus } from '../../src/api/realtime/status-stream.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { countEvents, listEvents } from '../../src/domain/events/list.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import { createBlockWriter } from '../../src/domain/logs/blocks.ts'
import { readDeploymentLogs, readLogs } from '../../src/domain/logs/read.ts'
import { createRetention } from '../../src/domain/retain.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { iterate } from '../realtime/support.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, useDomain } from '../support/domain.ts'
import { claimOne, settle, workOff } from '../support/holder.ts'

const domain = useDomain({ settings: { retention: { logDays: 14, linesPerRevision: 100, eventDays: 90 } } })
let ctx: RequestContext
let deploymentId: string
let revisionId: string
beforeEach(async () => {
  // the lines of the previous test were written earlier, but are not as old
  await domain.core.db.logLine.deleteMany()
  ctx = await domain.tenant()
  deploymentId = await gitDeployment(ctx)
  const { latestRevisionId } = await ctx.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })
  revisionId = latestRevisionId!
})

const retain = () => createRetention(domain.core)(new AbortController().signal)
const DAY = 24 * 3600_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY)

async function print(count: number, time = new Date(), type: 'build' | 'deploy' = 'deploy') {
  await ctx.db.$executeRaw`
    INSERT INTO log_lines (deployment_id, revision_id, type, attempt, message, time)
    SELECT ${deploymentId}::uuid, ${revisionId}::uuid, ${type}::text::"LogType", 1, (i - 1)::text, ${time}
    FROM generate_series(1, ${count}) AS i`
}

const removed = '… older lines were removed'

const log = async (type = 'deploy') =>
  (
    await readLogs(ctx, {
      path: { deployment_id: deploymentId, revision_id: revisionId },
      query: { type, limit: '1000' },
    })
  ).lines.map(({ message }) => message)

/** Moves the workspace's first `count` events this many days into the past. */
async function age(count: number, days: number) {
  await ctx.db.event.updateMany({
    where: { workspaceId: ctx.workspace.id, sequence: { lte: count } },
    data: { occurredAt: daysAgo(days) },
  })
}

const tag = async (count: number) => {
  for (let i = 0; i < count; i++) {
    const [{ sequence }] = await ctx.db.$queryRaw<[{ sequence: bigint }]>`
      UPDATE event_counters SET sequence = sequence + 1 WHERE workspace_id = ${ctx.workspace.id}::uuid RETURNING sequence`
    await ctx.db.event.create({
      data: { workspaceId: ctx.workspace.id, sequence, type: 'deployment.tagged', deploymentId },
    })
  }
}

const events = (window: object) =>
  listEvents(ctx, window, { by: 'deploymentId', ids: [deploymentId] }).then((found) => found.get(deploymentId)!.rows)

test('log lines are removed after 14 days', async () => {
  await print(3, daysAgo(15))
  await print(2, daysAgo(13))
  await retain()
  expect(await log()).toEqual([removed, '0', '1'])
})

test('the text of removed lines is removed from the blocks of searches', async () => {
  const writeBlocks = () => createBlockWriter(domain.core)(new AbortController().signal)
  const blocks = () => ctx.db.logBlock.findMany({ where: { deploymentId }, orderBy: { lastId: 'asc' } })
  await print(1500, daysAgo(15))
  await print(1500, daysAgo(13))
  await writeBlocks()
  expect(await blocks()).toHaveLength(3)
  await retain()
  // the last block has only kept lines, but more of them are not kept
  expect(await blocks()).toEqual([])
  await print(1100)
  await writeBlocks()
  expect(await blocks()).toHaveLength(1)
  await settle(domain.plane)
  await deleteDeployment(ctx, { path: { deployment_id: deploymentId } })
  await settle(domain.plane)
  await retain()
  expect(await blocks()).toEqual([])
})

test('each log of a revision keeps its newest lines after a gap line', async () => {
  const round = createRetention(domain.core)
  const signal = new AbortController().signal
  await print(250)
  await print(100, new Date(), 'build')
  await round(signal)
  const kept = await log()
  expect(kept[0]).toBe(removed)
  expect(kept.slice(1)).toEqual(Array.from({ length: 100 }, (_, i) => `${150 + i}`))
  expect(await log('build')).toHaveLength(100)
  await round(signal)
  expect(await log()).toEqual(kept)
  await print(30)
  await round(signal)
  const later = await log()
  expect(later).toHaveLength(101)
  expect(later.filter((line) => line.startsWith('…'))).toHaveLength(1)
  expect(later.slice(-31)).toEqual(['249', ...Array.from({ length: 30 }, (_, i) => `${i}`)])
})

test('a reader gets the gap line once, in its place, with any filter; a reader past it does not', async () => {
  const page = (query: object, by = readLogs) =>
    by(ctx, { path: { deployment_id: deploymentId, revision_id: revisionId }, query: { type: 'deploy', ...query } })
  const text = async (query: object, by = readLogs) => (await page(query, by)).lines.map(({ message }) => message)
  await print(250)
  const { nextOffset: early } = await page({ limit: 10 })
  const { nextOffset: edge } = await page({ limit: 150 })
  await retain()
  for (const by of [readLogs, readDeploymentLogs]) {
    expect(await text({ offset: early, limit: 3 }, by)).toEqual([removed, '150', '151'])
    expect(await text({ offset: edge, limit: 2 }, by)).toEqual(['150', '151'])
    expect(await text({ offset: early, query: '249', level: 'info' }, by)).toEqual([removed, '249'])
    expect(await text({ offset: early, query: '249', start_time: new Date(Date.now() + DAY) }, by)).toEqual([])
    const { lines, nextOffset } = await page({ order: 'desc', limit: 100 }, by)
    expect(lines.at(-1)).toMatchObject({ message: '150', level: 'info' })
    const last = await page({ order: 'desc', offset: nextOffset }, by)
    expect(last).toMatchObject({ lines: [{ message: removed, level: 'warning', revisionId }], nextOffset: null })
    expect(await text({ last: 101 }, by)).toHaveLength(101)
    expect(await text({ last: 100 }, by)).not.toContain(removed)
    const { nextOffset: behind } = await page({ limit: 1 }, by)
    expect(await text({ offset: behind, limit: 1 }, by)).toEqual(['150'])
  }
})

test('the log of a deleted deployment is removed soon after the teardown; its events stay', async () => {
  await print(10)
  await settle(domain.plane)
  await deleteDeployment(ctx, { path: { deployment_id: deploymentId } })
  await retain()
  expect(await ctx.db.logLine.count({ where: { deploymentId } })).toBe(10)
  await settle(domain.plane)
  const before = await ctx.db.event.count({ where: { deploymentId } })
  await retain()
  expect(await ctx.db.logLine.count({ where: { deploymentId } })).toBe(0)
  expect(await ctx.db.event.count({ where: { deploymentId } })).toBe(before)
})

test('events are removed after 90 days, oldest first, and counters and lists still work', async () => {
  await tag(10)
  const before = await ctx.db.event.count({ where: { workspaceId: ctx.workspace.id } })
  await age(before - 4, 91)
  await retain()
  const rows = await events({ first: 100 })
  expect(rows.map(({ sequence }) => Number(sequence))).toEqual([before - 3, before - 2, before - 1, before])
  const counted = await countEvents(ctx, { by: 'deploymentId', ids: [deploymentId] })
  expect(counted.get(deploymentId)).toEqual({ count: 4, isEstimate: false })
  await tag(1)
  expect((await events({ last: 1 }))[0]!.sequence).toBe(BigInt(before + 1))
})

test('the removal stops at the first recent event, so the log has no gap after a clock was set back', async () => {
  await tag(6)
  await age(100, 91)
  const where = { workspaceId: ctx.workspace.id }
  const { sequence } = await ctx.db.event.findFirstOrThrow({ where, orderBy: { sequence: 'desc' }, skip: 3 })
  await ctx.db.event.updateMany({ where: { ...where, sequence }, data: { occurredAt: new Date() } })
  await retain()
  const left = await ctx.db.event.findMany({ where, orderBy: { sequence: 'asc' } })
  expect(left.map((event) => event.sequence - sequence)).toEqual([0n, 1n, 2n, 3n])
})

test('a cursor before the oldest event is an error with advice, in lists and streams', async () => {
  await tag(5)
  const workspaceId = ctx.workspace.id
  const { sequence: end } = await ctx.db.eventCounter.findUniqueOrThrow({ where: { workspaceId } })
  await age(Number(end) - 2, 91)
  await retain()
  const relay = createRelay({ core: domain.core, listenUrl: domain.url })
  const expired = eventCursor({ workspaceId, sequence: end - 3n })
  const oldest = eventCursor({ workspaceId, sequence: end - 2n })
  const stream = async (after: string) => iterate(await streamRevisionStatus(ctx, relay, { after }))
  const error = {
    violations: [{ loc: ['query', 'after'], type: 'cursor_expired', msg: expect.stringContaining('current state') }],
  }
  await expect(events({ first: 10, after: expired })).rejects.toMatchObject(error)
  await expect(stream(expired)).rejects.toMatchObject(error)
  expect(await events({ first: 10, after: oldest })).toHaveLength(2)
  await (await stream(oldest)).return!()
  // all of them
  await age(Number(end), 91)
  await retain()
  await expect(stream(oldest)).rejects.toMatchObject(error)
  await (await stream(eventCursor({ workspaceId, sequence: end }))).return!()
  await relay.stop()
})

test('a stream that catches up gets an error, not a gap, if events are removed', async () => {
  await tag(5)
  const workspaceId = ctx.workspace.id
  const { sequence: end } = await ctx.db.eventCounter.findUniqueOrThrow({ where: { workspaceId } })
  const relay = createRelay({ core: domain.core, listenUrl: domain.url })
  const after = eventCursor({ workspaceId, sequence: 0n })
  const description = await streamRevisionStatus(ctx, relay, { after })
  await age(Number(end), 91)
  await retain()
  await expect(iterate(description).next()).rejects.toMatchObject({
    violations: [{ type: 'cursor_expired' }],
  })
  await relay.stop()
})

test('finished steps are removed after 14 days, except the one that shows what to tear down', async () => {
  await workOff(domain.plane, await claimOne(domain.plane, deploymentId))
  expect(await ctx.db.step.count({ where: { deploymentId } })).toBe(3)
  await ctx.db.step.updateMany({ where: { deploymentId }, data: { finishedAt: daysAgo(15) } })
  await retain()
  expect((await ctx.db.step.findMany({ where: { deploymentId } })).map(({ kind }) => kind)).toEqual(['DEPLOY'])
})

test('an old failure message keeps its first line; that of the latest revision stays whole', async () => {
  const message = 'The agent exited with code 1.\nTraceback\nKeyError'
  const data = { status: 'DEPLOY_FAILED', statusMessage: message, statusSince: daysAgo(15) } as const
  await ctx.db.revision.update({ where: { id: revisionId }, data })
  const older = await ctx.db.revision.create({
    data: { ...data, id: randomUUID(), deploymentId, number: 0, rollout: 0, source: 'gitprovider' },
  })
  await retain()
  const of = async (id: string) => (await ctx.db.revision.findUniqueOrThrow({ where: { id } })).statusMessage
  expect(await of(older.id)).toBe('The agent exited with code 1.')
  expect(await of(revisionId)).toBe(message)
})

test('several servers can remove lines concurrently, each line once', async () => {
  await print(12_000, daysAgo(20))
  await print(50)
  await Promise.all([retain(), retain(), retain()])
  await retain()
  expect(await log()).toHaveLength(51)
})

test('a round without work costs one statement', async () => {
  const round = createRetention(domain.core)
  const once = () => countStatements(domain.database, () => round(new AbortController().signal), 'all')
  await once()
  expect(await once()).toHaveLength(1)
})
