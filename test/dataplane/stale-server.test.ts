/**
 * Two servers on one machine. One of them has lost its claim without noticing. The supervisor refuses it at every point
 * of a switch, and only the newer claim's agents serve.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createProcessRuntime, type ProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import type { Candidate, LeasedClaim, Runtime } from '../../src/dataplane/runtimes/runtime.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'
import {
  buildOn,
  claimOf,
  deployOn,
  eventually,
  memoryLog,
  never,
  openTestMachine,
  runOf,
  stepOf,
  type TestMachine,
} from './support.ts'

const SERVER = `import fs from 'node:fs'
import http from 'node:http'
const greeting = fs.readFileSync('greeting.txt', 'utf8').trim()
http.createServer((q, s) => s.end(greeting)).listen(process.env.PORT, '127.0.0.1')`

let place: TestMachine
/** the server that has lost its claim, and the server with the newer claim */
let stale: ProcessRuntime
let holder: ProcessRuntime
let old: LeasedClaim
let newer: LeasedClaim
let url: string
/** the revision that serves at first */
let one: RevisionWork
const revisions = new Map<string, RevisionWork>()
/** answers of the stable address, in order */
let answers: string[]
let asking: Promise<void>
let over = false

beforeAll(async () => {
  place = await openTestMachine()
  const claim = claimOf()
  for (const greeting of ['one', 'two', 'three', 'four']) {
    revisions.set(greeting, await buildOn(place, claim, { 'greeting.txt': greeting, 'server.mjs': SERVER }))
  }
  // artifacts are in their deployment's folder, so all revisions belong to one
  old = claim
  one = revisions.get('one')!
  stale = place.runtime
})
beforeEach(async () => {
  const token = BigInt(newer?.token ?? '0')
  old = { ...old, token: String(token + 1n) }
  newer = { ...old, claimId: `${old.claimId}-newer`, token: String(token + 2n) }
  holder = createProcessRuntime(place.options)
  url = await deploy(stale, old, 'one')
  answers = []
  over = false
  asking = (async () => {
    while (!over) answers.push(await (await fetch(url)).text())
  })()
})
afterEach(async () => {
  await holder.close()
  await place.restart()
  stale = place.runtime
})
afterAll(() => place.close())

function prepare(runtime: Runtime, claim: LeasedClaim, greeting: string): Promise<Candidate> {
  return runtime.deploy(claim, stepOf('DEPLOY', revisions.get(greeting)!), memoryLog(), never)
}

const deploy = (runtime: ProcessRuntime, claim: LeasedClaim, greeting: string): Promise<string> =>
  deployOn({ runtime }, claim, revisions.get(greeting)!)

/** The answers without repetitions. A replaced agent must not answer again. */
async function served(): Promise<string[]> {
  over = true
  await asking
  return answers.filter((answer, i) => answer !== answers[i - 1])
}

const serves = async (greeting: string) => (await (await fetch(url)).text()) === greeting

/** The supervisor refuses all requests of the stale server, and nothing changes. */
async function refused(): Promise<void> {
  await expect(prepare(stale, old, 'four')).rejects.toThrow()
  stale.ensure(old, runOf(revisions.get('two')!), memoryLog())
  stale.ensure(old, null, null)
  await expect(stale.teardown(old, stepOf('TEARDOWN', null), never)).rejects.toThrow()
  expect(await serves('three')).toBe(true)
}

test('a stale server that has not held requests yet loses its candidate, and the newer claim’s candidate serves', async () => {
  const candidate = await prepare(stale, old, 'two')
  await deploy(holder, newer, 'three')
  let recorded = false
  const committed = candidate.commit(async () => {
    recorded = true
    return true
  })
  await committed.catch(() => undefined)
  expect(recorded).toBe(false)
  await refused()
  expect(await served()).toEqual(['one', 'three'])
})

test.each([
  ['learns that it has lost its claim', false],
  ['has recorded the switch', true],
])('requests held by a stale server that %s go to the newer claim’s agent', async (_when, recorded) => {
  const candidate = await prepare(stale, old, 'two')
  const committed = candidate.commit(async () => {
    await deploy(holder, newer, 'three')
    return recorded
  })
  await committed.catch(() => undefined)
  await refused()
  expect(await served()).toEqual(['one', 'three'])
})

test('after a stale server’s switch, only the newer claim decides which agent serves', async () => {
  await deploy(stale, old, 'two')
  await eventually(() => serves('two'))
  await deploy(holder, newer, 'three')
  await refused()
  expect(await served()).toEqual(['one', 'two', 'three'])
})

test('a server that takes over keeps the serving agent, and ends the other server’s candidate', async () => {
  const candidate = await prepare(stale, old, 'two')
  // the newer holder knows of no switch, so the serving agent stays and the candidate ends
  holder.ensure(newer, runOf(one), memoryLog())
  await eventually(() => holder.health(newer.deployment.id)?.ready === 1)
  await candidate.commit(async () => true).catch(() => undefined)
  expect(await serves('one')).toBe(true)
  expect(await served()).toEqual(['one'])
})
