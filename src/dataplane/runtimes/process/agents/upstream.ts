/**
 * The upstream of a proxy: where the agent listens, and how many requests are in flight there.
 */
import type { EventEmitter } from 'node:events'
import { sleep } from '../../../../platform/async/retry.ts'

export class Upstream {
  readonly host: string
  readonly port: number
  #inFlight = 0

  constructor(host: string, port: number) {
    this.host = host
    this.port = port
  }

  /** Counts a request (or a WebSocket) until `exchange`, its response or socket, has closed. */
  track(exchange: EventEmitter): void {
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
