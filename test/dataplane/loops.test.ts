// The worker's two loops (claims, heartbeats) with a scripted control plane: number and time of their calls.
import { once } from 'node:events'
import net from 'node:net'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startWorker, type Worker, type WorkerOptions } from '../../src/dataplane/worker/worker.ts'
import type { Claim, ClaimRequest, ControlPlane, HeartbeatRequest } from '../../src/domain/protocol/protocol.ts'
import { sleep } from '../../src/platform/async/retry.ts'
import { claimOf, eventually, openTestMachine, type TestMachine } from './support.ts'

let place: TestMachine
let worker: Worker | null = null
beforeAll(async () => {
  place = await openTestMachine()
})
afterEach(async () => {
  await worker?.stop()
  worker = null
})
afterAll(() => place.close())

interface FakeControlPlane extends ControlPlane {
  /** deployments that can be claimed */
  free: Claim[]
  claims: ClaimRequest[]
  beats: HeartbeatRequest[]
  released: string[]
  /** heartbeats that wait now */
  waiting: number
  /** result of a waiting heartbeat that is aborted; over HTTP it rejects */
  cut: 'answers' | 'rejects'
  /** every call fails while set */
  outage: boolean
  /** Adds deployments that can be claimed. */
  add(claims: Claim[]): void
}

/** Hands out these deployments, which have no work. Waits as long as the request says. */
function fakeControlPlane(free: Claim[]): FakeControlPlane {
  const news = new EventTarget()
  const plane: FakeControlPlane = {
    free,
    claims: [],
    beats: [],
    released: [],
    waiting: 0,
    cut: 'answers',
    outage: false,
    add(claims) {
      plane.free.push(...claims)
      news.dispatchEvent(new Event('free'))
    },
    async claim(request, signal) {
      plane.claims.push(request)
      if (plane.outage) throw new Error('away')
      if (plane.free.length === 0) {
        const arrived = new Promise<void>((resolve) => {
          news.addEventListener('free', () => resolve(), { once: true })
        })
        await Promise.race([arrived, sleep((request.waitSeconds ?? 0) * 1000, signal)])
      }
      return plane.free.splice(0, request.max).map((claim) => ({ ...claim, leaseSeconds: request.leaseSeconds }))
    },
    async heartbeat(request, signal) {
      plane.beats.push(request)
      if (plane.outage) throw new Error('away')
      const wait = (request.waitSeconds ?? 0) * 1000
      if (wait > 0) {
        plane.waiting++
        await sleep(wait, signal)
        plane.waiting--
        if (signal?.aborted && plane.cut === 'rejects') throw new Error('aborted')
      }
      return request.claims.map(({ claimId }) => ({ claimId, lost: false, assignment: null }))
    },
    async logs() {},
    async complete() {
      throw new Error('there is nothing to complete')
    },
    async release({ claimId }) {
      plane.released.push(claimId)
    },
    async releaseHolder() {},
  }
  return plane
}
const deployments = (count: number) => Array.from({ length: count }, () => claimOf())

async function start(controlPlane: ControlPlane, more: Partial<WorkerOptions> = {}) {
  const log = pino({ level: 'silent' })
  worker = await startWorker({ controlPlane, runtime: place.runtime, leaseSeconds: 30, log, ...more })
  return worker
}

test('a thousand deployments need one waiting heartbeat, and no further call without news', async () => {
  const plane = fakeControlPlane(deployments(1000))
  await start(plane)
  await eventually(() => plane.waiting === 1 && plane.beats.at(-1)!.claims.length === 1000)
  const [beats, claims] = [plane.beats.length, plane.claims.length]
  expect(plane.beats.at(-1)).toMatchObject({ leaseSeconds: 30, waitSeconds: 5 })
  expect(plane.claims.at(-1)).toMatchObject({ max: 20, waitSeconds: 5 })
  // an absent call has no event to wait for
  await sleep(600)
  expect([plane.beats.length, plane.claims.length]).toEqual([beats, claims])
})

