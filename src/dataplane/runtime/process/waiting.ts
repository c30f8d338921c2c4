/** What is said of an agent that was started and has not answered GET /ok with 200. */

/** What was seen of it. */
export interface Seen {
  /** where it has to answer: the value of PORT */
  port: number
  /** what it last answered there with; null: nobody did */
  answered: number | null
  /** ports that its processes listen on; null: that can't be told */
  listening: readonly number[] | null
}

/** While it is waited for. */
export function stillWaiting(seen: Seen): string {
  return seen.answered === null
    ? `GET /ok is not answered yet: the agent has to listen on the port in PORT (${seen.port})${instead(seen)}.`
    : `GET /ok is answered with ${seen.answered}: the agent is ready when that is 200.`
}

/** When the time is up. */
export function waitedInVain(seen: Seen): string {
  return seen.answered === null
    ? `GET /ok was not answered in time: the agent has to listen on the port in PORT${instead(seen)}.`
    : `GET /ok was still answered with ${seen.answered} when the time was up: 200 says that the agent is ready.`
}

function instead({ port, listening }: Seen): string {
  if (listening === null) return ''
  if (listening.includes(port)) return '; it listens there and does not answer'
  return listening.length === 0 ? '; it listens on none' : `; it listens on ${listening.join(', ')} instead`
}
