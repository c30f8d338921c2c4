/** The buckets of latencies: log-linear, so histograms of doors and times can be added, and a percentile is at most 5 % off. */

export const LATENCY_BUCKETS = 200
const GROWTH = 1.1
/** upper limit of the first bucket, in s; the last one has no upper limit and begins at 4.4 hours */
const FIRST_LIMIT = 0.0001
const LOG_GROWTH = Math.log(GROWTH)

/** The index of a latency in seconds. */
export function bucketOf(seconds: number): number {
  if (seconds <= FIRST_LIMIT) return 0
  return Math.min(LATENCY_BUCKETS - 1, Math.ceil(Math.log(seconds / FIRST_LIMIT) / LOG_GROWTH))
}

/** The same as SQL. */
export const bucketSql = (seconds: string): string => `
  greatest(0, least(${LATENCY_BUCKETS - 1}, ceil(ln(${seconds} / ${FIRST_LIMIT}) / ${LOG_GROWTH})))`

/** A latency within the bucket, in seconds. `part`: from 0, its lower limit, to 1, its upper limit. */
export const latencyIn = (bucket: number, part = 0.5): number => FIRST_LIMIT * GROWTH ** (bucket - 1 + part)

/** The latency below which `share` of all requests are, in seconds. `counts`: by bucket; not all 0. */
export function percentileOf(counts: Float64Array, share: number): number {
  let left = 0
  for (const count of counts) left += share * count
  let last = 0
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket]!
    if (count === 0) continue
    if (left <= count) return latencyIn(bucket, left / count)
    left -= count
    last = bucket
  }
  // sums of fractions are not exact
  return latencyIn(last, 1)
}
