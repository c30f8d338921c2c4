/** One who is subscribed to a stream: how far it is, and its way out. */

import type { Batch, Ending, Outlet } from './frames.ts'
import { StreamInterruptedError } from './interrupted.ts'

export interface SubscriberOptions<Value> {
  outlet: Outlet<Value>
  /** it has everything up to here */
  position: bigint
  /** the log is known to reach here */
  floor: bigint
  /** nothing is to come behind `floor`: it completes there */
  until: boolean
  cursorOf: (position: bigint) => string
  /** called once, when it ends for whatever reason */
  release: () => void
}

export class Subscriber<Value> {
  readonly outlet: Outlet<Value>
  floor: bigint
  until: boolean
  position: bigint
  /** it gets what its group gets; otherwise it reads by itself, until it has caught up */
  live = false
  /** it was live, and its client did not keep up */
  behind = false
  ended = false
  readonly #cursorOf: (position: bigint) => string
  readonly #release: () => void

  constructor({ outlet, position, floor, until, cursorOf, release }: SubscriberOptions<Value>) {
    this.outlet = outlet
    this.position = position
    this.floor = floor
    this.until = until
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
    if (position > this.floor) this.floor = position
    this.until = true
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
    this.outlet.end('error' in how ? { cursor: this.#cursorOf(this.position), ...how } : how)
  }

  /** Ends it with the cursor to go on from. */
  interrupt(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string): void {
    if (this.ended) return
    this.end({ error: new StreamInterruptedError(code, why, this.#cursorOf(this.position)) })
  }
}
