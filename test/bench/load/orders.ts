/** Messages between the bench and its load generator, which is a separate process. */

/** One request; members common to all requests are in the load. */
export interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Load {
  url: string
  /** Sent in turn as `x-api-key`. */
  keys: string[]
  /** Sent one after the other, in a cycle. */
  requests: Asked[]
  /** The expected status; null: any. */
  status: number | null
}

export type LoadOrder =
  | { do: 'load'; id: string; load: Load }
  /** Sends `count` requests, or as many as fit into `seconds`; continues where the previous run ended. */
  | { do: 'run'; id: string; connections: number; seconds?: number; count?: number }
  | { do: 'forget'; id: string }

export interface Ran {
  requests: number
  seconds: number
  /** Durations in ms. */
  p50: number
  p99: number
  /** The first wrong answer. */
  wrong: string | null
}
