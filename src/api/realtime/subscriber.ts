/** One subscriber of a stream: its position and its outlet. */
import type { Batch, Ending, Outlet } from './frames.ts'
import { type Beginning, StreamInterruptedError } from './stream.ts'

export class Subscriber {
  readonly outlet: Outlet
  /** It has everything up to here. */
  position: bigint
  knownEnd: bigint
  completesAtKnownEnd: boolean
  /** The snapshot was sent. Before that, resuming after `position` would miss it. */
  begun: boolean
  /** It receives its group's batches; otherwise it reads by itself until it has caught up. */
  live = false
  /** It was live, and its client was too slow. */
  behind = false
  ended = false
  readonly #cursorOf: (position: bigint) => string
  readonly #release: () => void

  /** `release` is called once, at any end. */
  constructor(
    outlet: Outlet,
    { position, knownEnd, completesAtKnownEnd, snapshot }: Beginning<never, unknown>,
    cursorOf: (position: bigint) => string,
    release: () => void,
  ) {
    this.outlet = outlet
    this.position = position
    this.knownEnd = knownEnd
    this.completesAtKnownEnd = completesAtKnownEnd
    this.begun = snapshot === null
    this.#cursorOf = cursorOf
    this.#release = release
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
    const { cursor } = this
    this.outlet.end('error' in how && cursor !== null ? { cursor, ...how } : how)
  }

  /** The `after` to continue with; null: repeat the first subscription. */
  get cursor(): string | null {
    return this.begun ? this.#cursorOf(this.position) : null
  }

  /** Ends it early, with the cursor to continue from. */
  interrupt(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string): void {
    this.end({ error: new StreamInterruptedError(code, why, this.cursor) })
  }
}
