/**
 * Segmented LRU cache by client-sent text: new keys enter a probation segment; keys requested again move to the protected
 * one. One-time texts evict only each other.
 */
import { LRUCache } from 'lru-cache'

interface Bounds {
  maxEntries: number
  /** characters of all keys together */
  maxTotalLength: number
  /** longer keys are not cached */
  maxKeyLength: number
}

/** Share of the bounds for keys that were requested once. */
const PROBATION_SHARE = 1 / 4

export class SegmentedLru<T extends object> {
  readonly #protected: LRUCache<string, T>
  readonly #probation: LRUCache<string, T>

  constructor({ maxEntries, maxTotalLength, maxKeyLength }: Bounds) {
    const part = (share: number) =>
      new LRUCache<string, T>({
        max: Math.ceil(maxEntries * share),
        maxSize: Math.ceil(maxTotalLength * share),
        maxEntrySize: maxKeyLength,
        sizeCalculation: (_value, text) => Math.max(text.length, 1),
      })
    this.#protected = part(1 - PROBATION_SHARE)
    this.#probation = part(PROBATION_SHARE)
  }

  /** Returns the value and moves its key to the protected segment. */
  get(text: string): T | undefined {
    const value = this.#protected.get(text)
    if (value) return value
    const once = this.#probation.get(text)
    if (once) {
      this.#probation.delete(text)
      this.#protected.set(text, once)
    }
    return once
  }

  set(text: string, value: T): void {
    if (this.#protected.has(text)) this.#protected.set(text, value)
    else this.#probation.set(text, value)
  }
}
