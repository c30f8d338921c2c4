/** Messages about a started agent whose health path does not answer 200. */

export interface Observation {
  /** value of PORT; the agent must listen on it */
  port: number
  /** path of the health check */
  path: string
  /** status of the last answer; null: no answer yet */
  lastStatus: number | null
  /** ports that its processes listen on; null: unknown */
  listening: readonly number[] | null
}

export function notReadyYet(observed: Observation): string {
  return observed.lastStatus === null
    ? `GET ${observed.path} is not answered yet: the agent has to listen on the port in PORT (${observed.port})${portHint(observed)}.`
    : `GET ${observed.path} is answered with ${observed.lastStatus}: the agent is ready when that is 200.`
}

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
