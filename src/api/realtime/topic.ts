/** One followed log on this server: its read position, its receivers, and its recent items for clients that are slightly behind. */
import type { LogKind } from './log-kinds.ts'
import type { LogReader } from './log-reader.ts'

/** Receives live items only. */
export interface Watcher<Item> {
  wants(item: Item): boolean
  on(item: Item): void
}

/** A group of subscribers; called after the topic has grown. */
export interface Follower<Item> {
  onGrown(items: readonly Item[], before: bigint): void
  stop(): void
}

export class Topic<Item> {
  readonly id: string
  readonly kind: LogKind<Item, unknown>
  /** Maximum number of recent items. */
  readonly capacity: number
  /** By selection and rendering. */
  readonly followers = new Map<string, Follower<Item>>()
  readonly watchers = new Set<Watcher<Item>>()
  /** Number of streams and watchers. */
  holders = 0
  readonly #reader: LogReader
  #position: bigint | null = null
  #ring: Ring<Item> | null = null
  readonly #placed: (() => void)[] = []

  constructor(id: string, kind: LogKind<Item, unknown>, capacity: number, reader: LogReader) {
    this.id = id
    this.kind = kind
    this.capacity = capacity
    this.#reader = reader
  }

  /** Everything up to here was published; null: the starting position isn't known yet. */
  get position(): bigint | null {
    return this.#position
  }

  /** Items up to this position were evicted from memory. */
  get evictedUpTo(): bigint {
    return this.#ring?.begins ?? 0n
  }

  /** Whether memory has all published items after `position`; false if `position` is ahead of them. */
  hasRecent(position: bigint): boolean {
    return this.#position !== null && position >= this.evictedUpTo && position <= this.#position
  }

  /** The log reaches `position`. A topic without a position begins there. */
  begin(position: bigint): void {
    if (this.#position !== null) return
    this.#position = position
    this.#ring = new Ring(this.capacity, this.kind, position)
    for (const placed of this.#placed.splice(0)) placed()
  }

  /** Resolves when it has a position: no later commit is missed. */
  placed(): Promise<void> {
    return new Promise((resolve) => void (this.#position === null ? this.#placed.push(resolve) : resolve()))
  }

  /** Publishes the items that follow its position, in order. */
  publish(items: readonly Item[]): void {
    const newest = items.at(-1)
    if (newest === undefined) return
    const before = this.#position!
    this.#position = this.kind.positionOf(newest)
    this.#ring!.push(items)
    for (const watcher of this.watchers) for (const item of items) if (watcher.wants(item)) watcher.on(item)
    for (const follower of this.followers.values()) follower.onGrown(items, before)
  }

  /**
   * Returns at most `limit` items after `after` and the position that they reach: all recent ones from memory, or
   * those of `scope` from the log, which reaches at least `target`. Throws ValidationError if some were removed.
   */
  async read(
    after: bigint,
    target: bigint,
    limit: number,
    scope: unknown,
  ): Promise<{ items: readonly Item[]; end: bigint }> {
    const recent = this.#position !== null && target <= this.#position ? this.#ring!.after(after, limit) : null
    const items = recent ?? (await this.#reader.past(() => this.kind.read(this.id, after, limit, scope)))
    if (recent === null) await this.#reader.past(() => this.kind.throwIfRemoved(this.id, after))
    const last = items.at(-1)
    if (items.length === limit) return { items, end: this.kind.positionOf(last!) }
    // the read may have found items beyond the known end
    const end = last === undefined || this.kind.positionOf(last) < target ? target : this.kind.positionOf(last)
    return { items, end }
  }
}

/** The ring's view of an item. */
interface Kind<Item> {
  positionOf(item: Item): bigint
  weightOf?(item: Item): number
}

/** Maximum size of the items in one ring. */
const MAX_WEIGHT_BYTES = 2_000_000

/** The recent items of a log in memory, for clients that reconnect or are slightly behind. */
export class Ring<Item> {
  readonly capacity: number
  readonly #kind: Kind<Item>
  #items: Item[] = []
  #weight = 0
  #begins: bigint

  /** All items after `begins` will be pushed. `capacity`: in items. */
  constructor(capacity: number, kind: Kind<Item>, begins: bigint) {
    this.capacity = capacity
    this.#kind = kind
    this.#begins = begins
  }

  /** All items after this position are in the ring. */
  get begins(): bigint {
    return this.#begins
  }

  /** `items`: the following items of the log, in order. */
  push(items: readonly Item[]): void {
    for (const item of items) {
      this.#items.push(item)
      this.#weight += this.#weightOf(item)
    }
    // evicts in blocks, because removing the first item moves all others
    if (this.#items.length < 2 * this.capacity && this.#weight < 2 * MAX_WEIGHT_BYTES) return
    let forgotten = 0
    while (this.#items.length - forgotten > this.capacity || this.#weight > MAX_WEIGHT_BYTES)
      this.#weight -= this.#weightOf(this.#items[forgotten++]!)
    this.#begins = this.#kind.positionOf(this.#items[forgotten - 1]!)
    this.#items = this.#items.slice(forgotten)
  }

  #weightOf(item: Item): number {
    return this.#kind.weightOf?.(item) ?? 0
  }

  /** The oldest `limit` items after `position`; null: some of them were evicted. */
  after(position: bigint, limit: number): Item[] | null {
    if (position < this.#begins) return null
    const from = this.#indexBehind(position)
    return this.#items.slice(from, from + limit)
  }

  #indexBehind(position: bigint): number {
    let low = 0
    let high = this.#items.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#kind.positionOf(this.#items[middle]!) <= position) low = middle + 1
      else high = middle
    }
    return low
  }
}
