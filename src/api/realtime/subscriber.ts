/** One who is subscribed to a stream: how far it is, and its way out. */

import type { Batch, Ending, Outlet } from './frames.ts'
import { StreamInterruptedError } from './stream-interrupted-error.ts'

export interface SubscriberOptions<Value> {
  outlet: Outlet<Value>
  /** it has everything up to here */
  position: bigint
  /** the log is known to reach here */
  knownEnd: bigint
  /** nothing is to come behind `floor`: it completes there */
  completesAtKnownEnd: boolean
  /** what it begins with is sent; until then nobody can go on behind `position` without missing it */
  begun: boolean
  cursorOf: (position: bigint) => string
  /** called once, when it ends for whatever reason */
  release: () => void
}

export class Subscriber<Value> {
  readonly outlet: Outlet<Value>
  knownEnd: bigint
  completesAtKnownEnd: boolean
  position: bigint
  /** it gets what its group gets; otherwise it reads by itself, until it has caught up */
  live = false
  /** it was live, and its client did not keep up */
  behind = false
  ended = false
  begun: boolean
  readonly #cursorOf: (position: bigint) => string
  readonly #release: () => void

  constructor({
    outlet,
    position,
    knownEnd: floor,
    completesAtKnownEnd: until,
    begun,
    cursorOf,
    release,
  }: SubscriberOptions<Value>) {
    this.outlet = outlet
    this.position = position
    this.knownEnd = floor
    this.completesAtKnownEnd = until
    this.begun = begun
    this.#cursorOf = cursorOf
    this.#release = release
  }

  /** Sends what it does not have of a batch. */
  take(batch: Batch<Value>): void {
    const news = batch.after(this.position)
    try {
      if (news.frames.length > 0) this.outlet.send(news)
    } catch (error) {
      // an outlet's fault is none of the others in its group
      this.end({ error })
    }
    if (batch.end > this.position) this.position = batch.end
  }

  /** Nothing is to come behind `position`. */
  finishAt(position: bigint): void {
    if (position > this.knownEnd) this.knownEnd = position
    this.completesAtKnownEnd = true
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

  /** Ends it with the cursor to go on from. */
  interrupt(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string): void {
    if (this.ended) return
    this.end({ error: new StreamInterruptedError(code, why, this.#cursor) })
  }
}
