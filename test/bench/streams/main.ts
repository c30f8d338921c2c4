/**
 * Fan-out: thousands of subscribers over SSE to one workspace, beside a stock graphql-yoga with as many, on the same machine;
 * server, clients and Postgres are processes of their own. `BENCH_STREAMS`: how many there are (5,000).
 */
import { setTimeout as delay } from 'node:timers/promises'
import { caller, say } from '../others/support.ts'
import { type ClientOrder, type ClientReport, type Heard, type Order, Peer, type Report } from './protocol.ts'

const SUBSCRIBERS = Number(process.env.BENCH_STREAMS ?? 5_000)
/** as fast as they are written */
const BURST = 40
/** one at a time */
const SINGLE = 20
const SINGLE_APART = 500
/** streams that are open before memory is measured */
const FIRST = 50
/** streams that are being opened while somebody else calls */
const OPENED = 2 * SUBSCRIBERS
/** ms between two calls of somebody else */
const APART = 50
const OURS = new URL('./ours.ts', import.meta.url)
const CLIENTS = new URL('./clients.ts', import.meta.url)

export async function streams(): Promise<void> {
  const stock = await fanOut('stock graphql-yoga', new URL('./stock.ts', import.meta.url))
  const ours = await fanOut('Pilothouse', OURS)
  say('deliveries per second, ours to stock', `${(ours / stock).toFixed(1)} times`)
  await opening()
}

/** What a caller with another key notices while streams are being opened. */
async function opening(): Promise<void> {
  const server = new Peer<Report, Order>(OURS)
  const clients = new Peer<ClientReport, ClientOrder>(CLIENTS)
  try {
    const { url, keys } = await server.said<Extract<Report, { url: string }>>()
    const openStreams = (count: number) => {
      clients.tell({ do: 'open', url, keys, count, atOnce: 200 })
      return clients.said<Extract<ClientReport, { opened: number }>>()
    }
    const call = caller(() => url, keys.pop()!)
    const ask = async () => {
      const began = performance.now()
      await call('POST', '/graphql', { query: '{ deployments(first: 20) { nodes { id name } } }' })
      return performance.now() - began
    }
    // several at once, too: connections to the database are made for them
    for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 20 }, ask))
    await openStreams(FIRST)
    let open = false
    const began = performance.now()
    const opened = openStreams(OPENED - FIRST).finally(() => {
      open = true
    })
    const asked: Promise<number>[] = []
    for (; !open; await delay(APART)) asked.push(ask())
    const { refused } = await opened
    const ms = performance.now() - began
    const took = (await Promise.all(asked)).sort((a, b) => a - b)
    const at = (share: number) => took[Math.floor(share * (took.length - 1))]!.toFixed(0)
    say(
      `another client while ${OPENED} streams are being opened`,
      `p50 ${at(0.5)}  p99 ${at(0.99)}  (${(ms / 1000).toFixed(0)} s, ${refused} refused at first)`,
    )
  } finally {
    await Promise.all([clients.end(), server.end()])
  }
}

/** Answers deliveries per second. */
async function fanOut(name: string, file: URL): Promise<number> {
  const server = new Peer<Report, Order>(file)
  const clients = new Peer<ClientReport, ClientOrder>(CLIENTS)
  const measure = (collect: boolean) => {
    server.tell({ do: 'measure', collect })
    return server.said<Extract<Report, { cpu: number }>>()
  }
  let published = 0
  const publish = async (count: number, apart: number) => {
    const before = await measure(false)
    const began = performance.now()
    clients.tell({ do: 'await', newest: published + count })
    server.tell({ do: 'publish', from: published + 1, count, apart })
    published += count
    const [, { heard }] = await Promise.all([server.said(), clients.said<Extract<ClientReport, { heard: Heard }>>()])
    const ms = performance.now() - began
    const cpu = (await measure(false)).cpu - before.cpu
    return { ...heard, ms, each: `${((1000 * cpu) / heard.deliveries).toFixed(1)} µs of CPU each` }
  }
  try {
    const { url, keys } = await server.said<Extract<Report, { url: string }>>()
    const open = async (count: number) => {
      const began = performance.now()
      clients.tell({ do: 'open', url, keys, count, atOnce: 100 })
      await clients.said()
      return performance.now() - began
    }
    // what the first ones cost alone: what is loaded with them
    await open(FIRST)
    await publish(5, 0)
    const { memory: before } = await measure(true)
    const ms = await open(SUBSCRIBERS - FIRST)
    say(`${name}: ms until ${SUBSCRIBERS} streams are open`, ms.toFixed(0))
    const { memory } = await measure(true)
    const each = (bytes: number) => `${(bytes / (SUBSCRIBERS - FIRST) / 1024).toFixed(1)} KiB`
    say(
      `${name}: memory of a subscriber (RSS, heap)`,
      `${each(memory.rss - before.rss)}  ${each(memory.heap - before.heap)}`,
    )
    await publish(10, 0)
    const burst = await publish(BURST, 0)
    const perSecond = burst.deliveries / (burst.ms / 1000)
    say(`${name}: deliveries per second`, `${perSecond.toFixed(0)}  (${burst.each})`)
    const single = await publish(SINGLE, SINGLE_APART)
    say(
      `${name}: from its write to the client, one event at a time`,
      `p50 ${single.p50.toFixed(0)}  p99 ${single.p99.toFixed(0)}  (${single.each})`,
    )
    const sum = (what: 'lost' | 'doubled' | 'disordered') => single[what]
    say(`${name}: lost, doubled, out of order`, `${sum('lost')}, ${sum('doubled')}, ${sum('disordered')}`)
    return perSecond
  } finally {
    await Promise.all([clients.end(), server.end()])
  }
}
