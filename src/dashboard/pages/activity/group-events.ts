/** Events that tell of one act are shown as one: a write of a deployment and the revision that it made, and what somebody did again and again. Pure. */
import type { EventData } from './event.ts'

export interface ActivityEntry {
  event: EventData
  /** the revision that it made */
  made: EventData['revision']
  /** so often, one after the other; the newest is the `event` */
  times: number
}

/** What goes along with a deployment, and is said by it. */
const HIDDEN_TYPES = ['tracing_project.created', 'tracing_project.deleted', 'tag.created']
const WRITE_TYPES = ['deployment.created', 'deployment.updated']

const isRevisionStart = ({ type, from }: EventData) => type === 'revision.status' && from === null

/** `events`: newest first. `signIns`: also who came in, which changes nothing. */
export function groupEvents(events: readonly EventData[], signIns = true): ActivityEntry[] {
  const told = new Set<EventData>()
  const acts = events.map((event, i): ActivityEntry => {
    // the revision comes right behind, so it stands just above
    const above = events[i - 1]
    const isIts =
      above &&
      isRevisionStart(above) &&
      above.deployment?.id === event.deployment?.id &&
      WRITE_TYPES.includes(event.type)
    if (isIts) told.add(above)
    return { event, made: isIts ? above.revision : null, times: 1 }
  })
  const shown = acts.filter(
    ({ event }) =>
      !told.has(event) && !HIDDEN_TYPES.includes(event.type) && (signIns || event.type !== 'session.created'),
  )
  return shown.reduce<ActivityEntry[]>((before, act) => {
    const last = before.at(-1)
    if (last && isRepeatedSignIn(last.event, act.event)) last.times++
    else before.push(act)
    return before
  }, [])
}

/** Nobody wants to read of each time that somebody signed in. Of another day it is another line. */
const isRepeatedSignIn = (last: EventData, { type, actor, occurredAt }: EventData): boolean =>
  type === 'session.created' &&
  last.type === type &&
  last.actor.subject === actor.subject &&
  new Date(last.occurredAt).toDateString() === new Date(occurredAt).toDateString()
