/**
 * Totals that were found before: an exact one is right while nothing in its workspace has changed, an estimate is good enough for
 * some seconds whatever happens. So the pages of a list count once, and what has many rows is not counted at each page.
 */
import { LRUCache } from 'lru-cache'
import type { Total } from './total.ts'

/** ms that an estimate is given again */
const ESTIMATE_TTL_MS = 10_000
/** ms that others are still given it while one counts anew */
const STALE_WHILE_REVALIDATE_MS = 2_000
const MAX_ENTRIES = 5_000
/** characters: a list of ids is not likely to come again */
const MAX_KEY_CHARS = 500

interface CachedTotal {
  total: Total
  /** of the workspace, without what is heard of listeners: of an exact one */
  version: string | null
  /** ms since 1970: of an estimate */
  until: number
}

export class TotalCache {
  readonly #known = new LRUCache<string, CachedTotal>({ max: MAX_ENTRIES })

  /** An estimate that will do. One that has become old its first reader is not given, so that somebody counts anew. */
  estimate(key: string): Total | null {
    const known = this.#known.get(key)
    if (!known?.total.isEstimate) return null
    const now = Date.now()
    if (now < known.until) return known.total
    known.until = now + STALE_WHILE_REVALIDATE_MS
    return null
  }

  /** An exact one, and at which version it was that. */
  exact(key: string): { total: Total; version: string } | null {
    const known = this.#known.get(key)
    return known && known.version !== null ? { total: known.total, version: known.version } : null
  }

  /** `version`: that an exact one was counted at; null: it is not to be kept. */
  keep(key: string, total: Total, version: string | null): void {
    if (key.length > MAX_KEY_CHARS) return
    if (total.isEstimate) this.#known.set(key, { total, version: null, until: Date.now() + ESTIMATE_TTL_MS })
    else if (version !== null) this.#known.set(key, { total, version, until: 0 })
    else this.#known.delete(key)
  }
}
