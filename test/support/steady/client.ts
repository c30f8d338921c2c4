/**
 * A client with constant load: requests at a steady rate, alternately on a kept and a new connection, and open streams
 * (server-sent events and WebSockets). It records failed requests, cut streams and the agents that answered.
 */
import http from 'node:http'
import { WebSocket } from 'undici'

const REQUESTS_PER_SECOND = 50
const STREAMS = 10
/** longer than a request waits during a switch */
const REQUEST_TIMEOUT_MS = 30_000

interface Answer {
  greeting: string
  pid: number
  /** from the agent's start to its first answer to GET /ok */
  startMs: number
}

export interface Report {
  requests: number
  /** reason of each request that was not answered with 200 */
  failed: string[]
  /** reason of each stream that ended early */
  cut: string[]
  /** agents that answered, in the order of their first answers */
  agents: Answer[]
  /** answers of an older agent to requests sent after a newer agent had answered */
  backwards: number
  /** longest time of a request in ms */
  slowest: number
}

export interface SteadyClient {
  /** The report so far. */
  report(): Report
  /** Resolves when this many more requests were answered. */
  answered(count: number): Promise<void>
  /** Resolves with the first answer that matches. */
  meets(matches: (answer: Answer) => boolean): Promise<Answer>
  stop(): Promise<Report>
}

export interface SteadyClientOptions {
  /** number of open streams */
  streams?: number
  /** sent with each request and stream */
  headers?: Record<string, string>
}

/** Resolves when all streams are open. `url`: the stable address of a steady agent. */
export async function steadyClient(
  url: string,
  { streams = STREAMS, headers = {} }: SteadyClientOptions = {},
): Promise<SteadyClient> {
  const kept = new http.Agent({ keepAlive: true })
  const report: Report = { requests: 0, failed: [], cut: [], agents: [], backwards: 0, slowest: 0 }
  const waiting = new Set<() => void>()
  const newestSince = { pid: 0, at: 0 }
  const open: { end(): void }[] = []
  const inFlight = new Set<Promise<void>>()
  let stopped = false

  async function ask(fresh: boolean): Promise<void> {
    const sentAt = performance.now()
    try {
      note(JSON.parse(await get(url, { headers, agent: fresh ? false : kept })), sentAt)
    } catch (error) {
      report.failed.push(`${fresh ? 'fresh' : 'kept'}: ${(error as Error).message}`)
    }
    report.requests++
    report.slowest = Math.max(report.slowest, Math.round(performance.now() - sentAt))
    for (const check of waiting) check()
  }

  function note(answer: Answer, sentAt: number): void {
    if (!report.agents.some(({ pid }) => pid === answer.pid)) {
      report.agents.push(answer)
      Object.assign(newestSince, { pid: answer.pid, at: performance.now() })
    } else if (answer.pid !== newestSince.pid && sentAt > newestSince.at) report.backwards++
  }

  function until<T>(check: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const checkNow = () => {
        const found = check()
        if (found === undefined) return
        waiting.delete(checkNow)
        resolve(found)
      }
      waiting.add(checkNow)
      checkNow()
    })
  }

  const cut = (why: string) => {
    if (!stopped) report.cut.push(why)
  }
  const opening = Array.from({ length: streams }, (_, index) =>
    (index % 2 ? openSocket : openEvents)(url, headers, cut),
  )
  open.push(...(await Promise.all(opening)))

  // sends all requests that are due, so that a busy moment of this process skips none
  const begun = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    for (; sent < ((performance.now() - begun) * REQUESTS_PER_SECOND) / 1000; sent++) {
      const asked = ask(sent % 2 === 0)
      inFlight.add(asked)
      void asked.then(() => inFlight.delete(asked))
    }
  }, 1000 / REQUESTS_PER_SECOND)

  return {
    report: () => report,
    answered(count) {
      const enough = report.requests + count
      return until(() => (report.requests >= enough ? null : undefined)) as Promise<unknown> as Promise<void>
    },
    meets: (matches) => until(() => report.agents.find(matches)),
    async stop() {
      clearInterval(timer)
      await Promise.all(inFlight)
      stopped = true
      for (const stream of open) stream.end()
      kept.destroy()
      return report
    },
  }
}

function get(url: string, options: Pick<http.RequestOptions, 'headers' | 'agent'>): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { ...options, timeout: REQUEST_TIMEOUT_MS }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${response.statusCode} ${text.slice(0, 200)}`))
      })
    })
    request.on('timeout', () => request.destroy(new Error(`no answer for ${REQUEST_TIMEOUT_MS / 1000} s`)))
    request.on('error', reject)
  })
}

/** Reports a gap in the numbers of a stream. */
function inOrder(cut: (why: string) => void): (n: number) => void {
  let last: number | null = null
  return (n) => {
    if (last !== null && n !== last + 1) cut(`${n} came after ${last}`)
    last = n
  }
}

type Headers = Record<string, string>

function openEvents(url: string, headers: Headers, cut: (why: string) => void): Promise<{ end(): void }> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/ticks`, { agent: false, headers }, (response) => {
      const next = inOrder(cut)
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        const lines = (text + chunk).split('\n\n')
        text = lines.pop()!
        for (const line of lines) next(Number(line.slice('data: '.length)))
        resolve({ end: () => request.destroy() })
      })
      response.on('end', () => cut('events: ended'))
      response.on('error', (error) => cut(`events: ${error.message}`))
    })
    request.on('error', reject)
  })
}

function openSocket(url: string, headers: Headers, cut: (why: string) => void): Promise<{ end(): void }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ticks`, { headers })
    const next = inOrder(cut)
    socket.addEventListener('message', ({ data }) => {
      next(Number(data))
      resolve({ end: () => socket.close() })
    })
    socket.addEventListener('error', () => reject(new Error('the WebSocket could not be opened')))
    socket.addEventListener('close', ({ code }) => cut(`WebSocket: closed with ${code}`))
  })
}
