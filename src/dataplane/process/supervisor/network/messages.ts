/** What a keeper and its network process say to each other, over the channel between Node processes. */

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

export type ToNetwork =
  | { do: 'apply'; version: number; wanted: NetworkState }
  /** Requests `path` on this loopback port. */
  | { do: 'ask'; id: number; port: number; path: string }
  /** Asks for `idle`: no request to that upstream is in flight. */
  | { do: 'watch'; upstream: string }
  /** Ends all requests in flight. */
  | { do: 'close' }

export type FromNetwork =
  | { said: 'applied'; version: number }
  /** `problem`: an error code like EADDRINUSE (attempts continue); null: it listens */
  | { said: 'listening'; port: number; problem: string | null }
  /** `status` null: no answer */
  | { said: 'answered'; id: number; host: string; status: number | null }
  /** there was a request; sent at most once a minute */
  | { said: 'served' }
  | { said: 'idle'; upstream: string }
  | { said: 'closed' }
