/** Counts the requests of one deployment for the server's /metrics. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AgentFigures } from '../domain/values/door-figures.ts'

/** upper limits, in seconds */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Bytes of a connection that belong to earlier requests. */
const counted = new WeakMap<Socket, { received: number; sent: number }>()

export class RequestFigures {
  /** by first digit of the status; 0: the client left before the answer began */
  readonly #answers = [0, 0, 0, 0, 0, 0]
  /** one more for requests above the last limit */
  readonly #durations = new Array<number>(BUCKETS.length + 1).fill(0)
  #durationSum = 0
  #requestsOpen = 0
  #webSocketsOpen = 0
  #received = 0
  #sent = 0

  /** Counts a request when its answer ends. */
  count({ socket }: IncomingMessage, response: ServerResponse): void {
    const start = performance.now()
    this.#requestsOpen++
    response.once('close', () => {
      this.#requestsOpen--
      this.#answers[response.headersSent ? Math.min(Math.floor(response.statusCode / 100), 5) : 0]!++
      this.#countBytes(socket)
      // a stream takes as long as its client wants
      if (!String(response.getHeader('content-type')).startsWith('text/event-stream'))
        this.#observe((performance.now() - start) / 1000)
    })
  }

  /** Counts a WebSocket that is open. */
  countWebSocket(client: Duplex): void {
    this.#webSocketsOpen++
    this.#answers[1]!++
    client.once('close', () => {
      this.#webSocketsOpen--
      this.#countBytes(client as Socket)
    })
  }

  read(): AgentFigures {
    let count = 0
    return {
      answers: Object.fromEntries(this.#answers.map((number, digit) => [digit === 0 ? 'none' : `${digit}xx`, number])),
      durations: this.#durations.map((number, i) => {
        count += number
        return { le: BUCKETS[i] ?? null, count }
      }),
      durationSum: this.#durationSum,
      requestsOpen: this.#requestsOpen,
      webSocketsOpen: this.#webSocketsOpen,
      received: this.#received,
      sent: this.#sent,
    }
  }

  #observe(seconds: number): void {
    let i = 0
    while (i < BUCKETS.length && seconds > BUCKETS[i]!) i++
    this.#durations[i]!++
    this.#durationSum += seconds
  }

  #countBytes(socket: Socket): void {
    const before = counted.get(socket)
    const { bytesRead: received, bytesWritten: sent } = socket
    this.#received += received - (before?.received ?? 0)
    this.#sent += sent - (before?.sent ?? 0)
    if (before) Object.assign(before, { received, sent })
    else counted.set(socket, { received, sent })
  }
}
