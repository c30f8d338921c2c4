/** Creates all limits of a server from its settings. */
import { Admission } from '../api/limits/admission.ts'
import { type ConcurrencyLimits, createConcurrencyLimit } from '../domain/concurrency/concurrency-limit.ts'
import { SearchTurns } from '../domain/concurrency/search-turns.ts'
import type { Reveals } from '../domain/transaction/context.ts'
import { TokenBuckets } from '../platform/async/token-buckets.ts'
import type { Config } from '../platform/config/config.ts'
import { matcher } from '../platform/http/client-address.ts'

/** Concurrent source downloads by builders of one organization, and of all organizations. */
const MAX_DOWNLOADS_PER_ORGANIZATION = 16
const MAX_DOWNLOADS = 128

export interface Limits {
  admission: Admission
  slots: ConcurrencyLimits
  searches: SearchTurns
  /** null: no limit */
  reveals: Reveals | null
  /** whether an address is a trusted proxy, whose X-Forwarded-For counts */
  trusted(address: string | undefined): boolean
}

export function createLimits(config: Config): Limits {
  return {
    admission: new Admission({
      key: { perSecond: config.RATE_LIMIT, burst: config.RATE_LIMIT_BURST },
      address: { perSecond: config.ADDRESS_RATE_LIMIT, burst: config.ADDRESS_RATE_LIMIT_BURST },
      maxConcurrent: config.REQUESTS_AT_ONCE,
      maxHeavy: config.HEAVY_DOCUMENTS,
    }),
    slots: {
      streams: createConcurrencyLimit(config.STREAMS_PER_WORKSPACE, config.KEY_SHARE_PERCENT),
      waits: createConcurrencyLimit(config.WAITS_PER_WORKSPACE, config.KEY_SHARE_PERCENT),
      listenerWaits: createConcurrencyLimit(config.WAITS_PER_WORKSPACE, config.KEY_SHARE_PERCENT),
      downloads: createConcurrencyLimit(MAX_DOWNLOADS_PER_ORGANIZATION, 100, MAX_DOWNLOADS),
    },
    searches: new SearchTurns(),
    reveals:
      config.REVEALS_PER_MINUTE > 0
        ? new TokenBuckets({ perSecond: config.REVEALS_PER_MINUTE / 60, burst: config.REVEALS_PER_MINUTE })
        : null,
    trusted: matcher(config.TRUST_PROXY),
  }
}
