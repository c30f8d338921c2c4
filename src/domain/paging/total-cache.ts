/** Caches totals, so pages do not count again: exact ones until the workspace changes, estimates for 10 s. */
import { LRUCache } from 'lru-cache'
import type { Total } from './total.ts'

const ESTIMATE_TTL_MS = 10_000
/** While one caller counts again, others still get the old estimate for this time. */
const STALE_WHILE_REVALIDATE_MS = 2_000
const MAX_ENTRIES = 5_000
/** A long key contains a list of ids and is unlikely to repeat. */
const MAX_KEY_CHARS = 500

interface CachedTotal {
  total: Total
  /** the workspace's version for an exact total, ignoring calls of listeners */
  version: string | null
  /** end of an estimate's lifetime, ms since 1970 */
  until: number
}

export class TotalCache {
  readonly #known = new LRUCache<string, CachedTotal>({ max: MAX_ENTRIES })

  /** A valid estimate. When it expires, the first caller gets null and counts again. */
  estimate(key: string): Total | null {
    const known = this.#known.get(key)
    if (!known?.total.isEstimate) return null
    const now = Date.now()
    if (now < known.until) return known.total
    known.until = now + STALE_WHILE_REVALIDATE_MS
    return null
  }

  exact(key: string): { total: Total; version: string } | null {
    const known = this.#known.get(key)
    return known && known.version !== null ? { total: known.total, version: known.version } : null
  }

  /** `version`: the version of an exact total; null: don't cache it. */
  keep(key: string, total: Total, version: string | null): void {
    if (key.length > MAX_KEY_CHARS) return
    if (total.isEstimate) this.#known.set(key, { total, version: null, until: Date.now() + ESTIMATE_TTL_MS })
    else if (version !== null) this.#known.set(key, { total, version, until: 0 })
    else this.#known.delete(key)
  }
}
