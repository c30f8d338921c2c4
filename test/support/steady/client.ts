/**
 * A client that never rests: requests at a steady rate, by turns over a connection that is kept and over a fresh one, and
 * streams that stay open (server-sent events and WebSockets by turns). It remembers each request that failed, each stream
 * that was cut, and by whom it was answered: of two agents the newer one, from its first answer on.
 */
import http from 'node:http'
import { WebSocket } from 'undici'

const PER_SECOND = 50
const STREAMS = 10
/** ms; longer than a request waits during a switch */
const PATIENCE = 30_000

interface Answer {
  greeting: string
  pid: number
  /** ms from the agent's start to its first answer to GET /ok */
  startMs: number
}

export interface Report {
  requests: number
  /** what went wrong with each that was not answered with 200 */
  failed: string[]
  /** why each stream that did not last ended */
  cut: string[]
  /** each agent that answered, in the order of their first answers */
  agents: Answer[]
  /** answers of an agent to requests that were sent when a newer one had answered already */
  backwards: number
  /** ms from a request to its answer, of the slowest */
  slowest: number
}

export interface SteadyClient {
  /** So far. */
  report(): Report
  /** Resolves when this many more requests were answered. */
  answered(count: number): Promise<void>
  /** Resolves when an agent of which this is true has answered; with that answer. */
  meets(wanted: (answer: Answer) => boolean): Promise<Answer>
  stop(): Promise<Report>
}

/** Resolves when all its streams are open. `url`: the stable address of a deployment of the steady agent. */
export async function steadyClient(url: string, { streams = STREAMS } = {}): Promise<SteadyClient> {
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
      note(JSON.parse(await get(url, fresh ? false : kept)), sentAt)
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
      const look = () => {
        const found = check()
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
    })
  }

  const cut = (why: string) => {
    if (!stopped) report.cut.push(why)
  }
  const opening = Array.from({ length: streams }, (_, index) => (index % 2 ? openSocket : openEvents)(url, cut))
  open.push(...(await Promise.all(opening)))

  // as many as are due by now, so that a moment in which this process got no turn costs no request
  const begun = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    for (; sent < ((performance.now() - begun) * PER_SECOND) / 1000; sent++) {
      const asked = ask(sent % 2 === 0)
      inFlight.add(asked)
      void asked.then(() => inFlight.delete(asked))
    }
  }, 1000 / PER_SECOND)

  return {
    report: () => report,
    answered(count) {
      const enough = report.requests + count
      return until(() => (report.requests >= enough ? null : undefined)) as Promise<unknown> as Promise<void>
    },
    meets: (wanted) => until(() => report.agents.find(wanted)),
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

function get(url: string, agent: http.Agent | false): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent, timeout: PATIENCE }, (response) => {
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
    request.on('timeout', () => request.destroy(new Error(`no answer for ${PATIENCE / 1000} s`)))
    request.on('error', reject)
  })
}

/** Says whether the numbers of a stream come one after the other. */
function inOrder(cut: (why: string) => void): (n: number) => void {
  let last: number | null = null
  return (n) => {
    if (last !== null && n !== last + 1) cut(`${n} came after ${last}`)
    last = n
  }
}

function openEvents(url: string, cut: (why: string) => void): Promise<{ end(): void }> {
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/ticks`, { agent: false }, (response) => {
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

function openSocket(url: string, cut: (why: string) => void): Promise<{ end(): void }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ticks`)
    const next = inOrder(cut)
    socket.addEventListener('message', ({ data }) => {
      next(Number(data))
      resolve({ end: () => socket.close() })
    })
    socket.addEventListener('error', () => reject(new Error('the WebSocket could not be opened')))
    socket.addEventListener('close', ({ code }) => cut(`WebSocket: closed with ${code}`))
  })
}
