// Agents that sleep when they get no requests: real agents, supervisors and a real door. A minute is short here.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { WebSocket } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccessSource } from '../../src/dataplane/process/door/server-link.ts'
import { updateDoor } from '../../src/dataplane/process/door/start-door.ts'
import type { ProcessRuntimeOptions } from '../../src/dataplane/process/machine/machine.ts'
import { doorFolder, programFile } from '../../src/dataplane/process/machine/programs.ts'
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import { supervisorFiles } from '../../src/dataplane/process/supervisor-client/supervisor-files.ts'
import type { LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import type { RevisionWork, Run } from '../../src/domain/protocol/protocol.ts'
import {
  ALL_PUBLIC,
  alive,
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

/** Answers with its pid, at /stream without end. /run begins a run in the background. Accepts WebSockets. */
const SERVER = `
import { createHash } from 'node:crypto'
import http from 'node:http'
const work = () => setImmediate(work)
const server = http.createServer((req, res) => {
  if (req.url === '/stream') return res.write('begun')
  if (req.url === '/run') work()
  res.end(String(process.pid))
})
server.on('upgrade', (req, socket) => {
  const accept = createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11')
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  socket.write([...head, 'Sec-WebSocket-Accept: ' + accept.digest('base64'), '', ''].join('\\r\\n'))
  socket.on('data', () => socket.end())
})
server.listen(process.env.PORT, '127.0.0.1')
`
const MINUTE_MS = 400

let place: TestMachine
/** The agent of most tests. Its server runs before and after each test. */
let shared: Sleepy
beforeAll(async () => {
  const bounds = { requestsPerSecond: null, clientRequestsPerSecond: null, bodyBytes: null, headerMs: 60_000 }
  place = await openTestMachine({
    access: ALL_PUBLIC,
    idle: { minutes: 1, minuteMs: MINUTE_MS },
    bounds: { requests: 60, idleMs: null, trustProxy: [], ...bounds },
  })
  shared = await deploySleepy()
})
afterAll(() => place.close())

interface Sleepy {
  claim: LeasedClaim
  id: string
  run: Run
  url: string
}

const sleepyRun = (revision: RevisionWork): Run => ({
  ...runOf(revision),
  spec: { min_scale: 0 } as Run['spec'],
})

async function deploySleepy(): Promise<Sleepy> {
  const addressName = `sleepy-${randomUUID().slice(0, 8)}`
  const claim = claimOf()
  claim.deployment.addressName = addressName
  const revision = await buildOn(place, claim, { 'server.mjs': SERVER })
  const at = await deployOn(place, claim, revision)
  const run = sleepyRun(revision)
  place.runtime.ensure(claim, run, memoryLog())
  return { claim, id: claim.deployment.id, run, url: `http://127.0.0.1:${new URL(at).port}/~${addressName}` }
}

const asleep = async ({ id }: Sleepy) =>
  expect(await eventually(() => place.runtime.idle!(id) && !supervisorOf(id))).toBe(true)

async function sleeping(sleepy = shared): Promise<Sleepy & { pid: number }> {
  const pid = await pidOf(sleepy)
  await asleep(sleepy)
  return { ...sleepy, pid }
}

const pidOf = async ({ url }: Sleepy) => Number(await (await fetch(url)).text())
/** Calls it until it answers. */
const answered = async ({ url }: Sleepy) =>
  expect(
    await eventually(() =>
      fetch(url)
        .then(({ ok }) => ok)
        .catch(() => false),
    ),
  ).toBe(true)
const pidIn = (lock: string) => (fs.existsSync(lock) ? Number.parseInt(fs.readFileSync(lock, 'utf8'), 10) : null)
const supervisorOf = (id: string) => pidIn(supervisorFiles(place.options.dataDir, id).lock)
const doorPid = () => pidIn(path.join(doorFolder(place.options.dataDir), 'lock'))!

async function killDoor(): Promise<void> {
  const pid = doorPid()
  process.kill(pid, 'SIGKILL')
  await eventually(() => !alive(pid))
}

const programOf = async () => ({
  node: process.execPath,
  file: await programFile(place.options.dataDir, 'door'),
  folder: doorFolder(place.options.dataDir),
  account: null,
})

const remove = ({ claim }: Sleepy) => place.runtime.teardown(claim, stepOf('TEARDOWN', null), never)

/** The server ends, and its agents and the door stay. */
const endServer = () => place.runtime.close()

function startServer({ claim, run }: Sleepy, changes: Partial<ProcessRuntimeOptions> = {}): void {
  place.runtime = createProcessRuntime({ ...place.options, ...changes })
  place.runtime.ensure(claim, run, memoryLog())
}

test('an agent without requests ends with its supervisor, and the next request starts it again', async () => {
  const { pid, ...sleepy } = await sleeping()
  expect(alive(pid)).toBe(false)
  expect(place.runtime.health(sleepy.id)).toEqual({ ready: 0, desired: 0, reason: null, message: null })
  const next = await pidOf(sleepy)
  expect(alive(next)).toBe(true)
  expect(place.runtime.idle!(sleepy.id)).toBe(false)
  await asleep(sleepy)
  expect(alive(next)).toBe(false)
})

test('50 requests to a sleeping agent start it once, and all are answered', async () => {
  const sleepy = await sleeping()
  const pids = await Promise.all(Array.from({ length: 50 }, () => pidOf(sleepy)))
  expect(new Set(pids).size).toBe(1)
  expect(alive(pids[0]!)).toBe(true)
})

test('a stream keeps an agent awake until it ends', async () => {
  const sleepy = shared
  const request = http.get(`${sleepy.url}/stream`)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  await once(response, 'data')
  // several times the time without requests
  expect(await eventually(() => place.runtime.idle!(sleepy.id), 4 * MINUTE_MS)).toBe(false)
  request.destroy()
  await asleep(sleepy)
})

test('a WebSocket wakes an agent, and keeps it awake until it closes', async () => {
  const sleepy = shared
  await asleep(sleepy)
  const socket = new WebSocket(sleepy.url.replace('http', 'ws'))
  await once(socket, 'open')
  expect(await eventually(() => place.runtime.idle!(sleepy.id), 4 * MINUTE_MS)).toBe(false)
  socket.close()
  await asleep(sleepy)
})

test('an agent sleeps a time after a run in the background last used the CPU, not after its last request', async () => {
  const { id, claim, run, url } = shared
  // no sleep until the use of the CPU was measured, on a slow machine either
  place.runtime.ensure(claim, { ...run, idleMinutes: 10_000 }, memoryLog())
  await fetch(`${url}/run`)
  const requestedAt = performance.now()
  let busyAt = 0
  for (let isBusy = false; !isBusy || performance.now() < requestedAt + 2 * MINUTE_MS; ) {
    const before = busyAt
    busyAt = performance.now()
    const used = (await place.runtime.measure!()).find(({ deploymentId }) => deploymentId === id)?.measures.cpu_seconds
    isBusy = (used ?? 0) * 1000 > 0.05 * (performance.now() - before)
  }
  place.runtime.ensure(claim, run, memoryLog())
  await eventually(() => place.runtime.idle!(id))
  expect(performance.now() - busyAt).toBeGreaterThan(MINUTE_MS)
  await asleep(shared)
})

test('a restarted server does not start agents that are asleep', async () => {
  const sleepy = await sleeping()
  await endServer()
  startServer(sleepy)
  await asleep(sleepy)
  expect(await pidOf(sleepy)).toBeGreaterThan(0)
})

test('a request to a sleeping agent waits for a server that restarts', async () => {
  const sleepy = await sleeping()
  await endServer()
  const answer = pidOf(sleepy)
  await eventually(() => false, 300)
  startServer(sleepy)
  expect(alive(await answer)).toBe(true)
})

test('a request to a sleeping agent is answered after the door was killed', async () => {
  const sleepy = await sleeping()
  await killDoor()
  await answered(sleepy)
  expect(alive(await pidOf(sleepy))).toBe(true)
})

test('a door that was killed while no server ran still knows who is asleep', async () => {
  const sleepy = await sleeping()
  const other = await deploySleepy()
  await endServer()
  await killDoor()
  // the other agent's supervisor starts the door
  await answered(other)
  const answer = pidOf(sleepy)
  startServer(sleepy)
  expect(alive(await answer)).toBe(true)
  await remove(other)
})

test('a deploy of a sleeping agent wakes it, and it sleeps again', async () => {
  const sleepy = await sleeping(await deploySleepy())
  const revision = await buildOn(place, sleepy.claim, { 'server.mjs': SERVER.replace('String(process.pid)', '"new"') })
  await deployOn(place, sleepy.claim, revision)
  place.runtime.ensure(sleepy.claim, sleepyRun(revision), memoryLog())
  expect(await (await fetch(sleepy.url)).text()).toBe('new')
  await asleep(sleepy)
  expect(await (await fetch(sleepy.url)).text()).toBe('new')
  await remove(sleepy)
})

test('an agent that may no longer sleep is started', async () => {
  const sleepy = await sleeping()
  place.runtime.ensure(sleepy.claim, runOf(sleepy.run.revision), memoryLog())
  expect(await eventually(() => place.runtime.health(sleepy.id)?.ready === 1)).toBe(true)
  expect(await pidOf(sleepy)).toBeGreaterThan(0)
  place.runtime.ensure(sleepy.claim, sleepy.run, memoryLog())
})

test('a deleted deployment that was asleep has no address any more', async () => {
  const sleepy = await sleeping(await deploySleepy())
  await remove(sleepy)
  // as for any unknown name
  expect((await fetch(sleepy.url)).status).toBe(401)
  expect(fs.readFileSync(path.join(doorFolder(place.options.dataDir), 'asleep.json'), 'utf8')).not.toContain(sleepy.id)
})

test('a stranger cannot wake an agent that is not public', async () => {
  const sleepy = await sleeping()
  await endServer()
  const closed: AccessSource = {
    ...ALL_PUBLIC,
    async read(known) {
      const { hash, copy } = await ALL_PUBLIC.read(known)
      const deployments = copy!.deployments.map((one) => ({ ...one, access: 'workspace' as const }))
      return { hash: `closed ${hash}`, copy: { ...copy!, deployments } }
    },
  }
  startServer(sleepy, { access: closed })
  await place.runtime.tellDoor()
  expect((await fetch(sleepy.url)).status).toBe(401)
  expect(await eventually(() => place.runtime.idle!(sleepy.id) === false, 500)).toBe(false)
  await endServer()
  startServer(sleepy)
  await place.runtime.tellDoor()
})

test('a request that waits too long for a sleeping agent gets a reason', async () => {
  const sleepy = shared
  await endServer()
  startServer(sleepy, { idle: { minutes: 1, minuteMs: MINUTE_MS, wakeMs: 200 } })
  await sleeping()
  await endServer()
  const answer = await fetch(sleepy.url)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
  expect(await answer.text()).toContain('was asleep')
  startServer(sleepy)
  await answered(sleepy)
})

test('waiting requests count for the limit of open requests', async () => {
  const sleepy = await sleeping()
  await endServer()
  const waiting = new AbortController()
  const { signal } = waiting
  const all = Array.from({ length: 60 }, () => fetch(sleepy.url, { signal }).catch(() => null))
  await eventually(() => false, 300)
  const refused = await fetch(sleepy.url)
  expect(refused.status).toBe(503)
  expect(await refused.text()).toContain('too many open requests')
  waiting.abort()
  await Promise.all(all)
  startServer(sleepy)
})

// the last one, because the door stays another version
test('a door of another version takes over with the sleeping agents', async () => {
  const sleepy = await sleeping()
  const program = { ...(await programOf()), file: path.join(place.options.dataDir, 'newer.mjs') }
  fs.writeFileSync(program.file, `${fs.readFileSync((await programOf()).file, 'utf8')}\n// newer\n`)
  const before = doorPid()
  await updateDoor(program)
  expect(doorPid()).not.toBe(before)
  // not a connection to the door before
  const [answer] = (await once(http.get(sleepy.url, { agent: false }), 'response')) as [http.IncomingMessage]
  expect(answer.resume().statusCode).toBe(200)
})
