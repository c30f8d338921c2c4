/**
 * Describes a stream: its log, selection, beginning and end. A subscription's resolver returns it, and the transport
 * opens it with a rendering and an outlet.
 */
import { DomainError } from '../../domain/errors/errors.ts'
import type { Outlet, Rendering } from './frames.ts'

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
export interface Beginning<Item, Value> {
  selection: Selection<Item, Value>
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

export class Stream<Value = unknown> implements AsyncIterable<Value> {
  /**
   * Sends everything to `outlet` until the stream completes, the client is gone, or the returned function is called
   * with the cause. Call it once, or call `close`.
   */
  readonly open: (rendering: Rendering, outlet: Outlet) => (error: unknown) => void
  /** Releases a stream that won't be opened. */
  readonly close: () => void

  /** Use `Feed.stream`. */
  constructor(open: Stream['open'], close: () => void) {
    this.open = open
    this.close = close
  }

  /** graphql-js recognizes a subscription's stream by this method, but only the transport reads it. */
  [Symbol.asyncIterator](): AsyncIterator<Value> {
    throw new Error('A stream is read by `open`.')
  }
}

/** The early end of a stream: its subscriber reads too slowly, or its server stops. */
export class StreamInterruptedError extends DomainError {
  /** The `after` to subscribe with again; null: nothing was delivered, so repeat the first subscription. */
  readonly cursor: string | null

  constructor(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string, cursor: string | null) {
    super(code, `${why} Nothing is lost: subscribe again${cursor === null ? '' : ` with after: "${cursor}"`}.`)
    this.cursor = cursor
  }
}
