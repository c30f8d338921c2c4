/** What a door counts since its start, for metrics. */

export interface DoorFigures {
  /** by deployment */
  agents: Record<string, AgentFigures>
  /** lines of the access log that were not written */
  droppedLogLines: number
}

/** The requests of a deployment. */
export interface AgentFigures {
  /** by class of the status, like `2xx`; `none`: the client left before the answer */
  answers: Record<string, number>
  /** requests that took at most `le` seconds; null: no limit. Without event streams. */
  durations: { le: number | null; count: number }[]
  durationSum: number
  requestsOpen: number
  webSocketsOpen: number
  /** bytes of requests and WebSockets that have ended */
  received: number
  sent: number
  /** by id of the revision that served when the request arrived; absent: the door is of an earlier version */
  revisions?: Record<string, RevisionFigures>
  /** absent: not known, or the door is of an earlier version */
  workspace?: string
  /** set by the server that holds the deployment; absent: its agent does not run */
  usage?: AgentUsage
}

/** The processes of a deployment. */
export interface AgentUsage {
  replicas: number
  /** since the server's start; absent: not measured yet, or not measurable */
  cpuSeconds?: number | undefined
  /** bytes */
  memory?: number | undefined
  /** since the server's start */
  restarts?: number | undefined
  memoryLimit: number | null
}

/** The key in `revisions` that a door of a cluster uses: it does not know revisions. */
export const UNKNOWN_REVISION = ''

/** The requests of a revision of a deployment. */
export interface RevisionFigures {
  /** by first digit of the status; 0: the client left before the answer */
  answers: number[]
  /** pairs of a bucket (latency-histogram.ts) and its requests; empty buckets are left out */
  latencies: [bucket: number, count: number][]
  /** requests, event streams and WebSockets that are open */
  open: number
  received: number
  sent: number
}
