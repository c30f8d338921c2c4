/**
 * A small, short-lived cache of look-ups that shares one look-up among concurrent callers. Running look-ups are kept outside
 * the LRU cache (its `fetch`): a flood of unknown keys would evict the known ones.
 */
import { LRUCache } from 'lru-cache'

export interface Found<T> {
  value: T
  /** the id that `forget` takes */
  id: string
  /** the id of what the entry depends on; `forget` takes it, too */
  parentId?: string | null
  /** maximum cache time if the entry expires by itself */
  maxAgeMs: number | null
}

export class LookupCache<T> {
  readonly #entries: LRUCache<string, Found<T>>
  readonly #inFlight = new Map<string, Promise<Found<T> | null>>()
  readonly #ttlMs: number
  /** incremented by every `forget`; the result of a look-up that began before is not cached */
  #generation = 0

  constructor({ ttlMs, maxEntries }: { ttlMs: number; maxEntries: number }) {
    this.#ttlMs = ttlMs
    this.#entries = new LRUCache({ max: maxEntries })
  }

  /** The cached value; null: none. */
  peek(key: string): T | null {
    return this.#entries.get(key)?.value ?? null
  }

  /** The cached value, or the result of `lookUp`. Null results are not cached, so a new key works immediately. */
  async get(key: string, lookUp: () => Promise<Found<T> | null>): Promise<T | null> {
    const entry = this.#entries.get(key)
    if (entry) return entry.value
    const pending = this.#inFlight.get(key) ?? this.#startLookUp(key, lookUp)
    return (await pending)?.value ?? null
  }

  /** Drops all entries with this id or parent id. */
  forget(id: string): void {
    this.#generation++
    this.#inFlight.clear()
    for (const [key, found] of this.#entries) if (found.id === id || found.parentId === id) this.#entries.delete(key)
  }

  clear(): void {
    this.#generation++
    this.#inFlight.clear()
    this.#entries.clear()
  }

  #startLookUp(key: string, lookUp: () => Promise<Found<T> | null>): Promise<Found<T> | null> {
    const generation = this.#generation
    const pending = lookUp()
      .then((found) => {
        if (found && generation === this.#generation) this.#store(key, found)
        return found
      })
      .finally(() => {
        if (this.#inFlight.get(key) === pending) this.#inFlight.delete(key)
      })
    this.#inFlight.set(key, pending)
    return pending
  }

  #store(key: string, found: Found<T>): void {
    const ttl = Math.min(this.#ttlMs, found.maxAgeMs ?? Number.POSITIVE_INFINITY)
    // the LRU cache treats 0 as no expiry
    if (ttl > 0) this.#entries.set(key, found, { ttl })
  }
}
