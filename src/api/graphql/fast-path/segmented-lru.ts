/**
 * What is known by a text that callers send, the most recent of it. In two parts: what was asked for again, and what came once; so
 * texts that are new each time, however many come, displace only each other.
 */
import { LRUCache } from 'lru-cache'

interface Bounds {
  most: number
  /** characters of all texts together */
  text: number
  /** of a single one; a longer one is not remembered */
  longest: number
}

/** The part of the bounds that is for what came once. */
const ONCE = 1 / 4

export class Remembered<T extends object> {
  readonly #again: LRUCache<string, T>
  readonly #once: LRUCache<string, T>

  constructor({ most, text, longest }: Bounds) {
    const part = (share: number) =>
      new LRUCache<string, T>({
        max: Math.ceil(most * share),
        maxSize: Math.ceil(text * share),
        maxEntrySize: longest,
        sizeCalculation: (_value, text) => Math.max(text.length, 1),
      })
    this.#again = part(1 - ONCE)
    this.#once = part(ONCE)
  }

  /** Somebody asks for it again. */
  get(text: string): T | undefined {
    const known = this.#again.get(text)
    if (known) return known
    const once = this.#once.get(text)
    if (once) {
      this.#once.delete(text)
      this.#again.set(text, once)
    }
    return once
  }

  /** What is known of it, whoever has asked. */
  peek(text: string): T | undefined {
    return this.#again.peek(text) ?? this.#once.peek(text)
  }

  set(text: string, value: T): void {
    if (this.#again.has(text)) this.#again.set(text, value)
    else this.#once.set(text, value)
  }
}
