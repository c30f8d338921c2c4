/** Events in REST (docs/api-rules.md#events-and-streams). */
import { z } from 'zod'
import { knownReason } from '../../../domain/errors/reasons.ts'
import type { EventPage } from '../../../domain/events/page.ts'
import { eventCursor } from '../../../domain/events/range.ts'
import type { StoredEvent } from '../../../domain/events/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { EVENT_TYPES, type EventActor } from '../../../domain/values/event-types.ts'
import { RevisionStatus } from '../../../domain/values/row-types.ts'
import { actor, describeWords } from './actor.ts'
import { responseSchema, time } from './response-schema.ts'
import { reason } from './revision.ts'

/** An event of the log. Without an actor it is the current status at the start of a stream. */
export type ShownEvent = Omit<StoredEvent, 'actor'> & { actor: EventActor | null }

export const event = responseSchema(
  { id: 'Event' },
  {
    cursor: z
      .string()
      .describe(
        'The position of the event in the log. Pass it as `after` or `before`. In a stream it is the `id` of the event.',
      ),
    type: z.string().describe(`The type of the event. New types may be added.\n${describeWords(EVENT_TYPES)}`),
    deployment_id: uuid.nullable(),
    revision_id: uuid.nullable(),
    subject_id: z
      .string()
      .nullable()
      .describe('The id of the changed resource if it is neither a deployment nor a revision.'),
    from: z
      .enum(RevisionStatus)
      .nullable()
      .describe('The previous status of a status change. It is null for the first status.'),
    to: z.enum(RevisionStatus).nullable(),
    reason: reason.describe('The reason for the status, as a machine-readable code.'),
    message: z
      .string()
      .nullable()
      .describe('The reason as a message for people. Of a changed access, the old and the new value.'),
    attempt: z.int().nullable().describe('The attempt of the revision.'),
    count: z.int().nullable().describe('The number of occurrences that the event stands for; null: one.'),
    trace_id: z.string().nullable().describe('The OpenTelemetry trace of the rollout; null if it has none.'),
    changed: z.array(z.string()).describe('The fields that an update changed, without their values.'),
    actor: actor
      .nullable()
      .describe('The actor of the event. It is null only for the current status at the start of a stream.'),
    occurred_at: time,
  },
  (row: ShownEvent) => ({
    cursor: eventCursor(row),
    from: row.fromStatus,
    to: row.toStatus,
    reason: knownReason(row.reason, null),
  }),
)

export const eventPage = responseSchema(
  { id: 'EventPage' },
  {
    resources: z.array(event),
    next_cursor: z
      .string()
      .nullable()
      .describe(
        'With `order=asc` pass it as `after`. It is never null: at the end of the log it is the position of the next events. With `order=desc` pass it as `before`. It is null at the beginning of the log.',
      ),
  },
  ({ events, nextCursor }: EventPage) => ({ resources: events, nextCursor }),
)
