/** Restarts on the process runtime, with real agents under load: no request fails, and each restart happens once. */
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import type { LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'
import {
  alive,
  buildOn,
  claimOf,
  deployOn,
  eventually,
  killSupervisor,
  memoryLog,
  openTestMachine,
  runOf,
  type TestMachine,
} from './support.ts'

let place: TestMachine
let gates: string
beforeAll(async () => {
  place = await openTestMachine()
  gates = fs.mkdtempSync(path.join(place.options.dataDir, 'gates-'))
  fs.chmodSync(gates, 0o755)
})
afterAll(() => place.close())

const [FIRST, SECOND] = ['2026-11-24T18:00:00.001Z', '2026-11-24T18:00:00.002Z']

/** Answers with its pid, slowly at /slow. Waits to start while `closed` exists, and ends while `broken` does. */
const server = (gate: string) => `
import http from 'node:http'
import fs from 'node:fs'
if (fs.existsSync('${gate}.broken')) { console.log('it is broken'); process.exit(3) }
while (fs.existsSync('${gate}.closed')) await new Promise((go) => setTimeout(go, 20))
http.createServer((req, res) => {
  const answer = () => res.end(String(process.pid))
  if (req.url === '/slow') { res.flushHeaders(); setTimeout(answer, 1000) } else answer()
}).listen(process.env.PORT, '127.0.0.1')
`

async function serving(claim = claimOf()) {
  const gate = path.join(gates, claim.deployment.id)
  const revision = await buildOn(place, claim, { 'server.mjs': server(gate) })
  const url = await deployOn(place, claim, revision)
  const log = memoryLog()
  const restart = (restartedAt: string, runtime = place.runtime, holder: LeasedClaim = claim) =>
    runtime.ensure(holder, { ...runOf(revision), restartedAt }, log)
  return { claim, revision, url, log, restart, gate, before: await pidOf(url) }
}

const pidOf = async (url: string, agent?: http.Agent) => {
  const [answer] = (await once(http.get(url, { agent }), 'response')) as [http.IncomingMessage]
  const chunks = await answer.toArray()
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`)
  return Number(Buffer.concat(chunks).toString())
}
const health = ({ deployment }: LeasedClaim, runtime = place.runtime) => runtime.health(deployment.id)
const done = (claim: LeasedClaim, restartedAt: string, runtime = place.runtime) =>
  expect.poll(() => health(claim, runtime)?.restartedAt, { timeout: 15_000 }).toBe(restartedAt)

test('a restart replaces the agent without a failed request, and open requests end at the old one', async () => {
  const { claim, url, log, restart, before } = await serving()
  const failures: unknown[] = []
  const pids = new Set<number>()
  let over = false
  const agent = new http.Agent({ keepAlive: true })
  const load = Array.from({ length: 4 }, async () => {
    while (!over)
      await pidOf(url, agent).then(
        (pid) => pids.add(pid),
        (error) => failures.push(error),
      )
  })
  const slow = pidOf(`${url}/slow`)
  expect(health(claim)).not.toHaveProperty('restartedAt')
  restart(FIRST)
  await done(claim, FIRST)
  const after = await pidOf(url)
  over = true
  await Promise.all(load)
  agent.destroy()
  expect(failures).toEqual([])
  expect(after).not.toBe(before)
  expect([...pids].sort()).toEqual([before, after].sort())
  expect(await slow).toBe(before)
  expect(await eventually(() => !alive(before))).toBe(true)
  await expect
    .poll(() => health(claim))
    .toEqual({ ready: 1, desired: 1, message: null, reason: null, restartedAt: FIRST })
  expect(log.lines).toEqual([
    'Restarting: the present agent serves until the new one is ready',
    'The agent was restarted',
  ])
})

test('each restart happens once, also after the end of the supervisor or the server', async () => {
  const { claim, url, restart } = await serving()
  restart(FIRST)
  await done(claim, FIRST)
  const first = await pidOf(url)
  restart(FIRST)
  const next = createProcessRuntime(place.options)
  const newer = claimOf({ ...claim, token: '2' })
  restart(FIRST, next, newer)
  await done(newer, FIRST, next)
  expect(await pidOf(url)).toBe(first)
  restart(SECOND, next, newer)
  await done(newer, SECOND, next)
  const second = await pidOf(url)
  expect(second).not.toBe(first)
  await killSupervisor(place, claim)
  const another = () => pidOf(url).then((pid) => pid !== second && pid > 0)
  expect(await eventually(() => another().catch(() => false), 30_000)).toBe(true)
  await done(newer, SECOND, next)
  await next.close()
})

test('the next server finishes the restart of a server that ended meanwhile', async () => {
  const { claim, url, log, restart, gate, before } = await serving()
  const ending = createProcessRuntime(place.options)
  fs.writeFileSync(`${gate}.closed`, '')
  restart(FIRST, ending, claimOf({ ...claim, token: '2' }))
  await log.seen(/^Restarting/)
  await ending.close()
  const newer = claimOf({ ...claim, token: '3' })
  const next = createProcessRuntime(place.options)
  restart(FIRST, next, newer)
  await expect.poll(() => health(newer, next)?.ready).toBe(1)
  expect([await pidOf(url), health(newer, next)?.restartedAt]).toEqual([before, undefined])
  fs.rmSync(`${gate}.closed`)
  await done(newer, FIRST, next)
  expect(await pidOf(url)).not.toBe(before)
  await next.close()
})

test('an agent that does not start again keeps serving, and the health says why until it does', async () => {
  const { claim, url, restart, gate, before } = await serving()
  fs.writeFileSync(`${gate}.broken`, '')
  restart(FIRST)
  await expect
    .poll(() => health(claim)?.message, { timeout: 15_000 })
    .toMatch(/^The restart failed and is tried again: .*exit(ed)?/i)
  expect(health(claim)).toMatchObject({ ready: 1, reason: expect.any(String) })
  expect([await pidOf(url), health(claim)?.restartedAt]).toEqual([before, undefined])
  fs.rmSync(`${gate}.broken`)
  await done(claim, FIRST)
  expect(health(claim)).toMatchObject({ ready: 1, message: null })
})

test('two restarts in a row end with an agent of the second', async () => {
  const { claim, url, log, restart, gate, before } = await serving()
  fs.writeFileSync(`${gate}.closed`, '')
  restart(FIRST)
  await log.seen(/^Restarting/)
  restart(SECOND)
  fs.rmSync(`${gate}.closed`)
  await done(claim, SECOND)
  expect(await pidOf(url)).not.toBe(before)
})

test('a deploy that begins during a restart replaces it', async () => {
  const { claim, url, log, restart, gate } = await serving()
  fs.writeFileSync(`${gate}.closed`, '')
  restart(FIRST)
  await log.seen(/^Restarting/)
  const next = await buildOn(place, claim, { 'server.mjs': server(`${gate}.next`) })
  await deployOn(place, claim, next)
  place.runtime.ensure(claim, runOf(next), log)
  const pid = await pidOf(url)
  await expect.poll(() => health(claim)).toEqual({ ready: 1, desired: 1, message: null, reason: null })
  fs.rmSync(`${gate}.closed`)
  expect(await pidOf(url)).toBe(pid)
})

test('a failed deploy during a restart leaves the restart due', async () => {
  const { claim, url, log, restart, gate, before, revision } = await serving()
  fs.writeFileSync(`${gate}.closed`, '')
  restart(FIRST)
  await log.seen(/^Restarting/)
  const redeployed: RevisionWork = { ...(await buildOn(place, claim, { 'server.mjs': server(`${gate}.next`) })) }
  await deployOn(place, claim, redeployed, memoryLog(), async () => false)
  expect(await pidOf(url)).toBe(before)
  fs.rmSync(`${gate}.closed`)
  place.runtime.ensure(claim, { ...runOf({ ...revision }), restartedAt: FIRST }, log)
  await done(claim, FIRST)
  expect(await pidOf(url)).not.toBe(before)
})
