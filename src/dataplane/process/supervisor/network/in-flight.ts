/** Counts the requests, streams and WebSockets that are in flight to one upstream. */
import type { EventEmitter } from 'node:events'

export class InFlight {
  /** the agent is being ended */
  ending = false
  #count = 0
  readonly #waiting = new Set<() => void>()

  /** Counts `exchange`, a response or socket, until it closes. */
  track(exchange: EventEmitter): void {
    this.#count++
    exchange.once('close', () => {
      this.#count--
      if (this.#count > 0) return
      for (const resolve of this.#waiting) resolve()
      this.#waiting.clear()
    })
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#waiting.add(resolve)
    })
  }
}
