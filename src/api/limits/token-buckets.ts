/**
 * Token buckets, one for each key: so many calls a second for ever, and a burst of more after a rest. Unlike a fixed
 * window, they never allow twice the limit around its edge, and the time of the next call is known exactly.
 */
import { LRUCache } from 'lru-cache'

/** Where a key stands after a call. */
export interface BucketState {
  /** false: the call is one too many, and took nothing */
  admitted: boolean
  /** the most tokens that there may be */
  burst: number
  perSecond: number
  /** calls that may come at once now */
  remaining: number
  /** whole seconds until the bucket is full again */
  fullInSeconds: number
  /** whole seconds until the next call may come; 0: now */
  retryAfterSeconds: number
}

export interface TokenBucketsOptions {
  /** tokens that come back each second */
  perSecond: number
  /** tokens of a full bucket */
  burst: number
  /** the most keys that are remembered: beyond it the one that was quiet longest is forgotten, as if its bucket were full */
  maxKeys?: number
  /** ms of a clock that never goes back */
  now?: () => number
}

interface Bucket {
  tokens: number
  /** when there were that many */
  at: number
}

export class TokenBuckets {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  readonly #buckets: LRUCache<string, Bucket>

  constructor({ perSecond, burst, maxKeys: size = 10_000, now = () => performance.now() }: TokenBucketsOptions) {
    this.#perSecond = perSecond
    this.#burst = Math.max(burst, 1)
    this.#now = now
    this.#buckets = new LRUCache({ max: size })
  }

  /** Takes `weight` tokens if there is one; what is missing of them has to come back before the next call. */
  take(key: string, weight = 1): BucketState {
    const bucket = this.#refilled(key)
    const admitted = bucket.tokens >= 1
    if (admitted) bucket.tokens -= weight
    return {
      admitted,
      burst: this.#burst,
      perSecond: this.#perSecond,
      remaining: Math.max(0, Math.floor(bucket.tokens)),
      fullInSeconds: Math.ceil((this.#burst - bucket.tokens) / this.#perSecond),
      retryAfterSeconds: bucket.tokens >= 1 ? 0 : Math.ceil((1 - bucket.tokens) / this.#perSecond),
    }
  }

  /** Gives a token back that was taken in vain. */
  refund(key: string): void {
    const bucket = this.#refilled(key)
    bucket.tokens = Math.min(this.#burst, bucket.tokens + 1)
  }

  /** The bucket of a key as it is now; from now on it is the one that was used last. */
  #refilled(key: string): Bucket {
    const now = this.#now()
    let bucket = this.#buckets.get(key)
    if (!bucket) {
      bucket = { tokens: this.#burst, at: now }
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) * this.#perSecond) / 1000)
    bucket.at = now
    return bucket
  }
}
