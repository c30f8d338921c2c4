/** The fields of an event. */
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
