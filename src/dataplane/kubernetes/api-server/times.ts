/** Timeouts of a cluster and their defaults, in ms. */

export interface ClusterTimes {
  /** timeout of one call with its whole response. Default: 15 s */
  call: number
  /** longest duration of one watch. Default: 2 min */
  watch: number
  /** a watch that is this late is closed, and TCP keep-alive probes a connection after this silence. Default: 10 s */
  silence: number
  /** interval of full lists. Default: 10 min */
  relist: number
  /** first and longest wait between retries. Default: 250 ms and 10 s */
  firstRetry: number
  longestRetry: number
}

export const DEFAULT_TIMES: ClusterTimes = {
  call: 15_000,
  watch: 120_000,
  silence: 10_000,
  relist: 600_000,
  firstRetry: 250,
  longestRetry: 10_000,
}
