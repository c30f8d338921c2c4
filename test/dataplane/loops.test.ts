// The worker's two loops, against a control plane that says when it answers: who is asked what, how often, and when.
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

interface Crowd extends ControlPlane {
  /** what can be claimed */
  free: Claim[]
  claims: ClaimRequest[]
  beats: HeartbeatRequest[]
  released: string[]
  /** heartbeats that wait at this moment */
  waiting: number
  /** what a heartbeat that waits does when it is cut short; over HTTP it rejects */
  cut: 'answers' | 'rejects'
  /** every call fails while set */
  outage: boolean
  /** More can be claimed now. */
  add(claims: Claim[]): void
}

/** Has as many deployments as it is given, with nothing to do; waits as it is asked to. */
function crowd(free: Claim[]): Crowd {
  const news = new EventTarget()
  const plane: Crowd = {
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

test('a thousand deployments are one call that waits for news, and no other while there is none', async () => {
  const plane = crowd(deployments(1000))
  await start(plane)
  await eventually(() => plane.waiting === 1 && plane.beats.at(-1)!.claims.length === 1000)
  const [beats, claims] = [plane.beats.length, plane.claims.length]
  expect(plane.beats.at(-1)).toMatchObject({ leaseSeconds: 30, waitSeconds: 5 })
  expect(plane.claims.at(-1)).toMatchObject({ max: 20, waitSeconds: 5 })
  // what must not happen has no event to wait for
  await sleep(600)
  expect([plane.beats.length, plane.claims.length]).toEqual([beats, claims])
})

test('more than a thousand claims are cut into several calls', async () => {
  const plane = crowd(deployments(1001))
  await start(plane)
  await eventually(() => plane.waiting === 2)
  expect(plane.beats.slice(-2).map(({ claims }) => claims.length)).toEqual([1000, 1])
})

test.each(['answers', 'rejects'] as const)(
  'a new claim is in a heartbeat at once, also where the one that waits %s when it is cut short',
  async (cut) => {
    const plane = crowd(deployments(1))
    plane.cut = cut
    await start(plane)
    await eventually(() => plane.waiting === 1)
    const before = plane.beats.length
    plane.add(deployments(1))
    await eventually(() => plane.beats.length > before)
    // that one can't be cut short itself: however many come in a row, every lease is extended
    expect(plane.beats[before]).toMatchObject({ waitSeconds: 0, claims: [{}, {}] })
    await eventually(() => plane.waiting === 1)
    expect(plane.beats.length).toBe(before + 2)
  },
)

test('a worker takes no more than it may hold, and says which version it is', async () => {
  const plane = crowd(deployments(30))
  await start(plane, { maxClaims: 25, version: '1.2.3' })
  await eventually(() => plane.beats.at(-1)?.claims.length === 25)
  expect(plane.claims.map(({ max, version }) => [max, version])).toEqual([
    [20, '1.2.3'],
    [5, '1.2.3'],
  ])
  expect(plane.free).toHaveLength(5)
})

test('a worker that waits for news and for work stops at once, and gives everything back', async () => {
  const plane = crowd(deployments(3))
  await start(plane)
  await eventually(() => plane.waiting === 1)
  const begun = performance.now()
  await worker!.stop()
  // each of the two waits for 7 s
  expect(performance.now() - begun).toBeLessThan(5000)
  expect(plane.released).toHaveLength(3)
})

test('while the control plane is away both loops try again with pauses, and go on when it is back', async () => {
  const plane = crowd(deployments(1))
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

test('a call that hangs is given up while there is time for another one', async () => {
  const plane = crowd(deployments(1))
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

test('a process that does nothing for a third of its lease, whenever that comes, loses no deployment', async () => {
  const plane = crowd([claimOf()])
  // its answers come over the network, as those of a database do
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
      // nothing of this process gets its turn
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
      await eventually(() => plane.beats.length > beats + 2)
    }
    expect(plane.beats.at(-1)!.claims).toHaveLength(1)
    expect(plane.released).toEqual([])
  } finally {
    server.close()
  }
})
