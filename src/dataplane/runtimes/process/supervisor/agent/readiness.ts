/** Messages about an agent that was started and has not answered its health path with 200. */

/** What was observed of it. */
export interface Observed {
  /** where it has to answer: the value of PORT */
  port: number
  /** requested by health checks */
  path: string
  /** what it last answered there with; null: nobody did */
  answered: number | null
  /** ports that its processes listen on; null: not known here */
  listening: readonly number[] | null
}

/** While it is waited for. */
export function notReadyYet(observed: Observed): string {
  return observed.answered === null
    ? `GET ${observed.path} is not answered yet: the agent has to listen on the port in PORT (${observed.port})${instead(observed)}.`
    : `GET ${observed.path} is answered with ${observed.answered}: the agent is ready when that is 200.`
}

/** When the time is up. */
export function notReadyInTime(observed: Observed): string {
  return observed.answered === null
    ? `GET ${observed.path} was not answered in time: the agent has to listen on the port in PORT${instead(observed)}.`
    : `GET ${observed.path} was still answered with ${observed.answered} when the time was up: 200 says that the agent is ready.`
}

function instead({ port, listening }: Observed): string {
  if (listening === null) return ''
  if (listening.includes(port)) return '; it listens there and does not answer'
  return listening.length === 0 ? '; it listens on none' : `; it listens on ${listening.join(', ')} instead`
}
