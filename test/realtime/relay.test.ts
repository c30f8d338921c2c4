/**
 * The log is the truth of the stream (docs/architecture.md#rules): nothing lost, doubled or reordered under failures
 * of writers, servers and connections.
 */
import { afterAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Outlet } from '../../src/api/realtime/frames.ts'
import { createRelay, type RelayOptions } from '../../src/api/realtime/relay.ts'
import { type RevisionStatusEvent, streamRevisionStatus } from '../../src/api/realtime/status-stream.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import type { Log } from '../../src/platform/log/log.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { useDomain } from '../support/domain.ts'
import {
  announce,
  endOfLog,
  imageDeployment,
  iterate,
  loggedCursors,
  move,
  ROLLOUT,
  take,
  takeUntil,
  until,
} from './support.ts'

const domain = useDomain()
let ctx: RequestContext
const cleanups: (() => Promise<unknown>)[] = []

afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean()
})
beforeEach(async () => {
  ctx = await domain.tenant()
})

/** A relay that runs until the end of the file. */
function relayWith(options: Partial<RelayOptions> = {}) {
  const relay = createRelay({ core: domain.core, listenUrl: domain.url, ...options })
  relay.start()
  cleanups.push(() => relay.stop())
  return relay
}
type Relay = ReturnType<typeof relayWith>

/** Another server on the same database: a separate pool and relay. */
function server({ poolSize = 2, log = domain.core.log, ...options }: ServerOptions = {}) {
  const database = connectDatabase({ url: domain.url, poolSize })
  cleanups.push(() => database.close())
  const relay = relayWith({ ...options, core: { db: database.requests.db, log, clock: domain.core.clock } })
  return {
    database,
    relay,
    as: (who: RequestContext) => ({ ...who, ...database.requests }),
  }
}
type ServerOptions = Pick<RelayOptions, 'pollEvery' | 'capacity'> & { listenUrl?: string; poolSize?: number; log?: Log }

/** Events need no existing revision. */
const NOBODY = '00000000-0000-4000-8000-000000000000'
const NEVER = 3_600_000
const TEXT = { key: 'text', render: async (values: readonly unknown[]) => values.map(() => '1') }
/** A database URL on which notifications don't arrive. */
const deaf = () => inject('postgres').url

const subscribe = async (relay: Relay, args = {}, who = ctx, capacity?: number) =>
  iterate(await streamRevisionStatus(who, relay, args), capacity)
const cursors = (events: RevisionStatusEvent[]) => events.map((e) => e.cursor)
const say = (...messages: string[]) => announce(domain.core, ctx.workspace.id, messages)
const messages = (events: RevisionStatusEvent[]) => events.map((e) => e.message)
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `${from + i}`)

test('an event of a server that died right after its commit is found by polling', async () => {
  const stream = await subscribe(relayWith({ pollEvery: 200 }))
  await announce({ ...domain.core, wake() {} }, ctx.workspace.id, ['untold'])
  expect(messages(await take(stream, 1))).toEqual(['untold'])
  await stream.return?.()
})

