/** Events: what happened to a deployment or a revision, in the order of the workspace's log. */

import type { Window } from '../../../domain/core/paging.ts'
import { eventCursor } from '../../../domain/events/cursor.ts'
import { countEvents, type EventSubjects, listEvents } from '../../../domain/events/list.ts'
import type { StoredEvent } from '../../../domain/events/read.ts'
import { knownReason } from '../../../domain/model/reasons.ts'
import { batched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Reason, RevisionStatus } from '../builder/enums.ts'

export const Event = builder.objectRef<StoredEvent>('Event').implement({
  description: 'An entry of the workspace’s log.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Its place in the log: an `after` of these lists and of `revisionStatusChanged`.',
      resolve: eventCursor,
    }),
    type: t.exposeString('type', {
      description: '`revision.status`, or `<resource>.<verb>` such as `deployment.updated`.',
    }),
    deploymentId: t.exposeID('deploymentId', { nullable: true }),
    revisionId: t.exposeID('revisionId', { nullable: true }),
    from: t.expose('fromStatus', { type: RevisionStatus, nullable: true }),
    to: t.expose('toStatus', { type: RevisionStatus, nullable: true }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'Of a change of status: why, for machines.',
      resolve: ({ reason }) => knownReason(reason, null),
    }),
    message: t.exposeString('message', { nullable: true }),
    attempt: t.exposeInt('attempt', { nullable: true }),
    actor: t.exposeString('actor', { nullable: true, description: 'Who did it; null: the system.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

export const EventConnection = builder.connectionObject({ type: Event, name: 'EventConnection' }, { name: 'EventEdge' })

/** The resolver of `events`, of a deployment and of a revision; those of a whole list are read together. */
export async function eventsOf(by: EventSubjects['by'], id: string, args: Window, ctx: GraphQLContext) {
  const { first, after, last, before } = args
  const slice = await batched(ctx, `events ${by} ${JSON.stringify([first, after, last, before])}`, id, (ids) =>
    listEvents(ctx, args, { by, ids }),
  )
  const count = (ids: readonly string[]) => countEvents(ctx, { by, ids })
  return connectionOf(slice!, args, eventCursor, async () => (await batched(ctx, `count events ${by}`, id, count)) ?? 0)
}
