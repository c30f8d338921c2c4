/** One followed log on this server: its read position, its recent items and their receivers. */
import type { LogKind } from './log-kinds.ts'
import type { LogReader } from './log-reader.ts'
import { Ring } from './ring.ts'

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
