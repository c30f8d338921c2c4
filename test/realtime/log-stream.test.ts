/**
 * Followed logs (docs/deployments.md#logs): every line once, in order, under concurrent writers, slow readers and
 * database outages.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Batch, Ending, Outlet, Rendering } from '../../src/api/realtime/frames.ts'
import { streamLog } from '../../src/api/realtime/log-stream.ts'
import { createRelay, type Relay, type RelayOptions } from '../../src/api/realtime/relay.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { followDeploymentLogs, followLogs, readLogStates } from '../../src/domain/logs/follow.ts'
import { type Line, logOffset } from '../../src/domain/logs/lines.ts'
import { createRetention } from '../../src/domain/retain.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { gitDeployment, useDomain } from '../support/domain.ts'
import { claimOne, settle, succeed, workOff } from '../support/holder.ts'
import { writeLog } from '../support/log.ts'
import { iterate, take, until } from './support.ts'

const domain = useDomain({ settings: { retention: { logDays: 14, linesPerRevision: 100, eventDays: 90 } } })
let ctx: RequestContext
let deploymentId: string
let revisionId: string
let relay: Relay
const relays: Relay[] = []

beforeAll(() => {
  relay = relayWith({ pollEvery: 500 })
})
afterAll(() => Promise.all(relays.map((one) => one.stop())))
beforeEach(async () => {
  ctx = await domain.tenant()
  deploymentId = await gitDeployment(ctx)
  revisionId = (await ctx.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })).latestRevisionId!
})

// no holder must find deployments of earlier tests
afterEach(() => domain.core.db.deployment.updateMany({ data: { tornDownAt: new Date() } }))

function relayWith(options: Partial<RelayOptions>): Relay {
  const made = createRelay({ core: domain.core, listenUrl: domain.url, ...options })
  made.start()
  relays.push(made)
  return made
}

const path = () => ({ deployment_id: deploymentId, revision_id: revisionId })
const ofRevision = async (query: object = {}, resume?: string) =>
  followLogs(ctx, { raw: { path: path(), query: { type: 'build', ...query } }, resume })
const follow = async (query: object = {}, resume?: string, by = relay) =>
  iterate(await streamLog(ctx, by, await ofRevision(query, resume)))
const followAll = async (query: object = {}) =>
  iterate(
    await streamLog(
      ctx,
      relay,
      await followDeploymentLogs(ctx, { raw: { path: path(), query: { type: 'deploy', ...query } } }),
    ),
  )

const line = (message: string, of = {}) => ({
  revisionId,
  attempt: 1,
  type: 'build' as const,
  message,
  time: new Date(),
  ...of,
})
const print = (messages: readonly string[], of = {}) =>
  writeLog(
    domain.core,
    messages.map((message) => line(message, of)),
  )
const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `${from + i}`)
const texts = (lines: Line[]) => lines.map(({ message }) => message)
const next = async (stream: AsyncIterator<Line>, count: number) => texts(await take(stream, count))
/** The remaining lines until the stream completes. */
async function rest(stream: AsyncIterator<Line>): Promise<string[]> {
  return texts(await take(stream, Number.POSITIVE_INFINITY))
}

