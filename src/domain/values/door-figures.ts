/** What a door counts since its start, for /metrics. */

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
}
