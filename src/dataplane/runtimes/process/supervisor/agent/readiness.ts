/** Messages about an agent that was started and has not answered its health path with 200. */

/** What was observed of it. */
export interface Observation {
  /** where it has to answer: the value of PORT */
  port: number
  /** requested by health checks */
  path: string
  /** what it last answered there with; null: nobody did */
  lastStatus: number | null
  /** ports that its processes listen on; null: not known here */
  listening: readonly number[] | null
}

/** While it is waited for. */
export function notReadyYet(observed: Observation): string {
  return observed.lastStatus === null
    ? `GET ${observed.path} is not answered yet: the agent has to listen on the port in PORT (${observed.port})${portHint(observed)}.`
    : `GET ${observed.path} is answered with ${observed.lastStatus}: the agent is ready when that is 200.`
}

/** When the time is up. */
export function notReadyInTime(observed: Observation): string {
  return observed.lastStatus === null
    ? `GET ${observed.path} was not answered in time: the agent has to listen on the port in PORT${portHint(observed)}.`
    : `GET ${observed.path} was still answered with ${observed.lastStatus} when the time was up: 200 says that the agent is ready.`
}

function portHint({ port, listening }: Observation): string {
  if (listening === null) return ''
  if (listening.includes(port)) return '; it listens there and does not answer'
  return listening.length === 0 ? '; it listens on none' : `; it listens on ${listening.join(', ')} instead`
}
