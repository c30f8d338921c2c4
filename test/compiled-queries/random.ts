/** Pseudo-random choices that repeat with the same seed. */
export class Random {
  #state: number
  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 (inclusive) to 1 (exclusive), by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** True with this probability. */
  happens(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number from 0 to `end` - 1. */
  integerBelow(end: number): number {
    return Math.floor(this.next() * end)
  }

  uuid(): string {
    const hex = Array.from({ length: 8 }, () => this.integerBelow(65_536).toString(16).padStart(4, '0')).join('')
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-')
  }

  pick<T>(values: readonly T[]): T {
    return values[this.integerBelow(values.length)]!
  }

  /** One of the values, or null with probability 1/2. */
  pickOrNull<T>(...values: readonly T[]): T | null {
    return this.happens(0.5) ? this.pick(values) : null
  }

  /** At least one of the values, in order. */
  pickSome<T>(values: readonly T[]): T[] {
    const kept = values.filter(() => this.happens(0.4))
    return kept.length > 0 ? kept : [this.pick(values)]
  }
}
