/** The recent items of a log, in memory: those who come back or are a little behind need not read it. */

export class Ring<Item> {
  readonly capacity: number
  readonly #positionOf: (item: Item) => bigint
  #items: Item[] = []
  #begins: bigint

  /** Everything behind `begins` will be put in. `capacity`: in items. */
  constructor(capacity: number, positionOf: (item: Item) => bigint, begins: bigint) {
    this.capacity = capacity
    this.#positionOf = positionOf
    this.#begins = begins
  }

  /** All items behind this position are in here. */
  get begins(): bigint {
    return this.#begins
  }

  /** `items`: what follows in the log, in order. */
  push(items: readonly Item[]): void {
    this.#items.push(...items)
    // not with each item: taking one off the front moves all others
    if (this.#items.length < 2 * this.capacity) return
    const forgotten = this.#items.length - this.capacity
    this.#begins = this.#positionOf(this.#items[forgotten - 1]!)
    this.#items = this.#items.slice(forgotten)
  }

  /** The oldest `limit` items behind `position`; null: some of them were forgotten. */
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
      if (this.#positionOf(this.#items[middle]!) <= position) low = middle + 1
      else high = middle
    }
    return low
  }
}
