/** docs/api-rules.md#what-changes-of-deployments: the messages of deploymentsChanged, their time, and their cost. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { streamDeploymentChanges } from '../../src/api/realtime/deployment-stream.ts'
import { createRelay, type Relay } from '../../src/api/realtime/relay.ts'
import { announceChanges, DEPLOYMENTS_PER_SEQUENCE } from '../../src/domain/change-feed/announce.ts'
import { announceClockChanges } from '../../src/domain/change-feed/clock.ts'
import { readDeploymentChanges } from '../../src/domain/change-feed/log.ts'
import { silentBefore } from '../../src/domain/deployment-status/status.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { NotFoundError, ValidationError } from '../../src/domain/errors/errors.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import type { Claim } from '../../src/domain/protocol/protocol.ts'
import { type RequestContext, type Sql, transaction } from '../../src/domain/transaction/context.ts'
import { countStatements } from '../support/database.ts'
import { as, useDomain } from '../support/domain.ts'
import { claimOne, workOff } from '../support/holder.ts'
import { imageDeployment, iterate, move, take, takeUntil } from './support.ts'

const domain = useDomain()
let relay: Relay
let ctx: RequestContext

beforeAll(() => {
  relay = createRelay({ core: domain.core, listenUrl: domain.url })
  relay.start()
})
afterAll(() => relay.stop())
beforeEach(async () => {
  await announceChanges(domain.core)
  ctx = await domain.tenant()
})

const subscribe = async (query: { after?: string; deployment_id?: string } = {}, who = ctx) =>
  iterate(await streamDeploymentChanges(who, { query }, relay))
/** A stream that has begun, and its position. */
async function begun(query: { deployment_id?: string } = {}) {
  const stream = await subscribe(query)
  const [first] = await take(stream, 1)
  expect(first!.deploymentIds).toEqual([])
  return { stream, cursor: first!.cursor }
}
/**
 * The next `count` deployments of a stream. A message may have several, because a late reader reads several positions
 * together.
 */
async function told(stream: AsyncIterator<{ deploymentIds: readonly string[] }>, count: number): Promise<string[]> {
  const ids: string[] = []
  await takeUntil(stream, ({ deploymentIds }) => ids.push(...deploymentIds) >= count)
  return ids
}
const announce = () => announceChanges(domain.core)
const announceByClock = () => announceClockChanges(domain.core, silentBefore(domain.core.clock()))
const notes = () => domain.core.db.deploymentNews.count()
/** The deployments that the log reports as changed since `work` began. */
async function changedBy(work: () => Promise<unknown>): Promise<string[]> {
  await announce()
  const [before] = await domain.core.db.$queryRaw<{ last: bigint }[]>`
    SELECT coalesce(max(sequence), 0) AS last FROM deployment_changes`
  await work()
  await announce()
  const parts = await readDeploymentChanges(domain.core.db, ctx.workspace.id, before!.last, 100)
  return parts.flatMap(({ deploymentIds }) => deploymentIds)
}
const beat = (claim: Claim, more: object = {}) =>
  domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId: claim.claimId, token: claim.token, ...more }] })
const health = (ready: number, message: string | null = null) => ({ health: { ready, desired: 2, message } })

/** Deployed and held. */
async function serving(): Promise<{ id: string; claim: Claim }> {
  const { deploymentId: id } = await imageDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  await workOff(domain.plane, claim)
  await beat(claim, health(2))
  return { id, claim }
}
const listener = (lastSeenAt: Date) =>
  ctx.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: randomUUID(), k8sNamespaces: [], lastSeenAt },
  })
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)

