/** Counts the requests of one deployment and of its revisions, for metrics. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AgentFigures, RevisionFigures } from '../domain/values/door-figures.ts'
import { bucketOf, LATENCY_BUCKETS, latencyIn } from '../domain/values/latency-histogram.ts'
import type { DoorResponse } from './response.ts'

/** upper limits of the histogram for Prometheus, in seconds; right to 5 %, because finer buckets are added up */
const LIMITS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** The first bucket above each limit. */
const BUCKETS_BELOW = LIMITS.map((limit) => {
  let bucket = 0
  while (latencyIn(bucket) <= limit) bucket++
  return bucket
})
/** Older revisions without open requests are forgotten. */
const MAX_REVISIONS = 3

/** Bytes of a connection that belong to earlier requests. */
const counted = new WeakMap<Socket, { received: number; sent: number }>()

class Counts {
  /** by first digit of the status; 0: the client left before the answer began */
  readonly answers = [0, 0, 0, 0, 0, 0]
  readonly latencies = new Uint32Array(LATENCY_BUCKETS)
  latencySum = 0
  requestsOpen = 0
  webSocketsOpen = 0
  received = 0
  sent = 0

  get open(): number {
    return this.requestsOpen + this.webSocketsOpen
  }

  observe(seconds: number): void {
    this.latencies[bucketOf(seconds)]!++
    this.latencySum += seconds
  }
}

export class RequestFigures {
  readonly #all = new Counts()
  readonly #revisions = new Map<string, Counts>()
  /** of the revision that serves; null: none, or its keeper is of an earlier version */
  #serving: Counts | null = null

  /** New requests belong to this revision. */
  setRevision(id: string | undefined): void {
    this.#serving = id === undefined ? null : (this.#revisions.get(id) ?? new Counts())
    if (id === undefined) return
    this.#revisions.set(id, this.#serving!)
    for (const [old, counts] of this.#revisions) {
      if (this.#revisions.size <= MAX_REVISIONS) return
      if (counts !== this.#serving && counts.open === 0) this.#revisions.delete(old)
    }
  }

  /** Counts a request when its answer ends. */
  count({ socket }: IncomingMessage, response: DoorResponse): void {
    const all = this.#all
    const atStart = this.#serving
    all.requestsOpen++
    if (atStart) atStart.requestsOpen++
    response.once('close', () => {
      all.requestsOpen--
      if (atStart) atStart.requestsOpen--
      // a request that wakes an agent belongs to the revision that has answered it
      const revision = atStart ?? this.#serving
      const status = response.headersSent ? Math.min(Math.floor(response.statusCode / 100), 5) : 0
      all.answers[status]!++
      if (revision) revision.answers[status]!++
      this.#countBytes(socket, revision)
      // a stream takes as long as its client wants
      if (String(response.getHeader('content-type')).startsWith('text/event-stream')) return
      const seconds = (performance.now() - response.receivedAt) / 1000
      all.observe(seconds)
      revision?.observe(seconds)
    })
  }

  /** Counts a WebSocket that is open. */
  countWebSocket(client: Duplex): void {
    const both = [this.#all, ...(this.#serving ? [this.#serving] : [])]
    for (const counts of both) {
      counts.webSocketsOpen++
      counts.answers[1]!++
    }
    client.once('close', () => {
      for (const counts of both) counts.webSocketsOpen--
      this.#countBytes(client as Socket, both[1] ?? null)
    })
  }

  read(): AgentFigures {
    const { answers, latencies, latencySum, requestsOpen, webSocketsOpen, received, sent } = this.#all
    return {
      answers: Object.fromEntries(answers.map((number, digit) => [digit === 0 ? 'none' : `${digit}xx`, number])),
      durations: durationsOf(latencies),
      durationSum: latencySum,
      requestsOpen,
      webSocketsOpen,
      received,
      sent,
      revisions: Object.fromEntries([...this.#revisions].map(([id, counts]) => [id, figuresOf(counts)])),
    }
  }

  #countBytes(socket: Socket, revision: Counts | null): void {
    const before = counted.get(socket)
    const received = socket.bytesRead - (before?.received ?? 0)
    const sent = socket.bytesWritten - (before?.sent ?? 0)
    for (const counts of [this.#all, revision]) {
      if (!counts) continue
      counts.received += received
      counts.sent += sent
    }
    const now = { received: socket.bytesRead, sent: socket.bytesWritten }
    if (before) Object.assign(before, now)
    else counted.set(socket, now)
  }
}

function durationsOf(latencies: Uint32Array): AgentFigures['durations'] {
  let count = 0
  let bucket = 0
  return [...LIMITS, null].map((le, i) => {
    const end = BUCKETS_BELOW[i] ?? latencies.length
    while (bucket < end) count += latencies[bucket++]!
    return { le, count }
  })
}

function figuresOf({ answers, latencies, open, received, sent }: Counts): RevisionFigures {
  const pairs: RevisionFigures['latencies'] = []
  for (const [bucket, count] of latencies.entries()) if (count > 0) pairs.push([bucket, count])
  return { answers, latencies: pairs, open, received, sent }
}
