// A server with supervisors that die, hang, obey a newer server, speak another protocol version or have a deleted
// deployment.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import {
  makeSupervisorFolder,
  supervisorFiles,
} from '../../src/dataplane/process/supervisor-client/supervisor-files.ts'
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
  PID_SERVER,
  runOf,
  type TestMachine,
} from './support.ts'

let place: TestMachine
beforeAll(async () => {
  place = await openTestMachine()
})
afterAll(() => place.close())

const built = (claim: LeasedClaim) => buildOn(place, claim, { 'server.mjs': PID_SERVER })
const deploy = (claim: LeasedClaim, revision: RevisionWork, machine = place) => deployOn(machine, claim, revision)
const pidOf = async (url: string) => Number(await (await fetch(url)).text())

test('a killed supervisor is restarted with its agent', async () => {
  const claim = claimOf()
  const url = await deploy(claim, await built(claim))
  const before = await pidOf(url)
  await killSupervisor(place, claim)
  // the old agent may answer for a moment
  const another = () => pidOf(url).then((pid) => pid !== before && pid > 0)
  expect(await eventually(() => another().catch(() => false), 30_000)).toBe(true)
  expect(alive(before)).toBe(false)
})

test('after a reboot a few agents start at a time, most recently used first, and the others report their place', async () => {
  const own = await openTestMachine({ maxStarts: 1 })
  try {
    const gate = path.join(own.options.dataDir, 'gate')
    const slow = `import fs from 'node:fs'\nwhile (fs.existsSync('${gate}')) await new Promise((go) => setTimeout(go, 20))\n${PID_SERVER}`
    const claims = [claimOf(), claimOf(), claimOf()]
    const runs = []
    for (const [at, claim] of claims.entries()) {
      const revision = await buildOn(own, claim, { 'server.mjs': slow })
      runs.push(runOf(revision))
      await pidOf(await deploy(claim, revision, own))
      const { served } = supervisorFiles(own.options.dataDir, claim.deployment.id)
      await expect.poll(() => fs.existsSync(served)).toBe(true)
      // the second deployment served last, the first one before that
      const servedAt = [2, 3, 1][at]!
      fs.utimesSync(served, servedAt, servedAt)
    }
    await own.restart()
    fs.writeFileSync(gate, '')
    for (const [at, claim] of claims.entries()) own.runtime.ensure(claim, runs[at]!, memoryLog())
    const messages = () => claims.map(({ deployment: { id } }) => own.runtime.health(id)?.message)
    await expect
      .poll(messages, { timeout: 20_000 })
      .toEqual([
        'Waiting to start: 1 other agent starts first.',
        expect.stringMatching(/GET \/ok (has to answer 200|is not answered yet)/),
        'Waiting to start: 2 other agents start first.',
      ])
    expect(own.runtime.health(claims[0]!.deployment.id)).toMatchObject({ ready: 0, reason: 'WAITING_FOR_TURN' })
    fs.rmSync(gate)
    const ready = () => claims.map(({ deployment: { id } }) => own.runtime.health(id)?.ready)
    await expect.poll(ready, { timeout: 30_000 }).toEqual([1, 1, 1])
  } finally {
    await own.close()
  }
})

test('a valid claim with a token that is too low, as after a database restore, gets a higher token', async () => {
  const before = claimOf({ token: '41' })
  const revision = await built(before)
  const url = await deploy(before, revision)
  const pid = await pidOf(url)
  const other = createProcessRuntime(place.options)
  const seen: string[] = []
  const restored: LeasedClaim = {
    ...before,
    token: '7',
    raiseToken: async (newest) => {
      seen.push(newest)
      restored.token = String(BigInt(newest) + 1n)
    },
  }
  other.ensure(restored, runOf(revision), memoryLog())
  expect(await eventually(() => other.health(before.deployment.id)?.ready === 1, 30_000)).toBe(true)
  expect([seen, restored.token]).toEqual([['41'], '42'])
  expect(await pidOf(url)).toBe(pid)
  await other.close()
})

test('the agent of a deleted deployment is ended, and its last lease holder can’t start it again', async () => {
  const claim = claimOf()
  const url = await deploy(claim, await built(claim))
  const pid = await pidOf(url)
  const gone = async (ids: string[]) => ids.filter((id) => id === claim.deployment.id)
  expect(await place.runtime.endOrphans(gone)).toMatchObject([{ deploymentId: claim.deployment.id, problem: null }])
  expect(alive(pid)).toBe(false)
  expect(await eventually(() => place.runtime.health(claim.deployment.id) === undefined)).toBe(true)
  await expect(fetch(url)).rejects.toThrow()

  const { folder, fence } = supervisorFiles(place.options.dataDir, claim.deployment.id)
  await eventually(() => !fs.existsSync(path.join(folder, 'lock')))
  await place.runtime.endOrphans(gone)
  expect(fs.existsSync(fence), 'its newest token is remembered for a day').toBe(true)
  for (const file of [fence, folder]) fs.utimesSync(file, new Date(0), new Date(0))
  await place.runtime.endOrphans(gone)
  expect(fs.existsSync(folder)).toBe(false)
})

/** Answers every request with success. Returns the verbs of the requests. */
async function foreignSupervisor(claim: LeasedClaim, protocol: number): Promise<string[]> {
  const { dataDir, supervisors } = place.options
  const { socket } = makeSupervisorFolder(dataDir, claim.deployment.id, supervisors.installation)
  const asked: string[] = []
  const foreign = net.createServer((connection) => {
    createInterface({ input: connection.on('error', () => undefined) }).on('line', (line) => {
      const { verb, id } = JSON.parse(line)
      asked.push(verb)
      const answer = verb === 'hello' ? { ok: true, protocol, build: 'x', pid: 1, state: {} } : { id, ok: true }
      connection.write(`${JSON.stringify(answer)}\n`)
      if (verb === 'end') {
        foreign.close()
        fs.rmSync(socket, { force: true })
      }
    })
  })
  await new Promise<void>((resolve) => foreign.listen(socket, resolve))
  return asked
}

test('a supervisor of an unknown protocol version keeps running, the health names it, and the next deploy replaces it', async () => {
  const claim = claimOf()
  const revision = await built(claim)
  const asked = await foreignSupervisor(claim, 7)
  place.runtime.ensure(claim, runOf(revision), memoryLog())
  const health = await eventually(() => place.runtime.health(claim.deployment.id))
  expect(health).toMatchObject({ ready: 1, message: expect.stringContaining('version 7') })
  expect(asked).toEqual(['hello'])
  const url = await deploy(claim, { ...revision, attempt: 2 })
  expect(asked).toEqual(['hello', 'end'])
  expect(await pidOf(url)).toBeGreaterThan(0)
})

test('a supervisor that supports only /ok is replaced by the deploy of a revision with another health path', async () => {
  const claim = claimOf()
  const revision = await built(claim)
  const asked = await foreignSupervisor(claim, 1)
  const secrets = [{ name: 'PILOTHOUSE_HEALTH_PATH', value: '/healthz' }]
  const url = await deploy(claim, { ...revision, secrets })
  expect(asked).toContain('end')
  expect(asked).not.toContain('prepare')
  expect(await pidOf(url)).toBeGreaterThan(0)
})
