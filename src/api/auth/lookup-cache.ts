/**
 * A small cache of look-ups: few entries, short-lived, one look-up for many callers that ask at once. After `forget` the
 * result of a look-up that was in flight at that moment is not kept either. Those in flight are not in the LRU cache (its
 * `fetch`): a flood of unknown keys would drive out the known ones.
 */
import { LRUCache } from 'lru-cache'

export interface Found<T> {
  value: T
  /** what `forget` names it by */
  id: string
  /** what else it hangs on, which `forget` may name as well; null or absent: nothing */
  parentId?: string | null
  /** ms for which it holds at most, when it ends by itself */
  maxAgeMs: number | null
}

export class LookupCache<T> {
  readonly #entries: LRUCache<string, Found<T>>
  readonly #inFlight = new Map<string, Promise<Found<T> | null>>()
  readonly #ttlMs: number
  /** grows with every `forget`: what was asked before it may be out of date */
  #generation = 0

  /** `ttl` in ms; `size`: the most entries that are kept. */
  constructor({ ttlMs, maxEntries }: { ttlMs: number; maxEntries: number }) {
    this.#ttlMs = ttlMs
    this.#entries = new LRUCache({ max: maxEntries })
  }

  /** What is cached under `key`; null: nothing is. */
  peek(key: string): T | null {
    return this.#entries.get(key)?.value ?? null
  }

  /** What is cached under `key`, or else what `look` finds. That nothing was found is not kept: a new key works at once. */
  async get(key: string, lookUp: () => Promise<Found<T> | null>): Promise<T | null> {
    const entry = this.#entries.get(key)
    if (entry) return entry.value
    const asked = this.#inFlight.get(key) ?? this.#startLookUp(key, lookUp)
    return (await asked)?.value ?? null
  }

  /** Forgets everything found under this id, and what hangs on it. */
  forget(id: string): void {
    this.#generation++
    this.#inFlight.clear()
    for (const [key, found] of this.#entries) if (found.id === id || found.parentId === id) this.#entries.delete(key)
  }

  /** Forgets everything: something may have been missed. */
  clear(): void {
    this.#generation++
    this.#inFlight.clear()
    this.#entries.clear()
  }

  #startLookUp(key: string, lookUp: () => Promise<Found<T> | null>): Promise<Found<T> | null> {
    const generation = this.#generation
    const asked = lookUp()
      .then((found) => {
        if (found && generation === this.#generation) this.#store(key, found)
        return found
      })
      .finally(() => {
        if (this.#inFlight.get(key) === asked) this.#inFlight.delete(key)
      })
    this.#inFlight.set(key, asked)
    return asked
  }

  #store(key: string, found: Found<T>): void {
    const ttl = Math.min(this.#ttlMs, found.maxAgeMs ?? Number.POSITIVE_INFINITY)
    // to the LRU cache 0 is for ever
    if (ttl > 0) this.#entries.set(key, found, { ttl })
  }
}