describe('A deployment is reported', () => {
  test('when it is created, edited, tagged, deleted, and when one of its revisions moves or reports a wait', async () => {
    let app = { deploymentId: '', revisionId: '' }
    const made = await changedBy(async () => {
      app = await imageDeployment(ctx)
    })
    expect(made).toEqual([app.deploymentId])
    const own = [app.deploymentId]
    const tag = await ctx.db.tag.create({ data: { workspaceId: ctx.workspace.id, key: 'a', value: 'b' } })
    const path = { deployment_id: app.deploymentId }
    expect(
      await changedBy(() => updateDeployment(ctx, { path, body: { source_config: { resource_spec: { cpu: 2 } } } })),
    ).toEqual(own)
    expect(
      await changedBy(() => ctx.db.deploymentTag.create({ data: { deploymentId: app.deploymentId, tagId: tag.id } })),
    ).toEqual(own)
    expect(await changedBy(() => move(ctx, app.revisionId, ['QUEUED']))).toEqual(own)
    const say = (statusMessage: string) =>
      ctx.db.revision.update({ where: { id: app.revisionId }, data: { statusMessage } })
    expect(await changedBy(() => say('pulled 3 of 9'))).toEqual(own)
    expect(
      await changedBy(() =>
        ctx.db.deployment.update({ where: { id: app.deploymentId }, data: { tornDownAt: new Date() } }),
      ),
    ).toEqual(own)
  })

  test('when its holder reports different health, and not when it reports the same', async () => {
    const { id, claim } = await serving()
    expect(await changedBy(() => beat(claim, health(1, 'one crashed')))).toEqual([id])
    expect(await changedBy(() => beat(claim, health(1, 'one crashed')))).toEqual([])
    expect(await changedBy(() => beat(claim))).toEqual([])
    expect(await changedBy(() => beat(claim, { idle: true }))).toEqual([id])
  })

  test('once when its lease has expired, however many servers look', async () => {
    const { id } = await serving()
    await over(id)
    const looks = async () => {
      await Promise.all([1, 2, 3].map(() => announceByClock()))
    }
    expect(
      await changedBy(async () => {
        await looks()
        expect(await notes()).toBe(1)
      }),
    ).toEqual([id])
    expect(await changedBy(looks)).toEqual([])
  })

  test('only after its renewal can no longer commit; until then other deployments are reported', async () => {
    const [earlier, renewed, failed] = [await serving(), await serving(), await serving()]
    await over(earlier.id, renewed.id, failed.id)
    const look = () => announceByClock()
    const { db } = domain.core
    const lock = (sql: Sql, { id }: { id: string }) =>
      sql.$executeRaw`UPDATE deployments SET lease_expires_at = now() + interval '1 minute' WHERE id = ${id}::uuid`
    await expect(
      db.$transaction(async (sql) => {
        await db.$transaction(async (late) => {
          await lock(late, renewed)
          await lock(sql, failed)
          expect(await changedBy(look)).toEqual([earlier.id])
          expect(await changedBy(look)).toEqual([])
        })
        expect(await changedBy(look)).toEqual([])
        throw new Error('fails')
      }),
    ).rejects.toThrow('fails')
    expect(await changedBy(look)).toEqual([failed.id])
    expect(await changedBy(look)).toEqual([])
  })

  test('when its listener falls silent and when it calls again; each is one event, for any number of deployments', async () => {
    const ids = [await imageDeployment(ctx), await imageDeployment(ctx)].map(({ deploymentId }) => deploymentId)
    const { id: listenerId } = await listener(ago(80))
    await ctx.db.deployment.updateMany({ where: { id: { in: ids } }, data: { listenerId } })
    const heard = (at: Date) => ctx.db.listener.update({ where: { id: listenerId }, data: { lastSeenAt: at } })
    const tell = () => announceByClock()
    expect(await changedBy(tell)).toEqual([])
    await heard(ago(95))
    expect((await changedBy(tell)).toSorted()).toEqual(ids.toSorted())
    expect(await changedBy(tell)).toEqual([])
    await heard(new Date())
    expect((await changedBy(() => Promise.all([tell(), tell()]))).toSorted()).toEqual(ids.toSorted())
    const events = await ctx.db.event.findMany({
      where: { workspaceId: ctx.workspace.id, subjectId: listenerId },
      orderBy: { sequence: 'asc' },
    })
    expect(events.map(({ type, actorKind }) => [type, actorKind])).toEqual([
      ['listener.silent', 'system'],
      ['listener.heard', 'listener'],
    ])
  })
})

