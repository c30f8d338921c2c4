/** Events: what happened to deployments and revisions, in the order of the workspace's log. */

import { knownReason } from '../../../domain/errors/reasons.ts'
import {
  countEvents,
  countWorkspaceEvents,
  type EventSubjects,
  listEvents,
  windowEvents,
} from '../../../domain/events/list.ts'
import { eventCursor } from '../../../domain/events/range.ts'
import type { StoredEvent } from '../../../domain/events/read.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import { camel } from '../../../domain/parsing/codec.ts'
import { DECIDING_KINDS, type EventActor } from '../../../domain/values/event-types.ts'
import { streamEvents } from '../../realtime/event-stream.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { pageCost, rejectExpensive } from '../builder/cost.ts'
import { ActorKindEnum, Reason, RevisionStatus } from '../builder/enums.ts'

export const Actor = builder.objectRef<EventActor>('Actor').implement({
  description: 'Who did something. The members are from the time of the event.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ActorKindEnum }),
    subject: t.exposeString('id', {
      nullable: true,
      description: 'The id of the key or listener, or the person’s `sub`.',
    }),
    name: t.exposeString('name', { nullable: true, description: 'A display name.' }),
  }),
})

export const Event = builder.objectRef<StoredEvent>('Event').implement({
  description: 'An entry of the workspace’s event log.',
  fields: (t) => ({
    cursor: t.string({
      description: 'The position in the log. Pass it as `after` to these lists and to `revisionStatusChanged`.',
      resolve: eventCursor,
    }),
    type: t.exposeString('type', {
      description: '`revision.status`, or `<resource>.<verb>` such as `deployment.updated`. New types may be added.',
    }),
    deploymentId: t.exposeID('deploymentId', { nullable: true }),
    revisionId: t.exposeID('revisionId', { nullable: true }),
    from: t.expose('fromStatus', { type: RevisionStatus, nullable: true }),
    to: t.expose('toStatus', { type: RevisionStatus, nullable: true }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'The machine-readable reason of a status change.',
      resolve: ({ reason }) => knownReason(reason, null),
    }),
    message: t.exposeString('message', { nullable: true }),
    attempt: t.exposeInt('attempt', { nullable: true }),
    count: t.exposeInt('count', {
      nullable: true,
      description: 'The number of occurrences that the event stands for. Null: one.',
    }),
    traceId: t.exposeString('traceId', {
      nullable: true,
      description: 'The OpenTelemetry trace of the rollout. Null: it has none.',
    }),
    subjectId: t.exposeID('subjectId', {
      nullable: true,
      description: 'The id of the changed resource, if it is neither a deployment nor a revision.',
    }),
    changed: t.stringList({
      description: 'The fields that an update changed, without their values.',
      resolve: ({ changed }) => changed.map(camel),
    }),
    actor: t.expose('actor', { type: Actor, description: 'Who caused the event.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

export const EventConnection = builder.connectionObject({ type: Event, name: 'EventConnection' }, { name: 'EventEdge' })

/** Resolves `events` of a deployment or a revision. The events of a whole list are read together. */
export async function eventsOf(by: EventSubjects['by'], id: string, args: Window, ctx: GraphQLContext) {
  const { first, after, last, before } = args
  const slice = await loadBatched(ctx, `events ${by} ${JSON.stringify([first, after, last, before])}`, id, (ids) =>
    listEvents(ctx, args, { by, ids }),
  )
  const count = (ids: readonly string[]) => countEvents(ctx, { by, ids })
  return connectionOf(
    slice!,
    args,
    eventCursor,
    async () => (await loadBatched(ctx, `count events ${by}`, id, count)) ?? 0,
  )
}

const TYPES_DESCRIPTION = 'Only events of these types. `deployment.*` stands for all types of a resource.'

const EventOrder = builder.enumType('EventOrder', {
  description: 'The order of events.',
  values: ['OLDEST_FIRST', 'NEWEST_FIRST'] as const,
})

builder.queryField('events', (t) =>
  t.connection(
    {
      type: Event,
      description:
        'The events of the workspace, oldest first by default. Events of deleted resources stay as long as events are kept.',
      complexity: pageCost,
      args: {
        types: t.arg.stringList({
          description: TYPES_DESCRIPTION,
        }),
        deploymentId: t.arg.id({ description: 'Only events of this deployment and its revisions.' }),
        revisionId: t.arg.id({ description: 'Only events of this revision.' }),
        actorKinds: t.arg({
          type: [ActorKindEnum],
          description: `Only events caused by actors of these kinds. ${DECIDING_KINDS.join(', ')} are all kinds that act on a decision.`,
        }),
        actor: t.arg.string({ description: 'Only events caused by the actor with this `subject`.' }),
        since: t.arg({ type: 'DateTime', description: 'Only events at this time or later.' }),
        until: t.arg({ type: 'DateTime', description: 'Only events before this time.' }),
        order: t.arg({ type: EventOrder, required: true, defaultValue: 'OLDEST_FIRST' }),
      },
      resolve: async (_root, args, ctx) => {
        const { types, deploymentId, revisionId, actorKinds, actor, since, until, order } = args
        const subject = { deployment_id: deploymentId, revision_id: revisionId }
        const filter = { types, ...subject, actor_kinds: actorKinds, actor, since, until }
        const slice = await windowEvents(ctx, args, filter, order === 'NEWEST_FIRST')
        return connectionOf(slice, args, eventCursor, () => countWorkspaceEvents(ctx, filter))
      },
    },
    EventConnection,
  ),
)

builder.subscriptionField('events', (t) =>
  t.field({
    type: Event,
    description:
      'Streams every event of the workspace or of one deployment, after `after` or from now on. The stream of one deployment ' +
      'completes after its teardown. A stream that ends early ends with an error. Its extensions have the `cursor` to continue from.',
    args: {
      after: t.arg.string({ description: 'The `cursor` of an event.' }),
      types: t.arg.stringList({ description: TYPES_DESCRIPTION }),
      deploymentId: t.arg.id({ description: 'Only events of this deployment and its revisions.' }),
    },
    subscribe: (_root, { after, types, deploymentId }, ctx, info) => {
      rejectExpensive(ctx, info)
      // a reconnecting client sends the header and repeats its original arguments
      const query = { after: ctx.lastEventId ?? after, types, deployment_id: deploymentId }
      return streamEvents(ctx, { query }, ctx.relay)
    },
    resolve: (event) => event,
  }),
)