describe('Under concurrent writers', () => {
  test('a stream equals the log: 50 concurrent transactions, some of which roll back, in commit order without gap or double', async () => {
    const stream = await subscribe(relayWith())
    const writes = numbered(50).map((name, i) =>
      transaction(domain.core, async (tx) => {
        for (let n = 0; n <= i % 4; n++)
          tx.emit({
            workspaceId: ctx.workspace.id,
            type: 'revision.status',
            to: 'QUEUED',
            message: `${name}/${n}`,
            deploymentId: NOBODY,
            revisionId: NOBODY,
            attempt: 1,
          })
        if (i % 3 === 0) tx.emit({ workspaceId: ctx.workspace.id, type: 'tag.created', subjectId: name })
        await tx.sql.$queryRaw`SELECT 1 / ${i % 5}::int` // every fifth fails
      }),
    )
    const outcomes = await Promise.allSettled(writes)
    expect(outcomes.filter((o) => o.status === 'rejected')).toHaveLength(10)
    await say('last')
    const events = await takeUntil(stream, (e) => e.message === 'last')
    expect(cursors(events)).toEqual(await loggedCursors(ctx))

    const log = await domain.core.db.event.findMany({
      where: { workspaceId: ctx.workspace.id },
      orderBy: { sequence: 'asc' },
    })
    expect(log.map((e) => e.sequence)).toEqual(log.map((_, i) => BigInt(i + 1)))
    await stream.return!()
  })

  test('a snapshot and the following events fit together, whenever the stream begins', async () => {
    const relay = relayWith()
    const app = await imageDeployment(ctx)
    let done = false
    const writing = (async () => {
      while (!done) await move(ctx, app.revisionId, ROLLOUT)
    })()
    const heard: RevisionStatusEvent[][] = []
    for (let i = 0; i < 40; i++) {
      const stream = await subscribe(relay, { deploymentId: app.deploymentId })
      heard.push(await take(stream, 1 + (i % 12)))
      await stream.return!()
    }
    done = true
    await writing
    const log = await loggedCursors(ctx, { deploymentId: app.deploymentId })
    for (const [snapshot, ...changes] of heard) {
      for (const [i, change] of changes.entries()) expect(change.from).toBe((changes[i - 1] ?? snapshot)!.to)
      const start = log.indexOf(snapshot!.cursor)
      expect(start).toBeGreaterThanOrEqual(0)
      expect(cursors(changes)).toEqual(log.slice(start + 1, start + 1 + changes.length))
    }
  })

  test('a subscriber that changes servers with its cursor misses nothing and gets nothing twice', async () => {
    const servers = [server(), server()]
    const start = await endOfLog(ctx)
    const writing = (async () => {
      for (const name of numbered(300)) await say(name)
    })()
    const heard: RevisionStatusEvent[] = []
    for (let turn = 0; heard.length < 300; turn++) {
      const { relay, as } = servers[turn % 2]!
      const stream = await subscribe(relay, { after: heard.at(-1)?.cursor ?? start }, as(ctx))
      heard.push(...(await take(stream, Math.min(1 + (turn % 20), 300 - heard.length))))
      await stream.return!()
    }
    await writing
    expect(messages(heard)).toEqual(numbered(300))
  })
})

describe('A relay', () => {
  test('publishes each event once and in order, while events arrive faster than it reads', async () => {
    const relay = relayWith()
    const sequences: bigint[] = []
    const watch = relay.events.watch(ctx.workspace.id, {
      wants: () => true,
      on: (event) => void sequences.push(event.sequence),
    })
    await watch.ready
    await Promise.all(numbered(200).map((name) => say(name)))
    await until(() => sequences.at(-1) === 200n)
    expect(sequences).toEqual(numbered(200, 1).map(BigInt))
    watch.close()
  })

  test('delivers all of one large transaction, for which there is one NOTIFY', async () => {
    const stream = await subscribe(server({ pollEvery: NEVER, capacity: 3_000 }).relay)
    await say('warm')
    await take(stream, 1)
    await say(...numbered(2_500))
    expect(messages(await take(stream, 2_500))).toEqual(numbered(2_500))
    await stream.return!()
  })
})

describe('Without notifications', () => {
  test('because the LISTEN connection was killed, nothing is lost', async () => {
    const { relay } = server({ pollEvery: NEVER })
    const stream = await subscribe(relay)
    await say('before')
    expect(messages(await take(stream, 1))).toEqual(['before'])
    for (const name of numbered(5)) {
      await asAdmin(domain.url, (admin) =>
        admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE application_name = 'pilothouse listen' AND datname = current_database()`),
      )
      await say(name) // while LISTEN is down
      expect(messages(await take(stream, 1))).toEqual([name])
    }
    await stream.return!()
  })

  test('of any kind, the poll finds the events', async () => {
    const { relay } = server({ listenUrl: deaf(), pollEvery: 20 })
    const stream = await subscribe(relay)
    await say('1', '2')
    expect(messages(await take(stream, 2))).toEqual(['1', '2'])
    await say('3')
    expect(messages(await take(stream, 1))).toEqual(['3'])
    await stream.return!()
  })

  test('because the database is unavailable, streams wait, and the log says so once', async () => {
    const said: string[] = []
    const keep = (_: object, message: string) => void said.push(message)
    const log = { info: keep, warn: keep, error: keep }
    const { database, relay } = server({ poolSize: 1, pollEvery: 20, log })
    const stream = await subscribe(relay)
    const { rows } = await database.pools.api.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const { pathname } = new URL(domain.url)
    await asAdmin(deaf(), async (admin) => {
      await admin.query(`ALTER DATABASE ${pathname.slice(1)} ALLOW_CONNECTIONS false`)
      await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1
                         OR application_name = 'pilothouse listen' AND datname = $2`,
        [rows[0]!.pid, pathname.slice(1)],
      )
      await say('meanwhile')
      await until(() => said.some((m) => m.includes('LISTEN')))
      await until(() => said.some((m) => m.includes('cannot be read')))
      await admin.query(`ALTER DATABASE ${pathname.slice(1)} ALLOW_CONNECTIONS true`)
    })
    expect(messages(await take(stream, 1))).toEqual(['meanwhile'])
    expect(said.filter((m) => m.includes('event log'))).toEqual([
      'the event log cannot be read; streams wait, trying again',
      'the event log can be read again',
    ])
    await stream.return!()
  })
})

