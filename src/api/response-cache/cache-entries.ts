/** Least recently used cache entries, bounded in bytes in total and per owner. */
import { LRUCache } from 'lru-cache'

/** Approximate bookkeeping size of an entry. */
const ENTRY_OVERHEAD_BYTES = 300
/** One owner gets 1/4 of the cache at most, so that it can't evict all entries of others. */
const OWNER_FRACTION = 4
/** One entry gets 1/16 of the cache at most. */
const ENTRY_FRACTION = 16

interface Entry<V> {
  value: V
  owner: string
  size: number
}

interface Owner {
  bytes: number
  /** keys of the owner's entries, least recently used first */
  keys: Set<string>
}

export class CacheEntries<V extends object> {
  readonly #maxBytes: number
  readonly #owners = new Map<string, Owner>()
  readonly #entries: LRUCache<string, Entry<V>>

  constructor(bytes: number) {
    this.#maxBytes = bytes
    this.#entries = new LRUCache({
      maxSize: Math.max(bytes, 1),
      sizeCalculation: ({ size }) => size,
      dispose: (entry, key) => this.#removeFromOwner(key, entry),
    })
  }

  get size(): number {
    return this.#entries.calculatedSize
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    const { keys } = this.#owners.get(entry.owner)!
    keys.delete(key)
    keys.add(key)
    return entry.value
  }

  /** `bytes`: size of the value. Replaces the key's entry. A value that is too large is not cached. */
  set(key: string, owner: string, value: V, bytes: number): void {
    this.#entries.delete(key)
    const size = bytes + 2 * key.length + ENTRY_OVERHEAD_BYTES
    if (size > this.#maxBytes / ENTRY_FRACTION) return
    let state = this.#owners.get(owner)
    for (const oldest of state?.keys ?? []) {
      if (state!.bytes + size <= this.#maxBytes / OWNER_FRACTION) break
      this.#entries.delete(oldest)
    }
    // deleting an owner's last entry also deletes the owner
    state = this.#owners.get(owner)
    if (!state) {
      state = { bytes: 0, keys: new Set() }
      this.#owners.set(owner, state)
    }
    state.bytes += size
    state.keys.add(key)
    this.#entries.set(key, { value, owner, size })
  }

  #removeFromOwner(key: string, { owner, size }: Entry<V>): void {
    const state = this.#owners.get(owner)!
    state.bytes -= size
    state.keys.delete(key)
    if (state.keys.size === 0) this.#owners.delete(owner)
  }
}
