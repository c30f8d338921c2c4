/** Random choices that come again with their seed. */
export class Random {
  #state: number
  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to 1, without it (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** Whether something of this probability happens. */
  is(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!
  }

  /** One of them, or null as often as not. */
  maybe<T>(...values: readonly T[]): T | null {
    return this.is(0.5) ? this.of(values) : null
  }

  /** Some of them, at least one, in their order. */
  some<T>(values: readonly T[]): T[] {
    const kept = values.filter(() => this.is(0.4))
    return kept.length > 0 ? kept : [this.of(values)]
  }
}
