/** docs/api-rules.md#graphql: the messages of revisionStatusChanged, and the end of its streams. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createRelay, type Relay } from '../../src/api/realtime/relay.ts'
import { type StreamArgs, streamRevisionStatus } from '../../src/api/realtime/status-stream.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { NotFoundError, ValidationError } from '../../src/domain/errors/errors.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { as, useDomain } from '../support/domain.ts'
import { announce, endOfLog, imageDeployment, iterate, move, ROLLOUT, take, takeUntil } from './support.ts'

const domain = useDomain()
let relay: Relay
let ctx: RequestContext
let app: { deploymentId: string; revisionId: string }

beforeAll(() => {
  relay = createRelay({ core: domain.core, listenUrl: domain.url })
  relay.start()
})
afterAll(() => relay.stop())
beforeEach(async () => {
  ctx = await domain.tenant()
  app = await imageDeployment(ctx)
})

const subscribe = async (args: StreamArgs, who = ctx, by = relay) => iterate(await streamRevisionStatus(who, by, args))
const all = async (args: StreamArgs) => takeUntil(await subscribe(args), () => false)
const tearDown = () => ctx.db.deployment.update({ where: { id: app.deploymentId }, data: { tornDownAt: new Date() } })
const statuses = (events: { from: string | null; to: string }[]) => events.map((e) => `${e.from ?? '–'} → ${e.to}`)

describe('A stream of one revision', () => {
  test('begins with the current status, then sends every change, and completes when the revision is deployed', async () => {
    const stream = await subscribe({ revisionId: app.revisionId })
    await move(ctx, app.revisionId, ROLLOUT)
    const events = await takeUntil(stream, () => false)
    expect(statuses(events)).toEqual([
      '– → CREATING',
      'CREATING → QUEUED',
      'QUEUED → AWAITING_DEPLOY',
      'AWAITING_DEPLOY → DEPLOYING',
      'DEPLOYING → DEPLOYED',
    ])
    expect(events.at(-1)).toEqual({
      cursor: await endOfLog(ctx),
      revisionId: app.revisionId,
      deploymentId: app.deploymentId,
      from: 'DEPLOYING',
      to: 'DEPLOYED',
      reason: null,
      message: null,
      attempt: 1,
      occurredAt: expect.any(Date),
    })
  })

  test('of an ended revision is its one status', async () => {
    await move(ctx, app.revisionId, ROLLOUT)
    expect(statuses(await all({ revisionId: app.revisionId }))).toEqual(['– → DEPLOYED'])
  })

  test('completes immediately when the revision has ended and nothing happened since the cursor', async () => {
    await move(ctx, app.revisionId, ROLLOUT)
    expect(await all({ revisionId: app.revisionId, after: await endOfLog(ctx) })).toEqual([])
  })

  test('resumed at or after its end completes immediately, regardless of later events in the workspace', async () => {
    // no event wakes this relay: it stays at the start of its first stream, before all later events
    const behind = createRelay({ core: domain.core, listenUrl: domain.url, pollEvery: 3_600_000 })
    const from = (args: StreamArgs) => subscribe(args, ctx, behind)
    await move(ctx, app.revisionId, ROLLOUT)
    const other = await from({})
    const end = await endOfLog(ctx)
    for (let round = 0; round < 40; round++) {
      await announce(domain.core, ctx.workspace.id, ['unrelated'])
      const after = round % 2 === 0 ? end : await endOfLog(ctx)
      if (round % 2 === 1) await announce(domain.core, ctx.workspace.id, ['unrelated'])
      const resumed = await from({ revisionId: app.revisionId, after })
      expect(await takeUntil(resumed, () => false), `round ${round}`).toEqual([])
    }
    await other.return!()
    await behind.stop()
  })

  test('resumed after its deployment was torn down sends the rest, and completes', async () => {
    const start = await endOfLog(ctx)
    await deleteDeployment(ctx, { path: { deployment_id: app.deploymentId }, query: {} })
    await tearDown()
    for (const ids of [{ revisionId: app.revisionId }, { deploymentId: app.deploymentId }, app]) {
      expect(statuses(await all({ ...ids, after: start }))).toEqual(['CREATING → INTERRUPTED'])
      expect(await all({ ...ids, after: await endOfLog(ctx) })).toEqual([])
    }
  })

  test('completes at the end of the cursor’s attempt, and continues with the next attempt from there', async () => {
    const start = await endOfLog(ctx)
    await move(ctx, app.revisionId, [...ROLLOUT, ...ROLLOUT])
    const first = await all({ revisionId: app.revisionId, after: start })
    expect(first.map((e) => e.to)).toEqual(ROLLOUT)
    const second = await all({ revisionId: app.revisionId, after: first.at(-1)!.cursor })
    expect(statuses(second)[0]).toBe('DEPLOYED → QUEUED')
    expect(second.map((e) => e.attempt)).toEqual([2, 2, 2, 2])
  })

  test('may also name the deployment, which must be the revision’s', async () => {
    const other = await imageDeployment(ctx)
    expect(await take(await subscribe(app), 1)).toHaveLength(1)
    await expect(subscribe({ ...app, deploymentId: other.deploymentId })).rejects.toThrow(
      new NotFoundError('Revision', app.revisionId),
    )
  })
})

describe('A stream of a deployment', () => {
  test("begins with its latest revision's status and continues over redeploys", async () => {
    const stream = await subscribe({ deploymentId: app.deploymentId })
    await move(ctx, app.revisionId, [...ROLLOUT, 'QUEUED'])
    expect((await take(stream, 6)).map((e) => e.to)).toEqual(['CREATING', ...ROLLOUT, 'QUEUED'])
    await stream.return!()
  })

  test('leaves out other deployments and other types of events', async () => {
    const stream = await subscribe({ deploymentId: app.deploymentId })
    const other = await imageDeployment(ctx)
    await move(ctx, other.revisionId, ROLLOUT)
    await deleteDeployment(ctx, { path: { deployment_id: app.deploymentId }, query: {} })
    expect(statuses(await take(stream, 2))).toEqual(['– → CREATING', 'CREATING → INTERRUPTED'])
    await stream.return!()
  })
})

describe('A stream of the workspace', () => {
  test('has no snapshot: it begins with the next change of any revision', async () => {
    const stream = await subscribe({})
    const other = await imageDeployment(ctx)
    await move(ctx, app.revisionId, ['QUEUED'])
    expect((await take(stream, 2)).map((e) => [e.revisionId, e.to])).toEqual([
      [other.revisionId, 'CREATING'],
      [app.revisionId, 'QUEUED'],
    ])
    await stream.return!()
  })

  test('keeps changes from before the first read', async () => {
    const stream = await subscribe({})
    await move(ctx, app.revisionId, ROLLOUT)
    expect((await take(stream, 4)).map((e) => e.to)).toEqual(ROLLOUT)
    await stream.return!()
  })
})

describe('Subscribing is refused', () => {
  test.each(['deploymentId', 'revisionId'] as const)('for an unknown %s, before anything is streamed', async (name) => {
    await expect(subscribe({ [name]: randomUUID() })).rejects.toBeInstanceOf(NotFoundError)
  })

  test.each(['deploymentId', 'revisionId'] as const)(
    "for another tenant's %s, as if it did not exist",
    async (name) => {
      const stranger = await domain.tenant()
      await expect(subscribe({ [name]: app[name] }, stranger)).rejects.toBeInstanceOf(NotFoundError)
    },
  )

  test('for a removed deployment', async () => {
    await deleteDeployment(ctx, { path: { deployment_id: app.deploymentId }, query: {} })
    await tearDown()
    await expect(subscribe({ deploymentId: app.deploymentId })).rejects.toBeInstanceOf(NotFoundError)
    await expect(subscribe({ revisionId: app.revisionId })).rejects.toBeInstanceOf(NotFoundError)
  })

  test('for an invalid id', async () => {
    await expect(subscribe({ revisionId: 'one' })).rejects.toMatchObject({
      violations: [{ loc: ['query', 'revision_id'], type: 'uuid_parsing' }],
    })
  })

  test('for a role below viewer', async () => {
    await expect(subscribe({}, as(ctx, 'agent'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const stream = await subscribe({}, as(ctx, 'viewer'))
    await stream.return!()
  })

  test('for a cursor that is malformed, of another workspace, or ahead of the log', async () => {
    const workspaceId = ctx.workspace.id
    const cursors = [
      '',
      'nonsense',
      Buffer.from('{"a":1}').toString('base64url'),
      eventCursor({ workspaceId, sequence: -1n }),
      eventCursor({ workspaceId: randomUUID(), sequence: 1n }),
      eventCursor({ workspaceId, sequence: 1_000_000n }),
    ]
    for (const after of cursors) {
      const error = await subscribe({ after }).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(ValidationError)
      expect((error as ValidationError).violations).toMatchObject([{ loc: ['query', 'after'], type: 'cursor_invalid' }])
    }
  })
})

describe('A stream ends', () => {
  test('when its reader returns, even if a read is pending', async () => {
    const stream = await subscribe({})
    const waiting = stream.next()
    await stream.return!()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })

  test('when the server stops, with the cursor to continue from', async () => {
    const stopping = createRelay({ core: domain.core, listenUrl: domain.url })
    stopping.start()
    const stream = await subscribe({}, ctx, stopping)
    const waiting = stream.next()
    const cursor = await endOfLog(ctx)
    await Promise.all([expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE', cursor }), stopping.stop()])
    const late = await subscribe({}, ctx, stopping)
    await expect(late.next()).rejects.toMatchObject({ code: 'UNAVAILABLE', cursor })
    expect(await late.next()).toEqual({ done: true, value: undefined })
  })
})

test("another tenant's changes never show", async () => {
  const stranger = await domain.tenant()
  const theirs = await imageDeployment(stranger)
  const stream = await subscribe({})
  await Promise.all([move(stranger, theirs.revisionId, ROLLOUT), move(ctx, app.revisionId, ROLLOUT)])
  const events = await take(stream, 4)
  expect(new Set(events.map((e) => e.deploymentId))).toEqual(new Set([app.deploymentId]))
  await stream.return!()
})
