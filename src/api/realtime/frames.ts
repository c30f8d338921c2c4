/**
 * What a stream sends: items of a log as text, made once for all who get the same (`Rendering`), packed once for all who get
 * it in the same form (`Batch`), and handed to each subscriber's way out (`Outlet`).
 */

/**
 * How items become text. Equal keys must mean equal texts: so a key names the document, its variables and the operation (or
 * the form of REST), and all rights of the caller that can show in the text. Streams with equal keys are one group.
 */
export interface Rendering<Value> {
  readonly key: string
  /** One text for each value, in their order; null: nothing is sent for it. Errors that are not a value's own end the streams. */
  render(values: readonly Value[]): Promise<readonly (string | null)[]>
}

export interface Frame<Value = unknown> {
  /** an `after` that goes on behind it */
  readonly cursor: string
  readonly position: bigint
  readonly value: Value
  /** one line of JSON */
  readonly text: string
}

/** Frames for all subscribers of a group, in order. */
export class Batch<Value = unknown> {
  readonly frames: readonly Frame<Value>[]
  /** everything up to this position that the subscriber wants was sent before, or is in here */
  readonly end: bigint
  readonly #encoded = new Map<string, unknown>()
  readonly #tails = new Map<bigint, Batch<Value>>()

  constructor(frames: readonly Frame<Value>[], end: bigint) {
    this.frames = frames
    this.end = end
  }

  /** What `make` gives, made once for each `format`, however many outlets ask. */
  encoded<T>(format: string, make: (frames: readonly Frame<Value>[]) => T): T {
    if (!this.#encoded.has(format)) this.#encoded.set(format, make(this.frames))
    return this.#encoded.get(format) as T
  }

  /** The part behind `position`, for one who has the rest already. */
  after(position: bigint): Batch<Value> {
    const first = this.frames[0]
    if (first === undefined || first.position > position) return this
    const tail = this.#tails.get(position) ?? new Batch(this.#framesAfter(position), this.end)
    this.#tails.set(position, tail)
    return tail
  }

  #framesAfter(position: bigint): Frame<Value>[] {
    return this.frames.filter((frame) => frame.position > position)
  }
}

/** `complete`: there will never be more. `error`: it ends before its time, with everything up to `cursor` sent; or before it began. */
export type Ending = { complete: true } | { error: unknown; cursor?: string }

/**
 * A subscriber's way out: an SSE response, an operation on a WebSocket, a reader of an AsyncIterable. Made by the transport,
 * driven by the group. None of these may throw.
 */
export interface Outlet<Value = unknown> {
  /** Called once before all others. `cursor`: where it begins; null: with a snapshot, before which nobody can go on. */
  begin?(cursor: string | null): void
  send(batch: Batch<Value>): void
  /** More waits for the client than should: until `drained` resolves nothing is sent, and in the end it is cut off. */
  readonly full: boolean
  /** Resolves when it is not full any more, or when the client is gone. */
  drained(): Promise<void>
  /** Called once, and nothing after it. What was sent before still reaches the client. */
  end(how: Ending): void
  /** `leave` is called when the client is gone, also if it was before; not after `end`. */
  onGone(leave: () => void): void
}
