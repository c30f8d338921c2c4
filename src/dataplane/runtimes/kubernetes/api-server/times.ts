/** The time limits of a cluster, and their defaults. */

/** How long things may take, in milliseconds. */
export interface ClusterTimes {
  /** one call, until its whole answer is here. Default: 15 s */
  call: number
  /** a watch is asked anew after so long at the latest. Default: 2 min */
  watch: number
  /** a watch whose end is late by so long is given up, and TCP's keep-alive probes a connection that is silent for so long. Default: 10 s */
  silence: number
  /** everything is listed again so often, whatever the watches said. Default: 10 min */
  relist: number
  /** first and longest wait between tries. Default: 250 ms and 10 s */
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
