/**
 * Describes a stream: its log, selection, beginning and end. A subscription's resolver returns it, and the transport
 * opens it with a rendering and an outlet. Other readers (plain graphql-js) iterate over its values.
 */
import type { Outlet, Rendering } from './frames.ts'
import { pull } from './pull-outlet.ts'

/** The part of a log that a stream contains. */
export interface Selection<Item, Value> {
  /** Names the selection: streams of one log with equal keys have equal values. */
  key: string
  /** The scope for LogKind.read; a superset of the included items. */
  scope: unknown
  includes(item: Item): boolean
  value(item: Item): Value
  /** Whether an included item is sent; default: always. The completing item may not be. */
  isSent?(item: Item): boolean
  /** Whether the stream completes after this item; default: never. */
  isLast?(item: Item): boolean
}

/** The starting point of a stream. */
export interface Beginning<Value> {
  /** The subscriber has everything up to here. */
  position: bigint
  /** The state as of `position`, sent first; null: none. */
  snapshot: Value | null
  /** The log reaches at least this position. */
  knownEnd: bigint
  /** The stream completes at `knownEnd`. */
  completesAtKnownEnd: boolean
  /** Called when the stream is opened, with a function that completes it at a later position. */
  onOpen?(complete: (position: bigint) => void): void
}

interface StreamOptions<Value> {
  /** Waiting values from which a reader by `next()` is too slow. */
  capacity: number
  open: Open<Value>
  close: () => void
}

/** Returns the function that ends it early. */
type Open<Value> = (rendering: Rendering<Value>, outlet: Outlet<Value>) => (error: unknown) => void

export class Stream<Value = unknown> implements AsyncIterable<Value> {
  readonly #options: StreamOptions<Value>

  /** Use `Feed.stream`. */
  constructor(options: StreamOptions<Value>) {
    this.#options = options
  }

  /**
   * Sends everything to `outlet` until the stream completes, the client is gone, or the returned function is called
   * with the cause. Call it once, or call `close`.
   */
  open(rendering: Rendering<Value>, outlet: Outlet<Value>): (error: unknown) => void {
    return this.#options.open(rendering, outlet)
  }

  /** Releases a stream that won't be opened. */
  close(): void {
    this.#options.close()
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<Value> {
    return pull(this.#options.capacity, this.#options.open)
  }
}
