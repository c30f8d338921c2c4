/**
 * Messages between the door and its clients, which are keepers and servers: one JSON object per line, over a Unix socket. The first
 * line of a client is `hello`.
 */
import type { JsonWebKey } from 'node:crypto'
import type { AccessNews } from '../../../domain/values/access-copy.ts'
import type { AgentFigures } from '../../../domain/values/door-figures.ts'

/** Where an agent listens, and which start of it that is. */
export interface Upstream {
  /** one for each start of an agent */
  id: string
  host: string
  port: number
  /** id of its revision, for the access log; absent: unknown */
  revision?: string
}

/** Where the door listens for a deployment. */
export interface Place {
  port: number
  /** address to bind */
  host: string
  /** the label in `/~name/` of a port that all deployments share; absent: the port is the deployment's own */
  name?: string
  /** names of hosts that lead to the deployment, in lower case, with `name` */
  hosts?: string[]
  /** the port accepts TLS, with `name` */
  tls?: boolean
}

/** In PEM; the key is a secret. */
export interface Certificate {
  cert: string
  key: string
}

/** Limits of a deployment's requests. null: no limit. */
export interface Bounds {
  /** concurrent requests, streams and WebSockets */
  requests: number | null
  requestsPerSecond: number | null
  /** of one client address */
  clientRequestsPerSecond: number | null
  bodyBytes: number | null
  /** until the headers of a request have arrived */
  headerMs: number
  /** a connection without traffic is closed after it */
  idleMs: number | null
  /** addresses and ranges of proxies whose X-Forwarded-For names the client */
  trustProxy: string[]
}

/** The whole state of a deployment's address, sent at each change and on each new connection. */
export interface AddressState {
  /** null: it accepts no new connections */
  address: Place | null
  /** where requests go; null: requests get 503 */
  upstream: Upstream | null
  /** new requests wait */
  held: boolean
  /** ids of upstreams whose agents are ending: the door completes the responses that they leave open */
  ending: string[]
  /** default: none (keepers of earlier versions send none) */
  bounds?: Bounds
}

/** What a server tells a door in a cluster, once when it connects and then every 2 seconds. */
export interface ClusterNews extends AccessNews {
  bounds: Bounds
}

/** A deployment whose agent is asleep: the door keeps its address. */
export interface Sleeper {
  deployment: string
  place: Place
  /** default: none */
  bounds?: Bounds
  /** longest wait of a request for the agent's start */
  waitMs: number
}

/** A GET of a health path on the loopback: who answered, and the status; null: no answer. */
export interface HealthAnswer {
  host: string
  status: number | null
}

/** How to start a door. */
export interface DoorProgram {
  /** absolute path of Node.js */
  node: string
  /** absolute path of the bundled program; its account can read it */
  file: string
  /** absolute; 0700, of the door's account: lock, sockets, and `door.json`, which names the current socket */
  folder: string
  /** null: the account of the process that starts it */
  account: { uid: number; gid: number } | null
}

/** Each request gets one answer. */
export type DoorRequest =
  /** `deployment`: the deployment whose address this connection controls; null: none */
  | { do: 'hello'; deployment: string | null }
  | { do: 'apply'; state: AddressState }
  | { do: 'health'; port: number; path: string }
  /** Answered when no request to that upstream is in flight. */
  | { do: 'idle'; upstream: string }
  /** The certificate of new connections; null: none. Sent repeatedly, because a new door may have none. */
  | { do: 'certificate'; certificate: Certificate | null }
  /** Asks for the figures of all deployments. Doors of earlier versions answer without them, or without `droppedLogLines`. */
  | { do: 'figures' }
  /** Says who may call which deployment. The answer has `copyNeeded`, `callerKey` and `logProblem`. */
  | { do: 'access'; news: AccessNews }
  /**
   * New requests wait until the agent was started. With `idleMs` only if none was open for this time; the answer has `againMs`
   * otherwise. Without: the agent has ended already.
   */
  | { do: 'sleep'; sleeper: Sleeper; idleMs: number | null }
  /** Closes the address of a sleeping deployment; null: of all. */
  | { do: 'forget'; deployment: string | null }
  /** Ends all requests in flight to the deployment. */
  | { do: 'close' }
  /** Starts this program, which takes over all addresses. Answered when it listens. */
  | { do: 'replace'; program: DoorProgram }

export type ToDoor = DoorRequest & { id: number }

export type FromDoor =
  | {
      say: 'answer'
      id: number
      health?: HealthAnswer
      build?: string
      pid?: number
      problem?: string
      figures?: Record<string, AgentFigures>
      /** lines of the access log that were not written, since the door started */
      droppedLogLines?: number
      /** why the access log can't be written; absent: it can, or there is none */
      logProblem?: string
      /** the door does not have the copy with this hash */
      copyNeeded?: boolean
      /** the agent may sleep in this time at the earliest; null: it sleeps now */
      againMs?: number | null
      /** public key of the tokens that agents get */
      callerKey?: JsonWebKey & { kid: string }
    }
  /** `problem`: an error code like EADDRINUSE (attempts continue); null: it listens */
  | { say: 'listening'; port: number; problem: string | null }
  /** there was a request; sent at most once a minute */
  | { say: 'served' }
  /** to servers: a request waits for this sleeping deployment */
  | { say: 'wake'; deployment: string }
  /** another door accepts all new connections; this one completes what is open, and still obeys */
  | { say: 'replaced' }
