// Processes that leave their process group (setsid) end with the build, agent, deployment or server that started them.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import {
  alive,
  buildOn,
  claimOf,
  deployOn,
  eventually,
  memoryLog,
  never,
  openTestMachine,
  PID_SERVER,
  revisionOf,
  stepOf,
  type TestMachine,
} from './support.ts'

/** Starts a process in a separate session that ignores SIGTERM, and prints its pid. */
const LEAVE = `
import { spawn } from 'node:child_process'
const stays = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000)"
const child = spawn(process.execPath, ['-e', stays], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
await new Promise((resolve) => child.stdout.once('data', resolve))
child.stdout.destroy()
child.unref()
console.log('left', child.pid)
`

let place: TestMachine
/** processes that Pilothouse did not start */
const others: ChildProcess[] = []
beforeAll(async () => {
  place = await openTestMachine()
})
afterEach(() => {
  for (const other of others.splice(0)) other.kill('SIGKILL')
})
afterAll(() => place.close())

const leftBy = async (log: ReturnType<typeof memoryLog>) => Number((await log.seen(/^left \d+/)).split(' ')[1])

async function running(claim: LeasedClaim): Promise<number> {
  const log = memoryLog()
  await deployOn(place, claim, await buildOn(place, claim, { 'server.mjs': `${LEAVE}${PID_SERVER}` }), log)
  return leftBy(log)
}

test('a build’s process in another session ends with the build', async () => {
  const log = memoryLog()
  const revision = revisionOf(place.repository({ 'leave.mjs': LEAVE }), { buildCommand: 'node leave.mjs' })
  await place.runtime.build(claimOf(), stepOf('BUILD', revision), log, never)
  expect(alive(await leftBy(log))).toBe(false)
})

test('a cancelled build ends its processes in other sessions, and no other process', async () => {
  // other processes may have these variables; only Pilothouse's processes have its secret tag
  const env = { ...process.env, PILOTHOUSE_DEPLOYMENT_ID: randomUUID(), PILOTHOUSE_PROCESS_GROUP: randomUUID() }
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore', env })
  others.push(other)
  await once(other, 'spawn')
  const cancel = new AbortController()
  const log = memoryLog()
  const files = { 'leave.mjs': LEAVE }
  const revision = revisionOf(place.repository(files), { buildCommand: 'node leave.mjs && sleep 60' })
  const building = place.runtime.build(claimOf(), stepOf('BUILD', revision), log, cancel.signal)
  const left = await leftBy(log)
  expect(alive(left)).toBe(true)
  cancel.abort(new Error('withdrawn'))
  await expect(building).rejects.toThrow('withdrawn')
  expect(alive(left)).toBe(false)
  expect(alive(other.pid!)).toBe(true)
})

test('an agent’s process in another session ends when the agent is replaced, and when the deployment is deleted', async () => {
  const claim = claimOf()
  const first = await running(claim)
  expect(alive(first)).toBe(true)
  const second = await running(claim)
  expect(await eventually(() => !alive(first), 25_000)).toBe(true)
  expect(alive(second)).toBe(true)
  await place.runtime.teardown(claim, stepOf('TEARDOWN', null), never)
  expect(alive(second)).toBe(false)
})

test('kill -9 of the server ends processes that left its process groups', async () => {
  const script = fileURLToPath(new URL('reaped-server.ts', import.meta.url))
  const args = [
    '--import',
    'tsx',
    script,
    process.execPath,
    '--input-type=module',
    '-e',
    `${LEAVE};setInterval(() => {}, 1000)`,
  ]
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  createInterface({ input: server.stdout }).on('line', (line) => said.push(line))
  const left = Number((await eventually(() => said.find((line) => line.startsWith('left '))))?.split(' ')[1])
  expect(alive(left)).toBe(true)
  server.kill('SIGKILL')
  expect(await eventually(() => !alive(left), 6000)).toBe(true)
})
