/**
 * Token buckets, one per key: a sustained rate plus a burst. Unlike a fixed window they never allow twice the limit around a
 * window's edge, and the time of the next call is known exactly.
 */
import { LRUCache } from 'lru-cache'

export interface BucketState {
  /** false: the call exceeds the limit and took no token */
  admitted: boolean
  /** the bucket's capacity */
  burst: number
  perSecond: number
  /** calls that may follow immediately */
  remaining: number
  /** whole seconds */
  fullInSeconds: number
  /** whole seconds; 0: the next call may come now */
  retryAfterSeconds: number
}

export interface TokenBucketsOptions {
  perSecond: number
  /** the bucket's capacity */
  burst: number
  /** the least recently used key is dropped above this number, as if its bucket were full */
  maxKeys?: number
  /** monotonic clock, in ms */
  now?: () => number
}

interface Bucket {
  tokens: number
  /** last refill, in ms */
  updatedAt: number
}

export class TokenBuckets {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  readonly #buckets: LRUCache<string, Bucket>

  constructor({ perSecond, burst, maxKeys = 10_000, now = () => performance.now() }: TokenBucketsOptions) {
    this.#perSecond = perSecond
    this.#burst = Math.max(burst, 1)
    this.#now = now
    // with `max` it would allocate 20 bytes for each possible key, and a door has buckets for each deployment
    this.#buckets = new LRUCache({ maxSize: maxKeys, sizeCalculation: () => 1 })
  }

  /** Takes `weight` tokens if the bucket has at least one. The balance may go below zero, which delays the next call. */
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

  refund(key: string): void {
    const bucket = this.#refilled(key)
    bucket.tokens = Math.min(this.#burst, bucket.tokens + 1)
  }

  /** Refills and returns the key's bucket, and marks it as the most recently used. */
  #refilled(key: string): Bucket {
    const now = this.#now()
    let bucket = this.#buckets.get(key)
    if (!bucket) {
      bucket = { tokens: this.#burst, updatedAt: now }
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.updatedAt) * this.#perSecond) / 1000)
    bucket.updatedAt = now
    return bucket
  }
}
