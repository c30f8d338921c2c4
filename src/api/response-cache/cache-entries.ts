/** What is kept of answers, by how long ago it was last asked for: bounded in bytes, for all and for each who asks. */
import { LRUCache } from 'lru-cache'

/** Bytes that an entry takes beside what it says of itself, about. */
const OVERHEAD = 300
/** One who asks may have so much of all, so that nobody drives out what others have asked for. */
const SHARE = 4
/** No single entry may have more of all than this. */
const LARGEST = 16

interface Kept<V> {
  value: V
  owner: string
  size: number
}

interface Owner {
  bytes: number
  /** of their entries, least recently used first */
  keys: Set<string>
}

export class KeptAnswers<V extends object> {
  readonly #most: number
  readonly #owners = new Map<string, Owner>()
  readonly #entries: LRUCache<string, Kept<V>>

  /** `bytes`: of all of them. */
  constructor(bytes: number) {
    this.#most = bytes
    this.#entries = new LRUCache({
      maxSize: Math.max(bytes, 1),
      sizeCalculation: ({ size }) => size,
      dispose: (kept, key) => this.#gone(key, kept),
    })
  }

  /** Bytes in use. */
  get size(): number {
    return this.#entries.calculatedSize
  }

  get(key: string): V | undefined {
    const kept = this.#entries.get(key)
    if (!kept) return undefined
    const { keys } = this.#owners.get(kept.owner)!
    keys.delete(key)
    keys.add(key)
    return kept.value
  }

  /** `bytes`: what the value takes. One that is too large is not kept, nor what there was by that key. */
  set(key: string, owner: string, value: V, bytes: number): void {
    this.#entries.delete(key)
    const size = bytes + 2 * key.length + OVERHEAD
    if (size > this.#most / LARGEST) return
    let own = this.#owners.get(owner)
    for (const oldest of own?.keys ?? []) {
      if (own!.bytes + size <= this.#most / SHARE) break
      this.#entries.delete(oldest)
    }
    // with the last of its entries an owner is gone
    own = this.#owners.get(owner)
    if (!own) {
      own = { bytes: 0, keys: new Set() }
      this.#owners.set(owner, own)
    }
    own.bytes += size
    own.keys.add(key)
    this.#entries.set(key, { value, owner, size })
  }

  #gone(key: string, { owner, size }: Kept<V>): void {
    const own = this.#owners.get(owner)!
    own.bytes -= size
    own.keys.delete(key)
    if (own.keys.size === 0) this.#owners.delete(owner)
  }
}