test('more than a thousand claims are split into several heartbeats', async () => {
  const plane = fakeControlPlane(deployments(1001))
  await start(plane)
  await eventually(() => plane.waiting === 2)
  expect(plane.beats.slice(-2).map(({ claims }) => claims.length)).toEqual([1000, 1])
})

test.each(['answers', 'rejects'] as const)(
  'a new claim gets a heartbeat immediately, also if the waiting heartbeat %s when it is aborted',
  async (cut) => {
    const plane = fakeControlPlane(deployments(1))
    plane.cut = cut
    await start(plane)
    await eventually(() => plane.waiting === 1)
    const before = plane.beats.length
    plane.add(deployments(1))
    await eventually(() => plane.beats.length > before)
    // this call can't be aborted, so every lease is extended even if new claims keep coming
    expect(plane.beats[before]).toMatchObject({ waitSeconds: 0, claims: [{}, {}] })
    await eventually(() => plane.waiting === 1)
    expect(plane.beats.length).toBe(before + 2)
  },
)

test('a worker claims no more than its limit, and sends its version', async () => {
  const plane = fakeControlPlane(deployments(30))
  await start(plane, { maxClaims: 25, version: '1.2.3' })
  await eventually(() => plane.beats.at(-1)?.claims.length === 25)
  expect(plane.claims.map(({ max, version }) => [max, version])).toEqual([
    [20, '1.2.3'],
    [5, '1.2.3'],
  ])
  expect(plane.free).toHaveLength(5)
})

test('a waiting worker stops immediately and releases its claims', async () => {
  const plane = fakeControlPlane(deployments(3))
  await start(plane)
  await eventually(() => plane.waiting === 1)
  const begun = performance.now()
  await worker!.stop()
  // each of the two calls would wait for 7 s
  expect(performance.now() - begun).toBeLessThan(5000)
  expect(plane.released).toHaveLength(3)
})

test('both loops retry with pauses while the control plane is unavailable, and then continue', async () => {
  const plane = fakeControlPlane(deployments(1))
  await start(plane, { leaseSeconds: 12 })
  await eventually(() => plane.waiting === 1)
  plane.outage = true
  const [beats, claims] = [plane.beats.length, plane.claims.length]
  await eventually(() => plane.beats.length > beats + 1 && plane.claims.length > claims + 1)
  expect(plane.beats.at(-1)!.waitSeconds).toBe(0)
  plane.outage = false
  expect(await eventually(() => plane.waiting === 1)).toBe(true)
  expect(plane.beats.at(-1)!.claims).toHaveLength(1)
})

test('a hanging heartbeat is abandoned early enough for another one', async () => {
  const plane = fakeControlPlane(deployments(1))
  let hung = 0
  const heartbeat = plane.heartbeat
  plane.heartbeat = async (request, signal) => {
    if (request.waitSeconds === 0 || hung > 0) return heartbeat(request, signal)
    hung++
    return new Promise(() => {})
  }
  await start(plane, { leaseSeconds: 12 })
  await eventually(() => hung === 1)
  // the claim is still held afterwards
  expect(await eventually(() => plane.waiting === 1)).toBe(true)
  expect(plane.beats.at(-1)!.claims).toHaveLength(1)
})

test('a process that is blocked for a third of its lease keeps its deployments', async () => {
  const plane = fakeControlPlane([claimOf()])
  // answers come over the network, like those of a database
  const server = net.createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const { heartbeat } = plane
  plane.heartbeat = async (request, signal) => {
    const answers = await heartbeat(request, signal)
    const socket = net.connect(port, '127.0.0.1').end('answer')
    for await (const _ of socket);
    return answers
  }
  await start(plane, { leaseSeconds: 9 })
  try {
    for (const before of [1, 0.1]) {
      const beats = plane.beats.length
      await eventually(() => plane.waiting === 1 && plane.beats.length > beats)
      await sleep((plane.beats.at(-1)!.waitSeconds! - before) * 1000)
      // blocks the whole process
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
      await eventually(() => plane.beats.length > beats + 2)
    }
    expect(plane.beats.at(-1)!.claims).toHaveLength(1)
    expect(plane.released).toEqual([])
  } finally {
    server.close()
  }
})
