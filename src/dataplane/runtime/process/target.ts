/**
 * A serving process as the proxy sees it: where it listens, and how many requests it has in hand.
 */
import type { EventEmitter } from 'node:events'
import { sleep } from '../../backoff.ts'

export class Target {
  readonly host: string
  readonly port: number
  #inFlight = 0

  constructor(host: string, port: number) {
    this.host = host
    this.port = port
  }

  /** Counts a request (or a WebSocket) until `exchange`, its response or socket, has closed. */
  carry(exchange: EventEmitter): void {
    this.#inFlight++
    exchange.once('close', () => {
      this.#inFlight--
    })
  }

  /** Resolves when nothing is in flight any more, after `ms`, or when the signal aborts. */
  async idle(ms: number, signal?: AbortSignal): Promise<void> {
    const until = performance.now() + ms
    while (this.#inFlight > 0 && performance.now() < until && !signal?.aborted) await sleep(25, signal)
  }
}
