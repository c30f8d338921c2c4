/** Events that tell of one act are shown as one: a write of a deployment and the revision that it made, and what somebody did again and again. Pure. */
import type { EventData } from './event.ts'

export interface Act {
  event: EventData
  /** the revision that it made */
  made: EventData['revision']
  /** so often, one after the other; the newest is the `event` */
  times: number
}

/** What goes along with a deployment, and is said by it. */
const ALONG = ['tracing_project.created', 'tracing_project.deleted', 'tag.created']
const MAKES = ['deployment.created', 'deployment.updated']

const begins = ({ type, from }: EventData) => type === 'revision.status' && from === null

/** `events`: newest first. `signIns`: also who came in, which changes nothing. */
export function fold(events: readonly EventData[], signIns = true): Act[] {
  const told = new Set<EventData>()
  const acts = events.map((event, i): Act => {
    // the revision comes right behind, so it stands just above
    const above = events[i - 1]
    const isIts = above && begins(above) && above.deployment?.id === event.deployment?.id && MAKES.includes(event.type)
    if (isIts) told.add(above)
    return { event, made: isIts ? above.revision : null, times: 1 }
  })
  const shown = acts.filter(
    ({ event }) => !told.has(event) && !ALONG.includes(event.type) && (signIns || event.type !== 'session.created'),
  )
  return shown.reduce<Act[]>((before, act) => {
    const last = before.at(-1)
    if (last && isAgain(last.event, act.event)) last.times++
    else before.push(act)
    return before
  }, [])
}

/** Nobody wants to read of each time that somebody signed in. Of another day it is another line. */
const isAgain = (last: EventData, { type, actor, occurredAt }: EventData): boolean =>
  type === 'session.created' &&
  last.type === type &&
  last.actor.subject === actor.subject &&
  new Date(last.occurredAt).toDateString() === new Date(occurredAt).toDateString()
