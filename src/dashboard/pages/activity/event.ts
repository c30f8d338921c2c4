/** The fields of an event. Merges events of one action: a write with the revision that it created, and repeated sign-ins. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { actorFragment } from '../../components/actor.ts'

export const eventFragment = graphql(
  `
    fragment EventRow on Event {
      cursor
      type
      changed
      subjectName
      message
      reason
      attempt
      to
      from
      occurredAt
      actor {
        kind
        subject
        name
        ...ActorName
      }
      deployment {
        id
        name
      }
      revision {
        id
        number
        status
        reason
        commitMessage
        sourceRevisionConfig {
          imageUri
        }
      }
    }
  `,
  [actorFragment],
)
export type EventData = ResultOf<typeof eventFragment>

export interface ActivityEntry {
  event: EventData
  /** the revision that the event created */
  made: EventData['revision']
  /** count of consecutive equal events; `event` is the newest */
  times: number
}

/** Side effects of a deployment's creation, which is shown itself. */
const HIDDEN_TYPES = ['tracing_project.created', 'tracing_project.deleted', 'tag.created']
const WRITE_TYPES = ['deployment.created', 'deployment.updated']

const isRevisionStart = ({ type, from }: EventData) => type === 'revision.status' && from === null

/** `events`: newest first. `signIns`: include sign-ins, which change nothing. */
export function groupEvents(events: readonly EventData[], signIns = true): ActivityEntry[] {
  const told = new Set<EventData>()
  const acts = events.map((event, i): ActivityEntry => {
    // the list is newest first, so the created revision is the element before
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

/** Repeated sign-ins of one actor on one day are one line. */
const isRepeatedSignIn = (last: EventData, { type, actor, occurredAt }: EventData): boolean =>
  type === 'session.created' &&
  last.type === type &&
  last.actor.subject === actor.subject &&
  new Date(last.occurredAt).toDateString() === new Date(occurredAt).toDateString()
