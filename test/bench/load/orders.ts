/** What the bench and its load generator, a process of its own, say to each other. */

/** One request; what all of a load have in common stands there. */
export interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Load {
  url: string
  /** given to the requests in turn, as `x-api-key` */
  keys: string[]
  /** sent one after the other, from the beginning when they are through */
  requests: Asked[]
  /** the only right status */
  status: number
}

export type LoadOrder =
  | { do: 'load'; id: string; load: Load }
  /** `count` requests, or as many as there are in `seconds`; goes on where the last run of it has ended */
  | { do: 'run'; id: string; connections: number; seconds?: number; count?: number }
  | { do: 'forget'; id: string }

export interface Ran {
  requests: number
  seconds: number
  /** ms */
  p50: number
  p99: number
  /** an answer that was not the right one */
  wrong: string | null
}
