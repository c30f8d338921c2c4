/**
 * What is known by a text that callers send, the most recent of it. In two parts: what was asked for again, and what came once; so
 * texts that are new each time, however many come, displace only each other.
 */
import { LRUCache } from 'lru-cache'

interface Bounds {
  maxEntries: number
  /** characters of all texts together */
  maxTotalLength: number
  /** of a single one; a longer one is not remembered */
  maxKeyLength: number
}

/** The part of the bounds that is for what came once. */
const PROBATION_SHARE = 1 / 4

export class SegmentedLru<T extends object> {
  readonly #protected: LRUCache<string, T>
  readonly #probation: LRUCache<string, T>

  constructor({ maxEntries: most, maxTotalLength: text, maxKeyLength: longest }: Bounds) {
    const part = (share: number) =>
      new LRUCache<string, T>({
        max: Math.ceil(most * share),
        maxSize: Math.ceil(text * share),
        maxEntrySize: longest,
        sizeCalculation: (_value, text) => Math.max(text.length, 1),
      })
    this.#protected = part(1 - PROBATION_SHARE)
    this.#probation = part(PROBATION_SHARE)
  }

  /** Somebody asks for it again. */
  get(text: string): T | undefined {
    const known = this.#protected.get(text)
    if (known) return known
    const once = this.#probation.get(text)
    if (once) {
      this.#probation.delete(text)
      this.#protected.set(text, once)
    }
    return once
  }

  /** What is known of it, whoever has asked. */
  peek(text: string): T | undefined {
    return this.#protected.peek(text) ?? this.#probation.peek(text)
  }

  set(text: string, value: T): void {
    if (this.#protected.has(text)) this.#protected.set(text, value)
    else this.#probation.set(text, value)
  }
}
