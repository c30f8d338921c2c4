/** Events: what happened to a deployment or a revision, in the order of the workspace's log. */

import { eventCursor } from '../../../domain/events/cursor.ts'
import {
  countEvents,
  countWorkspaceEvents,
  type EventSubjects,
  listEvents,
  windowEvents,
} from '../../../domain/events/list.ts'
import type { StoredEvent } from '../../../domain/events/read.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import { camel } from '../../../domain/parsing/naming.ts'
import { DECIDING_KINDS, type EventActor } from '../../../domain/values/event-actor.ts'
import { knownReason } from '../../../domain/values/reasons.ts'
import { streamEvents } from '../../realtime/event-stream.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { pageCost, rejectExpensive } from '../builder/cost.ts'
import { ActorKindEnum, Reason, RevisionStatus } from '../builder/enums.ts'

export const Actor = builder.objectRef<EventActor>('Actor').implement({
  description: 'Who did something, as it was when they did it.',
  fields: (t) => ({
    kind: t.expose('kind', { type: ActorKindEnum }),
    subject: t.exposeString('id', {
      nullable: true,
      description: 'The id of the key or the listener, or the person’s `sub`.',
    }),
    name: t.exposeString('name', { nullable: true, description: 'For people.' }),
  }),
})

export const Event = builder.objectRef<StoredEvent>('Event').implement({
  description: 'An entry of the workspace’s log.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Its place in the log: an `after` of these lists and of `revisionStatusChanged`.',
      resolve: eventCursor,
    }),
    type: t.exposeString('type', {
      description: '`revision.status`, or `<resource>.<verb>` such as `deployment.updated`; there may be new ones.',
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
    subjectId: t.exposeID('subjectId', {
      nullable: true,
      description: 'Of what changed, when it is neither a deployment nor a revision.',
    }),
    changed: t.stringList({
      description: 'Of an update: the fields that it changed; never their values.',
      resolve: ({ changed }) => changed.map(camel),
    }),
    actor: t.expose('actor', { type: Actor, description: 'Who did it.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

export const EventConnection = builder.connectionObject({ type: Event, name: 'EventConnection' }, { name: 'EventEdge' })

/** The resolver of `events`, of a deployment and of a revision; those of a whole list are read together. */
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

const WANTED_TYPES = 'Only of any of these, as `deployment.updated`, or `deployment.*` for all of a resource.'

const EventOrder = builder.enumType('EventOrder', {
  description: 'Which events come first.',
  values: ['OLDEST_FIRST', 'NEWEST_FIRST'] as const,
})

builder.queryField('events', (t) =>
  t.connection(
    {
      type: Event,
      description:
        'Whatever happened in the workspace, oldest first unless ordered otherwise; also to what is gone, for as long as events are kept.',
      complexity: pageCost,
      args: {
        types: t.arg.stringList({
          description: `Only of any of these, as \`deployment.updated\`, or \`deployment.*\`.`,
        }),
        deploymentId: t.arg.id({ description: 'Only of this deployment and its revisions.' }),
        revisionId: t.arg.id({ description: 'Only of this revision.' }),
        actorKinds: t.arg({
          type: [ActorKindEnum],
          description: `Only what any of these did; ${DECIDING_KINDS.join(', ')} is all that was decided by somebody.`,
        }),
        actor: t.arg.string({ description: 'Only what the actor with this `subject` did.' }),
        since: t.arg({ type: 'DateTime', description: 'Only what happened at this time or later.' }),
        until: t.arg({ type: 'DateTime', description: 'Only what happened before this time.' }),
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
      'Every event of the workspace, or of one deployment: behind `after`, or from now on. Of a deployment it completes when ' +
      'that is torn down. One that ends before its time ends with an error; its extensions have the `cursor` to go on from.',
    args: {
      after: t.arg.string({ description: 'The `cursor` of an event.' }),
      types: t.arg.stringList({ description: WANTED_TYPES }),
      deploymentId: t.arg.id({ description: 'Only of this deployment and its revisions.' }),
    },
    subscribe: (_root, { after, types, deploymentId }, ctx, info) => {
      rejectExpensive(ctx, info)
      // a client that comes back by itself says so in the header, and its arguments stay as they were
      const query = { after: ctx.lastEventId ?? after, types, deployment_id: deploymentId }
      return streamEvents(ctx, { query }, ctx.relay)
    },
    resolve: (event) => event,
  }),
)
