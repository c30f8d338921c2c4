/**
 * Fan-out: thousands of subscribers over SSE to one workspace (`BENCH_STREAMS`, 5,000), compared with a stock
 * graphql-yoga with as many. Servers, clients and Postgres are separate processes, measured in rounds.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type How, type Spread, spread } from '../measure/compare.ts'
import { said } from '../measure/report.ts'
import { caller, say } from '../others/support.ts'
import { collected } from './collected.ts'
import { Clients, type Heard, now } from './protocol.ts'
import { ours, type Streaming, stock } from './servers.ts'

const SUBSCRIBERS = Number(process.env.BENCH_STREAMS ?? 5_000)
/** Events written as fast as possible. */
const BURST_EVENTS = 20
/** Events written one at a time. */
const SINGLE_EVENTS = 20
const SINGLE_INTERVAL_MS = 500
/** Streams opened before memory is measured, because the first ones load code that belongs to no subscriber. */
const WARM_UP_STREAMS = 50
/** Streams opened while another client calls. */
const OPENED_STREAMS = 2 * SUBSCRIBERS
/** Interval in ms between two calls of the other client. */
const CALL_INTERVAL_MS = 50

export async function streams(how: How): Promise<void> {
  await inFolder(async (folder) => {
    const sides = [await Side.open(await ours(folder), folder)]
    try {
      if (how.only('stock')) sides.push(await Side.open(await stock(folder), folder))
      await inRounds(sides, how.rounds)
    } finally {
      await Promise.all(sides.map((side) => side.end()))
    }
  })
  await inFolder(opening)
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-bench-'))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Published extends Heard {
  perSecond: number
  /** CPU time in µs per delivery. */
  cpu: number | null
}

/** One server with its subscribers. */
class Side {
  readonly #server: Streaming
  readonly #clients: Clients
  #published = 0
  readonly bursts: Published[] = []
  readonly singles: Published[] = []

  static async open(server: Streaming, folder: string): Promise<Side> {
    const side = new Side(server, new Clients(folder))
    const memory = () => collected(server.program, folder)
    await side.#clients.open(server, WARM_UP_STREAMS, WARM_UP_STREAMS)
    await side.publish(5, 0)
    const before = await memory()
    const { ms } = await side.#clients.open(server, SUBSCRIBERS - WARM_UP_STREAMS, 100)
    side.say(`ms until ${SUBSCRIBERS} streams are open`, ms.toFixed(0))
    const after = await memory()
    const each = (what: 'rss' | 'heap') =>
      `${((after[what] - before[what]) / (SUBSCRIBERS - WARM_UP_STREAMS) / 1024).toFixed(1)} KiB`
    side.say('memory of a subscriber, of the process and of its heap', `${each('rss')}  ${each('heap')}`)
    await side.publish(10, 0)
    return side
  }

  private constructor(server: Streaming, clients: Clients) {
    this.#server = server
    this.#clients = clients
  }

  say(what: string, figure: string): void {
    say(`${this.#server.name}: ${what}`, figure)
  }

  /** Publishes events at an interval of `apart` ms. */
  async publish(count: number, apart: number): Promise<Published> {
    const cpu = this.#server.cpu()
    const began = now()
    const heard = this.#clients.heard(this.#published + count)
    for (let i = 0; i < count; i++) {
      const due = began + i * apart
      if (due > now()) await delay(due - now())
      await this.#server.publish(`${++this.#published} ${now().toFixed(3)}`)
    }
    const all = await heard
    const used = cpu === null ? null : (1000 * (this.#server.cpu()! - cpu)) / all.deliveries
    return { ...all, perSecond: all.deliveries / ((now() - began) / 1000), cpu: used }
  }

  tell(): void {
    const cpu = (all: Published[]) => `${said(spread(all.map(({ cpu }) => cpu)))} µs of CPU each`
    const ms = (of: 'p50' | 'p99') => said(spread(this.singles.map((one) => one[of])))
    this.say('deliveries per second', `${said(this.perSecond)}  ${cpu(this.bursts)}`)
    this.say(
      'from its write to the client, one event at a time',
      `p50 ${ms('p50')}  p99 ${ms('p99')}  ${cpu(this.singles)}`,
    )
    const { lost, doubled, disordered } = this.singles.at(-1)!
    this.say('lost, doubled, out of order', `${lost}, ${doubled}, ${disordered}`)
  }

  get perSecond(): Spread | null {
    return spread(this.bursts.map(({ perSecond }) => perSecond))
  }

  async end(): Promise<void> {
    await this.#clients.end()
    await this.#server.end()
  }
}

async function inRounds(sides: readonly Side[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const side of sides) side.bursts.push(await side.publish(BURST_EVENTS, 0))
    for (const side of sides) side.singles.push(await side.publish(SINGLE_EVENTS, SINGLE_INTERVAL_MS))
  }
  for (const side of sides) side.tell()
  const [own, other] = sides
  if (!other) return
  const ratios = own!.bursts.map(({ perSecond }, round) => perSecond / other.bursts[round]!.perSecond)
  say('deliveries per second, ours to stock', `${said(spread(ratios))} times`)
}

/** The delay of a caller with another key while streams are being opened. */
async function opening(folder: string): Promise<void> {
  const server = await ours(folder)
  const clients = new Clients(folder)
  try {
    const { url, keys } = server
    const call = caller(() => url, keys.pop()!)
    const ask = async () => {
      const began = performance.now()
      await call('POST', '/graphql', { query: '{ deployments(first: 20) { nodes { id name } } }' })
      return performance.now() - began
    }
    // several concurrent calls, so that database connections exist
    for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 20 }, ask))
    await clients.open(server, WARM_UP_STREAMS, WARM_UP_STREAMS)
    let open = false
    const opened = clients.open(server, OPENED_STREAMS - WARM_UP_STREAMS, 200).finally(() => {
      open = true
    })
    const asked: Promise<number>[] = []
    for (; !open; await delay(CALL_INTERVAL_MS)) asked.push(ask())
    const { refused, ms } = await opened
    const took = (await Promise.all(asked)).sort((a, b) => a - b)
    const at = (share: number) => took[Math.floor(share * (took.length - 1))]!.toFixed(0)
    say(
      `another client while ${OPENED_STREAMS} streams are being opened`,
      `p50 ${at(0.5)}  p99 ${at(0.99)}  (${(ms / 1000).toFixed(0)} s, ${refused} refused at first)`,
    )
  } finally {
    await clients.end()
    await server.end()
  }
}