/** Expires exactly their leases, one after the other. */
async function over(...ids: string[]): Promise<void> {
  const { db } = ctx
  await db.$executeRaw`UPDATE deployments SET lease_expires_at = lease_expires_at - interval '1 h' WHERE lease_expires_at < now()`
  for (const [n, id] of ids.entries())
    await db.$executeRaw`
      UPDATE deployments SET lease_expires_at = now() - interval '1 s' + make_interval(secs => ${n / 100}) WHERE id = ${id}::uuid`
  await db.$executeRaw`UPDATE lapses_told SET until = now() - interval '30 s'`
  await announce()
}

describe('The cost', () => {
  test('heartbeats without changes leave no note, and a transaction leaves one per deployment', async () => {
    const { id, claim } = await serving()
    await announce()
    await beat(claim, health(2))
    expect(await notes()).toBe(0)
    await transaction(ctx, async (tx) => {
      await tx.sql.deployment.update({ where: { id }, data: { name: randomUUID() } })
      await tx.sql.deployment.update({ where: { id }, data: { name: randomUUID() } })
      await tx.sql.revision.updateMany({ where: { deploymentId: id }, data: { statusMessage: 'x' } })
    })
    expect(await notes()).toBe(1)
  })

  test('a flapping deployment has one entry and no additional events', async () => {
    const { id, claim } = await serving()
    const events = () => ctx.db.event.count({ where: { deploymentId: id } })
    const before = await events()
    for (let i = 0; i < 20; i++) {
      await beat(claim, health(i % 2))
      if (i % 3 === 0) await announce()
    }
    await announce()
    expect(await ctx.db.deploymentChange.count({ where: { deploymentId: id } })).toBe(1)
    expect(await notes()).toBe(0)
    expect(await events()).toBe(before)
  })

  test('a look at the clock is one statement that writes nothing while nothing has expired; the mark moves once a minute', async () => {
    const { id } = await serving()
    const look = () => countStatements(domain.database, () => announceByClock(), 'all')
    const mark = async () => (await ctx.db.$queryRaw`SELECT xmin::text, until FROM lapses_told`) as [{ until: Date }]
    await look()
    const before = await mark()
    const sent = [await look(), await look()]
    expect(sent.map((all) => all.length)).toEqual([1, 1])
    expect(sent.flat().join()).not.toMatch(/INSERT|UPDATE|DELETE|FOR |lock/)
    expect(await mark()).toEqual(before)
    await ctx.db.$executeRaw`UPDATE lapses_told SET until = until - interval '61 s'`
    expect(await look()).toHaveLength(2)
    expect((await mark())[0].until.getTime()).toBeGreaterThanOrEqual(before[0].until.getTime())
    await over(id)
    expect(await look()).toHaveLength(2)
    expect(await notes()).toBe(1)
  })

  test('a round with no notes or with a thousand is one statement, and deployments are sent in tens', async () => {
    expect(await countStatements(domain.database, announce, 'all')).toHaveLength(1)
    const { deploymentId } = await imageDeployment(ctx)
    const { id: listenerId } = await listener(new Date())
    await ctx.db.$executeRaw`
      INSERT INTO deployments (id, workspace_id, name, source, listener_id)
      SELECT gen_random_uuid(), workspace_id, 'many ' || i, source, ${listenerId}::uuid
      FROM deployments, generate_series(1, 1000) AS i WHERE id = ${deploymentId}::uuid`
    await announce()
    const { stream } = await begun()
    await ctx.db.listener.update({ where: { id: listenerId }, data: { lastSeenAt: ago(100) } })
    await announceByClock()
    expect(await countStatements(domain.database, announce, 'all')).toHaveLength(1)
    const messages = await take(stream, 10)
    expect(messages.every(({ deploymentIds }) => deploymentIds.length === DEPLOYMENTS_PER_SEQUENCE)).toBe(true)
    expect(new Set(messages.flatMap(({ deploymentIds }) => deploymentIds)).size).toBe(1000)
  })
})

