/**
 * The interfaces between a log and its clients: `Rendering` turns items into text once per group, `Batch` encodes them
 * once per format, `Outlet` sends them to one client.
 */

/**
 * Turns items into text. Equal keys must mean equal texts. So a key names the document, its variables and operation
 * (or the REST form), and all rights of the caller that can affect the text. Streams with equal keys form a group.
 */
export interface Rendering {
  readonly key: string
  /** Returns one text per value, in order; null sends nothing. An error that isn't a value's own ends the streams. */
  render(values: readonly unknown[]): Promise<readonly (string | null)[]>
}

export interface Frame {
  /** The `after` to continue behind it. */
  readonly cursor: string
  readonly position: bigint
  readonly value: unknown
  /** One line of JSON. */
  readonly text: string
}

/** Frames for all subscribers of a group, in order. */
export class Batch {
  readonly frames: readonly Frame[]
  /** All matching items up to this position were sent before, or are in this batch. */
  readonly end: bigint
  readonly #encoded = new Map<string, unknown>()
  readonly #tails = new Map<bigint, Batch>()

  constructor(frames: readonly Frame[], end: bigint) {
    this.frames = frames
    this.end = end
  }

  /** Returns the result of `make`, computed once per `format`. */
  encoded<T>(format: string, make: (frames: readonly Frame[]) => T): T {
    if (!this.#encoded.has(format)) this.#encoded.set(format, make(this.frames))
    return this.#encoded.get(format) as T
  }

  /** The part after `position`, for a subscriber that has the rest. */
  after(position: bigint): Batch {
    const first = this.frames[0]
    if (first === undefined || first.position > position) return this
    const rest = () => this.frames.filter((frame) => frame.position > position)
    const tail = this.#tails.get(position) ?? new Batch(rest(), this.end)
    this.#tails.set(position, tail)
    return tail
  }
}

/**
 * `complete`: no more items can come. `error`: an early end; everything up to `cursor` was sent, or nothing without
 * a cursor.
 */
export type Ending = { complete: true } | { error: unknown; cursor?: string }

/**
 * The connection to one client: an SSE response or an operation on a WebSocket. The transport creates it, the group drives it. No method may throw.
 */
export interface Outlet {
  /**
   * Called once, first. `cursor`: where the stream begins; null: with a snapshot, before which no client can resume.
   */
  begin?(cursor: string | null): void
  send(batch: Batch): void
  /** Too much data waits for the client: the group sends nothing until `drained` resolves, and finally cuts it off. */
  readonly full: boolean
  /** Resolves when it isn't full any more, or when the client is gone. */
  drained(): Promise<void>
  /** Called once, last. Data that was sent before still reaches the client. */
  end(how: Ending): void
  /** `leave` is called when the client is gone, also if it already was; not after `end`. */
  onGone(leave: () => void): void
}
