/**
 * A process with thousands of clients over SSE. They only count events, because this process shares two cores with the
 * server.
 */
import net from 'node:net'
import { type ClientOrder, type ClientReport, now, SUBSCRIPTION } from './protocol.ts'

const MARK = Buffer.from('"message":"')
const SPACE = 32
const QUOTE = 34
const NEWLINE = 10
/** One buffer for all reads, which saves CPU for the server. */
const BUFFER = Buffer.alloc(65_536)

const latencies: number[] = []
let deliveries = 0
let lost = 0
let doubled = 0
let disordered = 0
/** The event number that all clients must reach. */
let awaited = 0
let satisfied = 0
const clients: Client[] = []

class Client {
  /** Number of the last event; null: none yet. */
  newest: number | null = null
  open = false
  /** The incomplete end of a chunk. */
  #rest: Buffer | null = null

  read(chunk: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    this.#rest = null
    const at = now()
    let from = bytes.indexOf(MARK)
    while (from >= 0) {
      const space = bytes.indexOf(SPACE, from + MARK.length)
      const end = space < 0 ? -1 : bytes.indexOf(QUOTE, space)
      if (end < 0) {
        this.#rest = Buffer.from(bytes.subarray(from))
        return
      }
      this.#heard(
        Number(bytes.toString('latin1', from + MARK.length, space)),
        at - Number(bytes.toString('latin1', space + 1, end)),
      )
      from = bytes.indexOf(MARK, end)
    }
    // a mark may be split between chunks, but never at a line end
    if (bytes.at(-1) !== NEWLINE) this.#rest = Buffer.from(bytes.subarray(-MARK.length))
  }

  #heard(number: number, took: number): void {
    deliveries++
    latencies.push(took)
    const expected = (this.newest ?? number - 1) + 1
    if (number === expected - 1) doubled++
    else if (number < expected) disordered++
    else {
      lost += number - expected
      this.newest = number
      if (number >= awaited && expected <= awaited) satisfied++
    }
  }
}

function open(url: URL, key: string): Promise<boolean> {
  const client = new Client()
  const body = JSON.stringify({ query: SUBSCRIPTION })
  return new Promise((resolve) => {
    const take = (size: number) => {
      const bytes = BUFFER.subarray(0, size)
      if (!client.open) {
        client.open = bytes.indexOf('HTTP/1.1 200') === 0
        if (!client.open) {
          socket.destroy()
          return false
        }
        clients.push(client)
        resolve(true)
      }
      client.read(bytes)
      return true
    }
    const onread = { buffer: BUFFER, callback: take }
    const socket = net.connect({ port: Number(url.port), host: url.hostname, onread })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: ${url.host}\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  })
}

async function openAll({ url, keys, count, atOnce }: ClientOrder & { do: 'open' }): Promise<void> {
  const address = new URL(url)
  let begun = 0
  let refused = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (begun < count) {
        const key = keys[begun++ % keys.length]!
        while (!(await open(address, key))) refused++
      }
    }),
  )
  say({ opened: clients.length, refused })
}

function report(): void {
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0
  for (const { newest } of clients) lost += Math.max(0, awaited - (newest ?? 0))
  say({ heard: { deliveries, p50: at(0.5), p99: at(0.99), lost, doubled, disordered } })
  latencies.length = 0
  deliveries = 0
}

const say = (what: ClientReport) => process.send?.(what)

process.on('message', (order: ClientOrder) => {
  if (order.do === 'open') return void openAll(order)
  awaited = order.newest
  satisfied = clients.filter(({ newest }) => newest !== null && newest >= awaited).length
  const until = performance.now() + 60_000
  const look = setInterval(() => {
    if (satisfied < clients.length && performance.now() < until) return
    clearInterval(look)
    report()
  }, 20)
})
process.once('disconnect', () => process.exit())
