/**
 * The events that wait for one subscriber, bounded. Its owner first catches up from the log, at its own pace;
 * meanwhile a mailbox that is full forgets what it has, since the log can be read again. Once it is live, being
 * full ends it: that one subscriber is too slow, and nobody else shall notice.
 */
import type { StoredEvent } from '../../domain/events/read.ts'

export class Mailbox {
  /**
   * Everything after this sequence number that the subscriber wants is in here, or has been taken out. Null until
   * the workspace's position is known.
   */
  since: bigint | null = null
  readonly capacity: number
  readonly #wants: (event: StoredEvent) => boolean
  readonly #leave: (mailbox: Mailbox) => void
  readonly #ended = new AbortController()
  #queue: StoredEvent[] = []
  #live = false
  #overflowed = false
  #wake: (() => void) | null = null

  /** `leave` takes it off the list it stands on; called once, at its end. */
  constructor(capacity: number, wants: (event: StoredEvent) => boolean, leave: (mailbox: Mailbox) => void) {
    this.capacity = capacity
    this.#wants = wants
    this.#leave = leave
  }

  /** Aborts when it ends, for whatever reason. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** It ended because it was full. */
  get overflowed(): boolean {
    return this.#overflowed
  }

  /** How many events wait. */
  get size(): number {
    return this.#queue.length
  }

  /** Puts an event in; the hub calls it in sequence order. */
  offer(event: StoredEvent): void {
    if (!this.#wants(event)) return
    if (this.#queue.length < this.capacity) {
      this.#queue.push(event)
      this.#wake?.()
    } else if (this.#live) {
      this.#overflowed = true
      this.close()
    } else {
      this.#queue = []
      this.since = event.sequence
    }
  }

  /**
   * Its owner has everything up to `position`. True: what comes next is in here, and from now on being full ends
   * it. False: the log has to be read on from `position` first.
   */
  goLive(position: bigint): boolean {
    this.#live = this.since !== null && position >= this.since
    return this.#live
  }

  /** The next event; waits for it. Undefined at the end. One caller at a time. */
  async next(): Promise<StoredEvent | undefined> {
    while (this.#queue.length === 0 && !this.#ended.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
    return this.#queue.shift()
  }

  /** Ends it and frees what it holds. */
  close(): void {
    if (this.#ended.signal.aborted) return
    this.#queue = []
    this.#leave(this)
    this.#ended.abort()
    this.#wake?.()
  }
}
