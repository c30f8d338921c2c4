/** The recent items of a log in memory, for clients that reconnect or are slightly behind. */

/** The ring's view of an item. */
interface Kind<Item> {
  positionOf(item: Item): bigint
  weightOf?(item: Item): number
}

/** Maximum size of the items in one ring. */
const MAX_WEIGHT_BYTES = 2_000_000

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