describe('A slow subscriber', () => {
  test('is ended alone, and continues without loss from its cursor', async () => {
    const relay = relayWith({ capacity: 20 })
    const slow = await subscribe(relay, {}, ctx, 20)
    const quick = await subscribe(relay)
    await say('first')
    const heard = await take(slow, 1)
    const all = take(quick, 101)
    for (const name of numbered(100)) await say(name)
    expect(messages(await all)).toEqual(['first', ...numbered(100)])

    // the items that it had received, and why no more
    const error = await takeUntil(slow, (event) => !heard.push(event)).catch((e: unknown) => e)
    expect(heard.length).toBeLessThan(100)
    expect(error).toMatchObject({ code: 'STREAM_OVERFLOW', cursor: heard.at(-1)!.cursor })
    expect(await slow.next()).toMatchObject({ done: true })
    const again = await subscribe(relay, { after: (error as { cursor: string }).cursor })
    heard.push(...(await take(again, 101 - heard.length)))
    expect(messages(heard)).toEqual(['first', ...numbered(100)])
    await say('on')
    expect(messages(await take(quick, 1))).toEqual(['on'])
    expect(messages(await take(again, 1))).toEqual(['on'])
    await Promise.all([quick.return!(), again.return!()])
  })

  test('may be slow with an old cursor: catching up does not fill its mailbox', async () => {
    const relay = relayWith({ capacity: 5 })
    const start = await endOfLog(ctx)
    await say(...numbered(450))
    const stream = await subscribe(relay, { after: start }, ctx, 5)
    const witness = await subscribe(relay)
    const heard = await take(stream, 420) // in the middle of the last page
    for (const name of numbered(60, 450)) {
      await say(name)
      await take(witness, 1) // published, so the other mailbox has received it too
    }
    heard.push(...(await take(stream, 90)))
    await say('live')
    heard.push(...(await take(stream, 1)))
    expect(messages(heard)).toEqual([...numbered(510), 'live'])
    await Promise.all([stream.return!(), witness.return!()])
  })
})

describe('A stopping server', () => {
  test('also ends subscribers that are still catching up, each with its own cursor', async () => {
    const { relay, as } = server()
    const start = await endOfLog(ctx)
    await say(...numbered(10))
    const stream = await streamRevisionStatus(as(ctx), relay, { after: start })
    const ended: unknown[] = []
    stream.open(TEXT, {
      send: () => undefined,
      full: true,
      drained: () => new Promise(() => undefined),
      end: (how) => void ended.push(how),
      onGone: () => undefined,
    })
    await relay.stop()
    expect(ended).toMatchObject([{ error: expect.objectContaining({ code: 'UNAVAILABLE', cursor: start }) }])
  })

  test('gives no cursor before the stream’s initial status was sent, because resuming would skip that status', async () => {
    const { relay, as } = server()
    const { deploymentId } = await imageDeployment(ctx)
    const stream = await streamRevisionStatus(as(ctx), relay, { deploymentId })
    const ended: unknown[] = []
    stream.open(
      { key: 'never', render: () => new Promise(() => undefined) },
      {
        send: () => undefined,
        full: false,
        drained: () => new Promise(() => undefined),
        end: (how) => void ended.push(how),
        onGone: () => undefined,
      },
    )
    await relay.stop()
    expect(ended).toEqual([{ error: expect.objectContaining({ code: 'UNAVAILABLE', cursor: null }) }])
  })
})

