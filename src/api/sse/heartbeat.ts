/** Keeps proxies from closing streams in which nothing happens: one timer and one buffer for all streams of a server. */
import { Pace } from '../realtime/pace.ts'

/** ms; proxies give up after 30 s at the earliest */
const EVERY = 15_000
/** Streams between two looks whether others wait for the event loop. */
const AT_ONCE = 64

export class Heartbeat {
  readonly #beating = new Set<{ beat(): void }>()
  readonly #every: number
  readonly #pace = new Pace()
  #timer: NodeJS.Timeout | null = null

  /** `every`: ms */
  constructor(every = EVERY) {
    this.#every = every
  }

  /** Calls `beat` from now on, until it is deleted. */
  add(one: { beat(): void }): void {
    this.#beating.add(one)
    this.#timer ??= setTimeout(() => void this.#beat(), this.#every).unref()
  }

  delete(one: { beat(): void }): void {
    this.#beating.delete(one)
  }

  async #beat(): Promise<void> {
    let i = 0
    for (const one of [...this.#beating]) {
      if (i++ % AT_ONCE === 0 && this.#pace.due) await this.#pace.turn()
      if (this.#beating.has(one)) one.beat()
    }
    this.#timer = this.#beating.size > 0 ? setTimeout(() => void this.#beat(), this.#every).unref() : null
  }
}