describe('A followed log begins', () => {
  test('at the oldest line by default, followed by new lines from any call', async () => {
    await print(['a', 'b'])
    const stream = await follow()
    expect(await next(stream, 2)).toEqual(['a', 'b'])
    await print(['c'])
    await print(['d', 'e'])
    expect(await next(stream, 3)).toEqual(['c', 'd', 'e'])
    await stream.return!()
  })

  test('after a cursor, with the newest lines, or with new ones; a returning reader continues after its last line', async () => {
    await print(numbered(300))
    const begun = await follow()
    const [, second] = await take(begun, 2)
    await begun.return!()
    const streams = {
      cursor: await follow({ offset: logOffset(second!) }),
      last: await follow({ last: 2 }),
      filteredLast: await follow({ last: 2, query: '29' }),
      moreThanThereAre: await follow({ last: 1000 }),
      none: await follow({ last: 0 }),
      back: await follow({ last: 2 }, logOffset(second!)),
    }
    await print(['new 29'])
    expect(await next(streams.cursor, 299)).toEqual([...numbered(298, 2), 'new 29'])
    expect(await next(streams.last, 3)).toEqual(['298', '299', 'new 29'])
    expect(await next(streams.filteredLast, 3)).toEqual(['298', '299', 'new 29'])
    expect(await next(streams.moreThanThereAre, 301)).toHaveLength(301)
    expect(await next(streams.none, 1)).toEqual(['new 29'])
    expect(await next(streams.back, 1)).toEqual(['2'])
    for (const stream of Object.values(streams)) await stream.return!()
  })

  test('never at a cursor beyond the last line, because that would skip lines', async () => {
    const ahead = logOffset({ id: 10n ** 12n })
    await expect(follow({ offset: ahead })).rejects.toMatchObject({ violations: [{ type: 'cursor_invalid' }] })
  })
})

test('filters apply to past and new lines', async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const some = () =>
    writeLog(domain.core, [
      line('early Äpfel', { time: at(1), level: 'error' }),
      line('late äpfel', { time: at(3), level: 'error' }),
      line('late', { time: at(3), level: 'error' }),
      line('late ÄPFEL', { time: at(3), level: 'debug' }),
    ])
  await some()
  const streams = [
    await follow({ level: 'warning' }),
    await follow({ query: 'äPFEL' }),
    await follow({ start_time: at(2).toISOString(), level: 'error' }),
    await follow({ type: 'deploy' }),
  ]
  await some()
  await print(['last Äpfel'], { level: 'critical' })
  await print(['other'], { type: 'deploy' })
  const [level, text, time, type] = streams
  expect(await next(level!, 7)).toEqual([
    'early Äpfel',
    'late äpfel',
    'late',
    'early Äpfel',
    'late äpfel',
    'late',
    'last Äpfel',
  ])
  expect(await next(text!, 7)).toEqual([
    'early Äpfel',
    'late äpfel',
    'late ÄPFEL',
    'early Äpfel',
    'late äpfel',
    'late ÄPFEL',
    'last Äpfel',
  ])
  expect(await next(time!, 5)).toEqual(['late äpfel', 'late', 'late äpfel', 'late', 'last Äpfel'])
  expect(await next(type!, 1)).toEqual(['other'])
  for (const stream of streams) await stream.return!()
})

