/** One subscriber of a stream: its position and its outlet. */

import type { Batch, Ending, Outlet } from './frames.ts'
import { StreamInterruptedError } from './stream.ts'

export interface SubscriberOptions {
  outlet: Outlet
  /** It has everything up to here. */
  position: bigint
  /** The log reaches at least this position. */
  knownEnd: bigint
  /** It completes at `knownEnd`. */
  completesAtKnownEnd: boolean
  /** The snapshot was sent. Before that, resuming after `position` would miss it. */
  begun: boolean
  cursorOf: (position: bigint) => string
  /** Called once, at any end. */
  release: () => void
}

export class Subscriber {
  readonly outlet: Outlet
  knownEnd: bigint
  completesAtKnownEnd: boolean
  position: bigint
  /** It receives its group's batches; otherwise it reads by itself until it has caught up. */
  live = false
  /** It was live, and its client was too slow. */
  behind = false
  ended = false
  begun: boolean
  readonly #cursorOf: (position: bigint) => string
  readonly #release: () => void

  constructor(options: SubscriberOptions) {
    this.outlet = options.outlet
    this.position = options.position
    this.knownEnd = options.knownEnd
    this.completesAtKnownEnd = options.completesAtKnownEnd
    this.begun = options.begun
    this.#cursorOf = options.cursorOf
    this.#release = options.release
  }

  /** Sends the part of a batch that it lacks. */
  take(batch: Batch): void {
    const news = batch.after(this.position)
    try {
      if (news.frames.length > 0) this.outlet.send(news)
    } catch (error) {
      // an outlet's error must not affect the others of the group
      this.end({ error })
    }
    if (batch.end > this.position) this.position = batch.end
  }

  /** Its client is gone. */
  leave(): void {
    if (this.ended) return
    this.ended = true
    this.live = false
    this.#release()
  }

  end(how: Ending): void {
    if (this.ended) return
    this.leave()
    const cursor = this.#cursor
    this.outlet.end('error' in how && cursor !== null ? { cursor, ...how } : how)
  }

  get #cursor(): string | null {
    return this.begun ? this.#cursorOf(this.position) : null
  }

  /** Ends it early, with the cursor to continue from. */
  interrupt(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string): void {
    this.end({ error: new StreamInterruptedError(code, why, this.#cursor) })
  }
}
