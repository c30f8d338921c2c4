/**
 * Sends comments to silent streams, so that proxies keep them open: one timer for all streams of a server. Few streams
 * beat at a time, and only after a long silence, so beats don't delay events.
 */
import { TimeSlice } from '../realtime/time-slice.ts'

/** A stream gets a beat after this silence. docs/api-rules.md promises 15 s; the rest covers a busy event loop. */
const SILENCE_MS = 10_000
/** The silence in turns; each turn checks all streams. */
const TURNS = 10
/** Streams written at the same moment get their beats in this many turns. */
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
  /** Each stream with its silence in turns. */
  readonly #streams = new Map<Beating, number>()
  readonly #turnMs: number
  readonly #pace = new TimeSlice()
  #counter = 0
  #timer: NodeJS.Timeout | null = null

  constructor(silenceMs = SILENCE_MS) {
    this.#turnMs = silenceMs / TURNS
  }

  /** Calls `beat` until the stream is deleted. */
  add(one: Beating): void {
    // the counter stands still without a timer
    if (!this.#timer) this.now = this.#currentTurn
    one.wroteAt = this.now
    this.#streams.set(one, this.#nextSilence)
    this.#timer ??= this.#later()
  }

  delete(one: Beating): void {
    this.#streams.delete(one)
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => void this.#beatSilent(), this.#turnMs).unref()
  }

  get #nextSilence(): number {
    return TURNS - (this.#counter++ % SPREAD_TURNS)
  }

  get #currentTurn(): number {
    return Math.floor((performance.now() - this.#begunAt) / this.#turnMs)
  }

  async #beatSilent(): Promise<void> {
    this.now = this.#currentTurn
    let i = 0
    for (const [one, silence] of this.#streams) {
      if (i++ % STREAMS_PER_CHECK === 0 && this.#pace.isUsedUp) await this.#pace.next()
      // it may have ended during the pause
      if (!this.#streams.has(one) || this.now - one.wroteAt < silence) continue
      one.wroteAt = this.now
      this.#streams.set(one, this.#nextSilence)
      one.beat()
    }
    this.#timer = this.#streams.size > 0 ? this.#later() : null
  }
}
