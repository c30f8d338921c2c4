/**
 * Sends comments to silent streams, so that proxies keep them open: one timer for all streams of a server. Few streams
 * beat at a time, and only after a long silence, so beats don't delay events.
 */
import { TimeSlice } from '../realtime/time-slice.ts'

/** A stream gets a beat after this silence. docs/api-rules.md promises 15 s; the rest covers a busy event loop. */
const SILENCE_MS = 10_000
/** Number of turns per silence period; each turn checks a part of the streams. */
const TURNS = 10
/** Streams written at the same moment are spread over this many turns. */
const SPREAD_TURNS = 4
/** Streams checked between two checks of the time slice. */
const STREAMS_PER_CHECK = 64

export interface Beating {
  /** Set it to the heartbeat's `now` at each write. */
  wroteAt: number
  beat(): void
}

export class Heartbeat {
  /** Number of the current turn, by the clock. */
  now = 0
  readonly #begunAt = performance.now()
  /** The streams to check in each turn. */
  readonly #turns = Array.from({ length: TURNS }, () => new Set<Beating>())
  readonly #every: number
  readonly #pace = new TimeSlice()
  #placed = 0
  #timer: NodeJS.Timeout | null = null

  /** `every`: in ms. */
  constructor(every = SILENCE_MS) {
    this.#every = every
  }

  /** Calls `beat` until the stream is deleted. */
  add(one: Beating): void {
    // the counter stands still without a timer
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
    // a busy event loop calls this late: the missed turns are run now, each once
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