describe('A stream', () => {
  test('begins at the present, then sends changes, or those of one deployment', async () => {
    const [one, other] = [await imageDeployment(ctx), await imageDeployment(ctx)]
    await announce()
    const all = await begun()
    const own = await begun({ deployment_id: one.deploymentId })
    await move(ctx, other.revisionId, ['QUEUED'])
    await announce()
    await move(ctx, one.revisionId, ['QUEUED'])
    await announce()
    expect(await told(all.stream, 2)).toEqual([other.deploymentId, one.deploymentId])
    expect(await told(own.stream, 1)).toEqual([one.deploymentId])
  })

  test('continues after its cursor, on another server too, with each changed deployment once', async () => {
    const [one, other] = [await imageDeployment(ctx), await imageDeployment(ctx)]
    await announce()
    const { cursor } = await begun()
    for (const { revisionId } of [one, other, one]) {
      await ctx.db.revision.update({ where: { id: revisionId }, data: { statusMessage: randomUUID() } })
      await announce()
    }
    const second = createRelay({ core: domain.core, listenUrl: domain.url })
    try {
      const stream = iterate(await streamDeploymentChanges(ctx, { query: { after: cursor } }, second))
      const [message] = await take(stream, 1)
      expect(message!.deploymentIds).toEqual([other.deploymentId, one.deploymentId])
      await stream.return!()
    } finally {
      await second.stop()
    }
  })

  test('misses nothing while servers take turns and writers write', async () => {
    const apps = await Promise.all(Array.from({ length: 5 }, () => imageDeployment(ctx)))
    await announce()
    const { stream } = await begun()
    const write = async ({ revisionId }: { revisionId: string }) => {
      for (let i = 0; i < 10; i++)
        await ctx.db.revision.update({ where: { id: revisionId }, data: { statusMessage: `at ${i}` } })
    }
    let writing = true
    const server = async () => {
      while (writing) await announce()
    }
    const servers = [server(), server()]
    await Promise.all(apps.map(write))
    writing = false
    await Promise.all(servers)
    await announce()
    // the last entry of each follows its last write, so a reader that reached it has seen that write
    const seen = new Set<string>()
    const [{ last }] = (await ctx.db.$queryRaw<{ last: bigint }[]>`
      SELECT max(sequence) AS last FROM deployment_changes WHERE workspace_id = ${ctx.workspace.id}::uuid`) as [
      { last: bigint },
    ]
    for (let at = 0n; at < last; ) {
      const [message] = await take(stream, 1)
      at = BigInt(JSON.parse(Buffer.from(message!.cursor, 'base64url').toString())[2])
      for (const id of message!.deploymentIds) seen.add(id)
    }
    expect(seen).toEqual(new Set(apps.map(({ deploymentId }) => deploymentId)))
    expect(await notes()).toBe(0)
  })

  test('refuses a cursor of events, of another workspace, and one from before removed deployments', async () => {
    const { deploymentId } = await imageDeployment(ctx)
    await announce()
    const { cursor } = await begun()
    const other = await domain.tenant()
    const invalid = { violations: [expect.objectContaining({ type: 'cursor_invalid' })] }
    await expect(subscribe({ after: eventCursor({ workspaceId: ctx.workspace.id, sequence: 1n }) })).rejects.toThrow(
      ValidationError,
    )
    await expect(subscribe({ after: cursor }, other)).rejects.toMatchObject(invalid)
    const before = await begun()
    await ctx.db.revision.updateMany({ where: { deploymentId }, data: { statusMessage: 'x' } })
    await announce()
    await ctx.db.deployment.delete({ where: { id: deploymentId } })
    await announce()
    await expect(subscribe({ after: before.cursor })).rejects.toMatchObject({
      violations: [expect.objectContaining({ type: 'cursor_expired' })],
    })
    // from here on nothing is missing
    const now = await begun()
    expect(await subscribe({ after: now.cursor })).toBeDefined()
  })

  test('needs a viewer and shows only the caller’s workspace', async () => {
    const { deploymentId } = await imageDeployment(ctx)
    await announce()
    const other = await domain.tenant()
    await expect(subscribe({ deployment_id: deploymentId }, other)).rejects.toThrow(NotFoundError)
    await expect(subscribe({}, as(ctx, 'agent'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await subscribe({}, as(ctx, 'viewer'))).toBeDefined()
    const parts = await readDeploymentChanges(other.db, other.workspace.id, 0n, 100)
    expect(parts).toEqual([])
  })
})
