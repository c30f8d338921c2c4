/** Events as REST shows them (docs/api-rules.md#events-and-streams). */
import { z } from 'zod'
import { eventCursor } from '../../../domain/events/cursor.ts'
import type { EventPage } from '../../../domain/events/page.ts'
import type { StoredEvent } from '../../../domain/events/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import type { EventActor } from '../../../domain/values/event-actor.ts'
import { EVENT_TYPES } from '../../../domain/values/event-types.ts'
import { knownReason } from '../../../domain/values/reasons.ts'
import { RevisionStatus } from '../../../domain/values/row-types.ts'
import { actor, describeWords } from './actor.ts'
import { responseSchema, time } from './response-schema.ts'
import { reason } from './revision.ts'

/** An event of the log; or, without an actor, the status that a stream begins with. */
export type ShownEvent = Omit<StoredEvent, 'actor'> & { actor: EventActor | null }

export const event = responseSchema(
  { id: 'Event' },
  {
    cursor: z.string().describe('Its place in the log: an `after` or `before`, and the `id` of a stream.'),
    type: z.string().describe(`There may be new ones.\n${describeWords(EVENT_TYPES)}`),
    deployment_id: uuid.nullable(),
    revision_id: uuid.nullable(),
    subject_id: z.string().nullable().describe('Of what changed, when it is neither a deployment nor a revision.'),
    from: z.enum(RevisionStatus).nullable().describe('Of a change of status; null also for the first one.'),
    to: z.enum(RevisionStatus).nullable(),
    reason: reason.describe('Why it has that status, in a word for machines.'),
    message: z.string().nullable().describe('The same for people.'),
    attempt: z.int().nullable().describe('Of the revision.'),
    changed: z.array(z.string()).describe('Of an update: the fields that it changed; never their values.'),
    actor: actor.nullable().describe('Who did it; null only for the current status that a stream begins with.'),
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
        'With `order=asc` the `after` to go on with, never null: at the end of the log it is where the next events will be. With `order=desc` the `before` to go on with; null at the beginning of the log.',
      ),
  },
  ({ events, nextCursor }: EventPage) => ({ resources: events, nextCursor }),
)
