/** One log that somebody on this server listens to: how far it was read, its recent items, and who gets them. */
import type { LogKind } from './log-kind.ts'
import type { LogReader } from './log-reader.ts'
import { Ring } from './ring.ts'

/** Somebody who is called with live items and nothing else. */
export interface Watcher<Item> {
  wants(item: Item): boolean
  on(item: Item): void
}

/** A group of subscribers: is told when the log has grown, after its topic. */
export interface Follower<Item> {
  onGrown(items: readonly Item[], before: bigint): void
  stop(): void
}

export class Topic<Item> {
  readonly id: string
  readonly kind: LogKind<Item, unknown>
  /** in items: of those that are remembered */
  readonly capacity: number
  /** by what they select and how it is rendered */
  readonly followers = new Map<string, Follower<Item>>()
  readonly watchers = new Set<Watcher<Item>>()
  /** streams and watchers that need it; without any it is not read */
  holders = 0
  /** nobody needed it for a while: what is behind its position may be much */
  stale = false
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

  /** Everything up to it was handed out; null: it is not known yet where to begin. */
  get position(): bigint | null {
    return this.#position
  }

  /** Items up to this position are not remembered any more. */
  get evictedUpTo(): bigint {
    return this.#ring?.begins ?? 0n
  }

  /** Whether all items behind `position` are remembered that were handed out; not, where `position` is ahead of them. */
  hasRecent(position: bigint): boolean {
    return !this.stale && this.#position !== null && position >= this.evictedUpTo && position <= this.#position
  }

  /** The log is known to reach `position`. Without a place to begin, or with one that is long past, it begins there. */
  begin(position: bigint): void {
    const long = this.stale && this.#position !== null && position - this.#position > BigInt(this.capacity)
    this.stale = false
    if (this.#position === null || long) {
      this.#position = position
      this.#ring = new Ring(this.capacity, this.kind, position)
    }
    for (const positioned of this.#placed.splice(0)) positioned()
  }

  /** Resolves when it has a place: from then on nothing that is committed is missed. */
  placed(): Promise<void> {
    if (this.#position !== null && !this.stale) return Promise.resolve()
    return new Promise((resolve) => this.#placed.push(resolve))
  }

  /** Hands out what follows `position` in the log, in order. */
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
   * Items behind `after`, at most `limit`, and how far that reaches: of the recent ones all, otherwise those of `scope`.
   * The log is known to reach `target`. Throws ValidationError when some were removed.
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
    // what was read just now may reach further than what was known before
    const end = last === undefined || this.kind.positionOf(last) < target ? target : this.kind.positionOf(last)
    return { items, end }
  }

  cursorOf(position: bigint): string {
    return this.kind.cursorOf(this.id, position)
  }
}