describe('In one group', () => {
  test('each value is rendered once, and a failing outlet ends alone', async () => {
    const relay = relayWith()
    const rendered: unknown[] = []
    const rendering = {
      key: 'counted',
      render: async (values: readonly unknown[]) => values.map((value) => `${rendered.push(value)}`),
    }
    const heard: string[] = []
    const ended: unknown[] = []
    const outlet = (send: Outlet['send']): Outlet => ({
      send,
      full: false,
      drained: async () => undefined,
      end: (how) => void ended.push(how),
      onGone: () => undefined,
    })
    const broken = new Error('broken')
    const open = async (send: Outlet['send']) =>
      (await streamRevisionStatus(ctx, relay, {})).open(rendering, outlet(send))
    const close = [
      await open(() => {
        throw broken
      }),
      await open(({ frames }) => void heard.push(...frames.map(({ text }) => text))),
      await open(({ frames }) => void heard.push(...frames.map(({ text }) => text))),
    ]
    await say('one')
    await until(() => heard.length === 2)
    expect(heard).toEqual(['1', '1'])
    expect(ended).toMatchObject([{ error: broken }])
    await say('two')
    await until(() => heard.length === 4)
    expect(rendered).toHaveLength(2)
    for (const end of close) end(new Error('over'))
    expect(ended).toHaveLength(3)
  })

  test('a failing rendering ends its own group, and the next subscriber starts a new one', async () => {
    const relay = relayWith()
    const failing = { key: 'failing', render: () => Promise.reject(new Error('no')) }
    const others = await subscribe(relay)
    const ended: unknown[] = []
    const stream = await streamRevisionStatus(ctx, relay, {})
    stream.open(failing, {
      send: () => undefined,
      full: false,
      drained: async () => undefined,
      end: (how) => void ended.push(how),
      onGone: () => undefined,
    })
    await say('one')
    expect(messages(await take(others, 1))).toEqual(['one'])
    await until(() => ended.length === 1)
    await say('two')
    expect(messages(await take(others, 1))).toEqual(['two'])
    await others.return!()
  })
})

describe('The cost is', () => {
  test('nothing without subscribers, at any poll rate', async () => {
    const idle = server({ pollEvery: 1 })
    const busy = await subscribe(server({ listenUrl: deaf(), pollEvery: 30 }).relay)
    const statements = await countStatements(idle.database, async () => {
      for (const name of numbered(5)) {
        await say(name)
        await take(busy, 1)
      }
    })
    expect(statements).toEqual([])
    await busy.return!()
  })

  test('the same for 100 streams of a workspace as for one: at most two reads of the log per event', async () => {
    const { database, relay } = server({ pollEvery: NEVER })
    const streams = await Promise.all(numbered(100).map(() => subscribe(relay)))
    await say('warm')
    for (const stream of streams) await take(stream, 1)
    const statements = await countStatements(database, async () => {
      await say('one')
      for (const stream of streams) expect(messages(await take(stream, 1))).toEqual(['one'])
    })
    expect(statements.length).toBeLessThanOrEqual(2) // the second for a NOTIFY whose event is already known
    await Promise.all(streams.map((stream) => stream.return!()))
  })

  test('one statement to compare the counters of all workspaces with subscribers', async () => {
    const { database, relay } = server({ listenUrl: deaf(), pollEvery: 20 })
    const tenants = await Promise.all(numbered(10).map(() => domain.tenant()))
    const streams = await Promise.all(tenants.map((tenant) => subscribe(relay, {}, tenant)))
    const statements = await countStatements(database, async () => {
      await announce(domain.core, tenants[3]!.workspace.id, ['news'])
      await take(streams[3]!, 1)
    })
    expect(statements.filter((sql) => !sql.includes('event_counters'))).toHaveLength(1)
    await Promise.all(streams.map((stream) => stream.return!()))
  })

  test('one statement to subscribe', async () => {
    const { database, as } = server()
    const relay = createRelay({ core: domain.core, listenUrl: domain.url }) // not started: it does nothing in the background
    const app = await imageDeployment(ctx)
    const end = await endOfLog(ctx)
    for (const args of [{}, app, { after: end }]) {
      const statements = await countStatements(database, async () => {
        const stream = await subscribe(relay, args, as(ctx))
        if (args === app) await take(stream, 1)
        await stream.return!()
      })
      expect(statements).toHaveLength(1)
    }
    await relay.stop()
  })
})
