/** What a keeper and its network process say to each other, over the channel between Node processes. */

/** Where an agent listens, and which start of it that is. */
export interface Upstream {
  /** one for each start of an agent */
  id: string
  host: string
  port: number
}

/** All that the network process has to know: it is told the whole at each change, and when it was started again. */
export interface NetworkState {
  /** where it listens; null: nowhere yet, or no new connections any more */
  address: { port: number; host: string } | null
  /** where requests go; null: they are answered with 503 */
  upstream: Upstream | null
  /** new requests wait */
  held: boolean
  /** ids of upstreams whose agents are being ended: what they leave open gets a proper end */
  ending: string[]
}

export type ToNetwork =
  | { do: 'apply'; version: number; wanted: NetworkState }
  /** Requests `path` on that port of the loopback. */
  | { do: 'ask'; id: number; port: number; path: string }
  /** Tell me when nothing is in flight to that upstream. */
  | { do: 'watch'; upstream: string }
  /** What is still in flight is ended. */
  | { do: 'close' }

export type FromNetwork =
  | { said: 'applied'; version: number }
  /** `problem`: a code like EADDRINUSE, while it goes on trying; null: it listens */
  | { said: 'listening'; port: number; problem: string | null }
  /** `status` null: nobody answers */
  | { said: 'answered'; id: number; host: string; status: number | null }
  /** there was a request; said once a minute at most */
  | { said: 'served' }
  | { said: 'idle'; upstream: string }
  | { said: 'closed' }
