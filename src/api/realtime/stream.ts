/**
 * A stream, described: which log, what of it, where it begins, and what of it completes it. What a subscription's resolver
 * returns: the transport opens it with a rendering and an outlet. Whoever does not know it (plain graphql-js) reads it as
 * an AsyncIterable of its values.
 */
import type { Outlet, Rendering } from './frames.ts'
import { pull } from './pull-outlet.ts'

/** What of a log a stream has. */
export interface Selection<Item, Value> {
  /** names what is selected and how: streams of one log with equal keys have the same values */
  key: string
  /** for LogKind.read: what is wanted at most */
  scope: unknown
  includes(item: Item): boolean
  value(item: Item): Value
  /** of those it wants; absent: all. What completes the stream is looked at, and not always sent */
  isSent?(item: Item): boolean
  /** the stream is complete behind it; absent: behind none */
  isLast?(item: Item): boolean
}

/** Where a stream begins. */
export interface Beginning<Value> {
  /** the subscriber has everything up to here */
  position: bigint
  /** sent in front of the log: the state as of `position`; null: nothing is */
  snapshot: Value | null
  /** the log is known to reach here */
  knownEnd: bigint
  /** nothing more is to come behind `floor`: the stream completes there */
  completesAtKnownEnd: boolean
  /** Called when the stream is opened, with what completes it behind a later position. */
  onOpen?(complete: (position: bigint) => void): void
}

interface StreamOptions<Value> {
  /** values that wait for one who reads it by `next()`, until it is too slow */
  capacity: number
  open: Open<Value>
  close: () => void
}

/** Answers how to end it before its time. */
type Open<Value> = (rendering: Rendering<Value>, outlet: Outlet<Value>) => (error: unknown) => void

export class Stream<Value = unknown> implements AsyncIterable<Value> {
  readonly #options: StreamOptions<Value>

  /** Use `Feed.stream`. */
  constructor(options: StreamOptions<Value>) {
    this.#options = options
  }

  /**
   * Sends all of it to `outlet`, from its beginning until it is complete, the client is gone, or what is returned is called
   * with why it ends. To be called once; a stream that is not opened has to be closed.
   */
  open(rendering: Rendering<Value>, outlet: Outlet<Value>): (error: unknown) => void {
    return this.#options.open(rendering, outlet)
  }

  /** Nobody will open it. */
  close(): void {
    this.#options.close()
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Value> {
    return pull(this.#options.capacity, this.#options.open)
  }
}
