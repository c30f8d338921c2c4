/** The load generator: keeps one request in flight on each connection and measures its duration. */
import { Client } from 'undici'
import type { Load, LoadOrder, Ran } from './orders.ts'

const loads = new Map<string, { load: Load; next: number }>()
/** Number of answers per run whose content is checked; more would use the measured CPU. */
const CHECKED_ANSWERS = 5

function send(client: Client, load: Load, at: number, look: boolean): Promise<string | null> {
  const { method, path, headers, body } = load.requests[at % load.requests.length]!
  const all = ['x-api-key', load.keys[at % load.keys.length]!]
  if (body !== undefined) all.push('content-type', 'application/json')
  for (const name in headers) all.push(name, headers[name]!)
  return new Promise((resolve, reject) => {
    let status = 0
    let text = ''
    const isWrong = () => load.status !== null && status !== load.status
    client.dispatch(
      { path, method: (method ?? (body === undefined ? 'GET' : 'POST')) as 'GET', headers: all, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code
        },
        onResponseData(_controller, chunk) {
          if (look || isWrong()) text += chunk.toString()
        },
        onResponseEnd() {
          const right = !isWrong() && !text.includes('"errors":')
          resolve(right ? null : `${method ?? ''} ${path} was answered ${status}: ${text.slice(0, 500)}`)
        },
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}

async function run(order: Extract<LoadOrder, { do: 'run' }>): Promise<Ran> {
  const place = loads.get(order.id)!
  const took: number[] = []
  let wrong: string | null = null
  let begun = 0
  const most = order.count ?? Number.POSITIVE_INFINITY
  const began = performance.now()
  const until = order.seconds === undefined ? Number.POSITIVE_INFINITY : began + order.seconds * 1000
  await Promise.all(
    Array.from({ length: order.connections }, async () => {
      const client = new Client(place.load.url, { pipelining: 1 })
      for (let from = performance.now(); from < until && begun < most && wrong === null; ) {
        begun++
        wrong = (await send(client, place.load, place.next++, begun <= CHECKED_ANSWERS)) ?? wrong
        const now = performance.now()
        took.push(now - from)
        from = now
      }
      await client.close()
    }),
  )
  const seconds = (performance.now() - began) / 1000
  took.sort((a, b) => a - b)
  const at = (share: number) => took[Math.floor(share * (took.length - 1))] ?? 0
  return { requests: took.length, seconds, p50: at(0.5), p99: at(0.99), wrong }
}

process.on('message', (order: LoadOrder) => {
  if (order.do === 'load') loads.set(order.id, { load: order.load, next: 0 })
  else if (order.do === 'forget') loads.delete(order.id)
  else
    void run(order)
      .catch((error) => ({ wrong: String(error) }))
      .then((ran) => process.send!(ran))
})
process.once('disconnect', () => process.exit())