test('a line written early and committed late arrives in its place, although others were written in between', async () => {
  const stream = await follow()
  let commit = () => {}
  const held = new Promise<void>((resolve) => {
    commit = resolve
  })
  let written = () => {}
  const early = new Promise<void>((resolve) => {
    written = resolve
  })
  const slow = domain.core.db.$transaction(async (sql) => {
    await writeLog({ db: sql as typeof domain.core.db }, [line('early')])
    written()
    await held
  })
  await early
  const fast = [print(['late']), print(['later'])]
  const waiting = async () =>
    (await ctx.db.$queryRaw<unknown[]>`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).length
  await until(async () => (await waiting()) === 2)
  commit()
  await Promise.all([slow, ...fast])
  const seen = await next(stream, 3)
  expect(seen[0]).toBe('early')
  expect(seen.slice(1).sort()).toEqual(['late', 'later'])
  await stream.return!()
})

test('the log of a deployment has the lines of all its revisions, in order', async () => {
  const other = await ctx.db.revision.create({ data: { deploymentId, number: 2, rollout: 2, source: 'gitprovider' } })
  const stream = await followAll()
  const one = await follow({ type: 'deploy' })
  await print(['a'], { type: 'deploy' })
  await print(['b'], { type: 'deploy', revisionId: other.id })
  await print(['c'], { type: 'deploy' })
  expect(await next(stream, 3)).toEqual(['a', 'b', 'c'])
  expect(await next(one, 2)).toEqual(['a', 'c'])
  await stream.return!()
  await one.return!()
})

describe('A followed log ends', () => {
  test('when the build has ended and its last line was sent; immediately if that was before', async () => {
    const stream = await follow()
    const claim = await claimOne(domain.plane, deploymentId)
    const { assignment } = await succeed(domain.plane, claim, claim.step!)
    expect(assignment.step!.kind).toBe('BUILD')
    await print(['building'])
    expect(await next(stream, 1)).toEqual(['building'])
    await print(['built'])
    await succeed(domain.plane, claim, assignment.step!)
    expect(await rest(stream)).toEqual(['built'])
    expect(await rest(await follow())).toEqual(['building', 'built'])
    expect(await rest(await follow({ last: 1 }))).toEqual(['built'])
    expect(await rest(await follow({ last: 0 }))).toEqual([])
    await domain.plane.release(claim)
  })

  test('after an interrupted build when its holder has stopped, because it prints until then', async () => {
    const stream = await follow()
    const claim = await claimOne(domain.plane, deploymentId)
    const { assignment } = await succeed(domain.plane, claim, claim.step!)
    await interruptRevision(ctx, { path: path() })
    expect(await readLogStates(ctx.db, [{ deploymentId, revisionId, type: 'build' }])).toMatchObject([{ over: false }])
    await print(['stopping'])
    const { claimId, token } = claim
    await domain.plane.complete({ claimId, token, stepId: assignment.step!.id, outcome: 'stopped' })
    expect(await rest(stream)).toEqual(['stopping'])
    await domain.plane.release(claim)
  })

  test('after the build of a redeploy that builds again', async () => {
    const claim = await claimOne(domain.plane, deploymentId)
    await workOff(domain.plane, claim)
    await print(['first'])
    await ctx.db.revision.update({ where: { id: revisionId }, data: { artifact: null } })
    await redeployRevision(ctx, { path: path() })
    const stream = await follow()
    await print(['second'], { attempt: 2 })
    expect(await next(stream, 2)).toEqual(['first', 'second'])
    await domain.plane.release(claim)
    await settle(domain.plane)
    expect(await rest(stream)).toEqual([])
  })

  test('of an agent or a deployment, when the deployment is gone', async () => {
    const streams = [await follow({ type: 'deploy' }), await followAll(), await followAll({ type: 'build' })]
    await settle(domain.plane)
    await print(['serving'], { type: 'deploy' })
    await deleteDeployment(ctx, { path: path() })
    await settle(domain.plane)
    expect(await Promise.all(streams.map(rest))).toEqual([['serving'], ['serving'], []])
    await expect(follow()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('when the server stops, with the cursor to continue from on another', async () => {
    const stopping = relayWith({})
    const stream = await follow({}, undefined, stopping)
    await print(['a'])
    const [got] = await take(stream, 1)
    await stopping.stop()
    const error = await stream.next().then(
      () => null,
      (thrown) => thrown,
    )
    expect(error).toMatchObject({ code: 'UNAVAILABLE', cursor: logOffset(got!) })
    await print(['b'])
    const again = await follow({}, error.cursor)
    expect(await next(again, 1)).toEqual(['b'])
    await again.return!()
  })
})

test('removed lines that were not read yet are replaced by one line that says so; readers that have them get none', async () => {
  await print(numbered(150))
  const begun = await follow()
  const [first] = await take(begun, 1)
  await begun.return!()
  await createRetention(domain.core)(new AbortController().signal)
  const removed = '… older lines were removed'
  const stream = await follow({ query: '149', level: 'info' }, logOffset(first!))
  expect(await next(stream, 2)).toEqual([removed, '149'])
  await print(numbered(100, 150))
  await createRetention(domain.core)(new AbortController().signal)
  await print(['again 149'])
  expect(await next(stream, 1)).toEqual(['again 149'])
  await stream.return!()
})

test('lines of a holder arrive by NOTIFY, without a poll', async () => {
  const patient = relayWith({ pollEvery: 3_600_000 })
  const stream = await follow({}, undefined, patient)
  const { claimId, token } = await claimOne(domain.plane, deploymentId)
  const entry = { type: 'build' as const, message: 'a', time: new Date() }
  await domain.plane.logs({ claimId, token, revisionId, attempt: 1, entries: [entry] })
  expect(await next(stream, 1)).toEqual(['a'])
  await stream.return!()
})

test('without any NOTIFY lines arrive by polling', async () => {
  const deaf = relayWith({ listenUrl: inject('postgres').url, pollEvery: 20 })
  const stream = await follow({}, undefined, deaf)
  await print(['a'])
  expect(await next(stream, 1)).toEqual(['a'])
  await stream.return!()
})

test('broken database connections lose no line', async () => {
  const stream = await follow()
  await print(['a'])
  expect(await next(stream, 1)).toEqual(['a'])
  await asAdmin(domain.url, (admin) =>
    admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    ),
  )
  const printed = (message: string) =>
    until(() =>
      print([message]).then(
        () => true,
        () => false,
      ),
    )
  await printed('b')
  await printed('c')
  expect(await next(stream, 2)).toEqual(['b', 'c'])
  await stream.return!()
})

/** As JSON, for outlets. */
const JSON_FORM: Rendering = {
  key: 'json',
  render: async (lines) => lines.map((line) => JSON.stringify((line as Line).message)),
}

/** An outlet whose client reads only when the test says so. */
class SlowOutlet implements Outlet {
  readonly got: string[] = []
  ending: Ending | null = null
  taking: boolean
  #drained: (() => void)[] = []
  constructor(taking: boolean) {
    this.taking = taking
  }
  get full() {
    return !this.taking
  }
  drained() {
    return new Promise<void>((resolve) => this.#drained.push(resolve))
  }
  take() {
    this.taking = true
    for (const resolve of this.#drained.splice(0)) resolve()
  }
  send(batch: Batch) {
    for (const { text } of batch.frames) this.got.push(JSON.parse(text))
  }
  end(how: Ending) {
    this.ending = how
  }
  onGone() {}
}

test('a slow reader is neither cut off nor delays others, and gets everything when it reads again', async () => {
  const small = relayWith({ capacity: 50 })
  const open = async (outlet: SlowOutlet) => {
    const stream = await streamLog(ctx, small, await ofRevision())
    return stream.open(JSON_FORM, outlet)
  }
  const slow = new SlowOutlet(true)
  const quick = new SlowOutlet(true)
  const ends = [await open(slow), await open(quick)]
  await print(['first'])
  await until(() => slow.got.length === 1 && quick.got.length === 1)
  slow.taking = false
  for (let from = 0; from < 1000; from += 100) await print(numbered(100, from))
  await until(() => quick.got.length === 1001)
  expect(slow.got.length).toBe(1)
  slow.take()
  await until(() => slow.got.length === 1001)
  expect(slow.got).toEqual(['first', ...numbered(1000)])
  expect(quick.got).toEqual(slow.got)
  expect([slow.ending, quick.ending]).toEqual([null, null])
  for (const end of ends) end(new Error('over'))
})

test('appended lines are read by one statement for any number of followers; beginning costs two', async () => {
  const polls = relayWith({ pollEvery: 3_600_000 })
  // the revision; the end of the log
  const begun = await countStatements(domain.database, async () =>
    (await streamLog(ctx, polls, await ofRevision())).close(),
  )
  expect(begun).toHaveLength(2)
  const streams = await Promise.all(Array.from({ length: 10 }, () => follow({}, undefined, polls)))
  await print(['a'])
  expect(await Promise.all(streams.map((stream) => next(stream, 1)))).toEqual(streams.map(() => ['a']))
  const statements = await countStatements(domain.database, async () => {
    await print(['b', 'c'])
    expect(await Promise.all(streams.map((stream) => next(stream, 2)))).toEqual(streams.map(() => ['b', 'c']))
  })
  expect(statements).toHaveLength(2)
  for (const stream of streams) await stream.return!()
})
