/** A client of logs.ts in a separate process: follows a log and prints its findings as one line of JSON. */
import http from 'node:http'

export interface Followed {
  lines: number
  /** Number of lines out of order. */
  outOfOrder: number
  /** Time in ms from the insert of a line to its arrival: median, p99 and maximum. */
  lag: [number, number, number]
  ms: number
}

const [url, key, expected] = process.argv.slice(2) as [string, string, string]
const lags: number[] = []
let outOfOrder = 0
let text = ''
const began = performance.now()

const request = http.get(url, { headers: { 'x-api-key': key, accept: 'text/event-stream' } }, (response) => {
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
  process.stdout.write('following\n')
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const now = Date.now()
    const events = (text + chunk).split('\n\n')
    text = events.pop()!
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '))
      if (data === undefined) continue
      // `<number> <time of the insert> …`
      const [number, time] = (JSON.parse(data.slice(6)) as { message: string }).message.split(' ').map(Number)
      if (number !== lags.length) outOfOrder++
      lags.push(now - time!)
    }
    if (lags.length >= Number(expected)) report()
  })
})

function report(): void {
  request.destroy()
  lags.sort((a, b) => a - b)
  const at = (share: number) => lags[Math.floor(share * (lags.length - 1))]!
  const followed: Followed = {
    lines: lags.length,
    outOfOrder,
    lag: [at(0.5), at(0.99), at(1)],
    ms: Math.round(performance.now() - began),
  }
  process.stdout.write(`${JSON.stringify(followed)}\n`)
}
