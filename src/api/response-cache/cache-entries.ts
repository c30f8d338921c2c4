/** What is kept of answers, by how long ago it was last asked for: bounded in bytes, for all and for each who asks. */
import { LRUCache } from 'lru-cache'

/** Bytes that an entry takes beside what it says of itself, about. */
const ENTRY_OVERHEAD_BYTES = 300
/** One who asks may have so much of all, so that nobody drives out what others have asked for. */
const OWNER_FRACTION = 4
/** No single entry may have more of all than this. */
const ENTRY_FRACTION = 16

interface Entry<V> {
  value: V
  owner: string
  size: number
}

interface Owner {
  bytes: number
  /** of their entries, least recently used first */
  keys: Set<string>
}

export class CacheEntries<V extends object> {
  readonly #maxBytes: number
  readonly #owners = new Map<string, Owner>()
  readonly #entries: LRUCache<string, Entry<V>>

  /** `bytes`: of all of them. */
  constructor(bytes: number) {
    this.#maxBytes = bytes
    this.#entries = new LRUCache({
      maxSize: Math.max(bytes, 1),
      sizeCalculation: ({ size }) => size,
      dispose: (entry, key) => this.#removeFromOwner(key, entry),
    })
  }

  /** Bytes in use. */
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

  /** `bytes`: what the value takes. One that is too large is not kept, nor what there was by that key. */
  set(key: string, owner: string, value: V, bytes: number): void {
    this.#entries.delete(key)
    const size = bytes + 2 * key.length + ENTRY_OVERHEAD_BYTES
    if (size > this.#maxBytes / ENTRY_FRACTION) return
    let state = this.#owners.get(owner)
    for (const oldest of state?.keys ?? []) {
      if (state!.bytes + size <= this.#maxBytes / OWNER_FRACTION) break
      this.#entries.delete(oldest)
    }
    // with the last of its entries an owner is gone
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
