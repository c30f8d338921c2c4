/** Messages between a keeper and its network process, over the channel between Node processes. */

/** Where an agent listens, and which start of it that is. */
export interface Upstream {
  /** one for each start of an agent */
  id: string
  host: string
  port: number
}

/** The whole state of the network process, sent at each change and after a restart. */
export interface NetworkState {
  /** where it listens; null: accepts no new connections */
  address: { port: number; host: string } | null
  /** where requests go; null: requests get 503 */
  upstream: Upstream | null
  /** new requests wait */
  held: boolean
  /** ids of upstreams whose agents are ending: the proxy completes the responses that they leave open */
  ending: string[]
}

/** A GET of a health path on the loopback: who answered, and the status; null: no answer. */
export interface HealthAnswer {
  host: string
  status: number | null
}

/** Each request gets one answer. */
export type NetworkRequest =
  | { do: 'apply'; state: NetworkState }
  | { do: 'health'; port: number; path: string }
  /** Answered when no request to that upstream is in flight. */
  | { do: 'idle'; upstream: string }
  /** Ends all requests in flight. */
  | { do: 'close' }

export type ToNetwork = NetworkRequest & { id: number }

export type FromNetwork =
  | { say: 'answer'; id: number; health: HealthAnswer | null }
  /** `problem`: an error code like EADDRINUSE (attempts continue); null: it listens */
  | { say: 'listening'; port: number; problem: string | null }
  /** there was a request; sent at most once a minute */
  | { say: 'served' }
