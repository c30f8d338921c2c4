/**
 * Keeps proxies from closing streams in which nothing happens: one timer and one buffer for all streams of a server. A few
 * streams beat at a time, and only those in which nothing was written for long, so that what happens is not kept waiting.
 */
import { TimeSlice } from '../realtime/time-slice.ts'

/** ms after which a silent stream gets a beat. 15 s are promised (docs/api-rules.md): the rest is for a busy event loop */
const SILENCE_MS = 10_000
/** looks at a part of the streams in that time */
const TURNS = 10
/** Streams to which something was written at once are looked at in as many turns, up to the latest. */
const SPREAD_TURNS = 4
/** Streams between two looks whether others wait for the event loop. */
const STREAMS_PER_CHECK = 64

export interface Beating {
  /** Set it at each write, to the heartbeat's `now`. */
  wroteAt: number
  beat(): void
}

export class Heartbeat {
  /** counts turns, by the clock */
  now = 0
  readonly #begunAt = performance.now()
  /** when who is looked at */
  readonly #turns = Array.from({ length: TURNS }, () => new Set<Beating>())
  readonly #every: number
  readonly #pace = new TimeSlice()
  #placed = 0
  #timer: NodeJS.Timeout | null = null

  /** `every`: ms */
  constructor(every = SILENCE_MS) {
    this.#every = every
  }

  /** Calls `beat` from now on, until it is deleted. */
  add(one: Beating): void {
    // without a timer nothing has counted
    if (!this.#timer) this.now = this.#turnsDue()
    one.wroteAt = this.now
    this.#place(one)
    this.#timer ??= this.#later()
  }

  delete(one: Beating): void {
    for (const turn of this.#turns) if (turn.delete(one)) return
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => void this.#next(), this.#every / TURNS).unref()
  }

  #place(one: Beating): void {
    this.#turns[(one.wroteAt + TURNS - (this.#placed++ % SPREAD_TURNS)) % TURNS]!.add(one)
  }

  #turnsDue(): number {
    return Math.floor((performance.now() - this.#begunAt) / (this.#every / TURNS))
  }

  async #next(): Promise<void> {
    // a busy event loop calls this late: its turns are made up for, each of them once
    const due = this.#turnsDue()
    this.now = Math.max(this.now, due - TURNS)
    while (this.now < due) await this.#take(++this.now % TURNS)
    this.#timer = this.#turns.some(({ size }) => size > 0) ? this.#later() : null
  }

  async #take(index: number): Promise<void> {
    const turn = this.#turns[index]!
    let i = 0
    for (const one of [...turn]) {
      if (i++ % STREAMS_PER_CHECK === 0 && this.#pace.isUsedUp) await this.#pace.next()
      if (!turn.delete(one)) continue
      if (this.now - one.wroteAt >= TURNS - SPREAD_TURNS) {
        one.wroteAt = this.now
        one.beat()
      }
      this.#place(one)
    }
  }
}
