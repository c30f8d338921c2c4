/**
 * The subscriptions: lines of logs as they arrive (docs/deployments.md#logs), status changes of revisions
 * (docs/api-rules.md#graphql), each in order and exactly once, and deployments whose visible state changed
 * (docs/api-rules.md#what-changes-of-deployments).
 */

import { queryFromInfo } from '@pothos/plugin-prisma'
import { DEPLOYMENTS_PER_SEQUENCE } from '../../../domain/change-feed/announce.ts'
import type { DeploymentsChange as Change } from '../../../domain/change-feed/log.ts'
import {
  type FollowCall,
  type FollowedLog,
  followDeploymentLogs,
  followLogsOfRevision,
} from '../../../domain/logs/follow.ts'
import type { Line } from '../../../domain/logs/lines.ts'
import { readNodes } from '../../../domain/nodes.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import { streamLog } from '../../realtime/log-stream.ts'
import { type RevisionStatusEvent, streamRevisionStatus } from '../../realtime/status-stream.ts'
import type { Stream } from '../../realtime/stream.ts'
import { loadRow } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { rejectExpensive } from '../builder/cost.ts'
import { Reason, RevisionStatus } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { Deployment } from './deployment.ts'
import { LOG_FILTER, Log, type LogFilter } from './log.ts'
import { Revision } from './revision.ts'

const WHERE =
  'The stream begins with the oldest kept line. With `last` it begins with that number of newest lines, and with `after` after the line of that cursor.'
const ENDS =
  'A stream that ends early (the client reads too slowly, or the server stops) ends with an error. Its extensions have the `cursor` to continue from.'

const args = builder.args((t) => ({
  ...LOG_FILTER,
  after: t.string({
    description:
      'The `cursor` of a line. The stream begins after it and ignores `last`, so a reconnecting client only adds this argument.',
  }),
  last: t.int({ description: 'From 0 (only new lines) to 1000.' }),
}))

interface Args extends LogFilter {
  after?: string | null
  last?: number | null
}

type Follow = (ctx: GraphQLContext, call: FollowCall) => Promise<FollowedLog>

/** `follow`: the domain's verb. */
async function stream(
  ctx: GraphQLContext,
  path: object,
  { after, startTime, fields, ...filters }: Args,
  follow: Follow,
): Promise<Stream<Line>> {
  const query = { ...filters, field: fields, start_time: startTime }
  const resume = ctx.lastEventId ?? after ?? undefined
  return withArgumentNames({ offset: 'after', field: 'fields' }, async () =>
    streamLog(ctx, ctx.relay, await follow(ctx, { raw: { path, query }, resume })),
  )
}

builder.subscriptionField('revisionLogs', (t) =>
  t.field({
    type: Log,
    description: `Streams the lines of one of a revision’s logs. ${WHERE} A build log completes when the build ends, an agent log when its deployment is deleted. ${ENDS}`,
    args: { revisionId: t.arg.id({ required: true }), ...args },
    subscribe: (_root, { revisionId, ...filters }, ctx) =>
      stream(ctx, { revision_id: revisionId }, filters, followLogsOfRevision),
    resolve: (line) => line,
  }),
)

builder.subscriptionField('deploymentLogs', (t) =>
  t.field({
    type: Log,
    description: `Streams the lines of one of a deployment’s logs across all its revisions. ${WHERE} It completes when the deployment is deleted. ${ENDS}`,
    args: { deploymentId: t.arg.id({ required: true }), ...args },
    subscribe: (_root, { deploymentId, ...filters }, ctx) =>
      stream(ctx, { deployment_id: deploymentId }, filters, followDeploymentLogs),
    resolve: (line) => line,
  }),
)

const RevisionStatusChange = builder.objectRef<RevisionStatusEvent>('RevisionStatusChange').implement({
  description: 'A status change of a revision.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to continue from here.' }),
    deploymentId: t.exposeID('deploymentId'),
    revisionId: t.exposeID('revisionId'),
    revision: t.prismaField({
      type: Revision,
      nullable: true,
      description: 'The current revision. Null after its deployment is deleted.',
      resolve: (query, { revisionId }, _args, ctx) => loadRow<RevisionRow>(ctx, 'Revision', revisionId, query),
    }),
    from: t.expose('from', {
      type: RevisionStatus,
      nullable: true,
      description: 'The previous status. Null: `to` is the current status.',
    }),
    to: t.expose('to', { type: RevisionStatus }),
    reason: t.expose('reason', {
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `message`.',
    }),
    message: t.exposeString('message', { nullable: true }),
    attempt: t.exposeInt('attempt'),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

builder.subscriptionField('revisionStatusChanged', (t) =>
  t.field({
    type: RevisionStatusChange,
    description:
      'Streams status changes of one revision, one deployment or the workspace. Without `after` it sends the current status ' +
      'first (of the revision, or of the deployment’s latest), then every change. With `after` it sends every change since. With ' +
      '`revisionId` it completes at a terminal status. A stream that ends early (the client reads too ' +
      'slowly, or the server stops) ends with an error. Its extensions have the `cursor` to continue from.',
    args: { deploymentId: t.arg.id(), revisionId: t.arg.id(), after: t.arg.string() },
    subscribe: (_root, args, ctx, info) => {
      rejectExpensive(ctx, info)
      return streamRevisionStatus(ctx, ctx.relay, { ...args, after: ctx.lastEventId ?? args.after })
    },
    resolve: (event) => event,
  }),
)

const DeploymentsChange = builder.objectRef<Change>('DeploymentsChange').implement({
  description:
    'Deployments whose visible state changed. A stream without `after` begins with an empty change. No change after it is missed.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to continue from here.' }),
    deploymentIds: t.idList({
      description: `At most ${DEPLOYMENTS_PER_SEQUENCE} ids. An id that is missing in \`deployments\` is deleted.`,
      resolve: ({ deploymentIds }) => [...deploymentIds],
    }),
    deployments: t.field({
      type: [Deployment],
      description: 'The current state of these deployments, in no particular order.',
      complexity: { field: 1, multiplier: DEPLOYMENTS_PER_SEQUENCE },
      resolve: async ({ deploymentIds }, _args, ctx, info) =>
        deploymentIds.length === 0
          ? []
          : ((await readNodes(
              ctx,
              'Deployment',
              deploymentIds,
              queryFromInfo({ context: ctx, info }),
            )) as DeploymentRow[]),
    }),
  }),
})

builder.subscriptionField('deploymentsChanged', (t) =>
  t.field({
    type: DeploymentsChange,
    description:
      'Sends deployments whenever any visible part of a `Deployment` changes: fields, tags, revisions, health, replicas, whether it ' +
      'serves, and what it waits for. This includes changes by time alone: an expired lease or a silent listener. Changes arrive ' +
      'within a second; several changes in that time arrive as one. Without `after` the stream begins now, with a first message ' +
      'without deployments; read state again after it. With `after` it sends everything since then, across reconnects, restarts ' +
      'and servers. A stream that ends early ends with an error. Its extensions have the `cursor` to continue from.',
    args: {
      after: t.arg.string({ description: 'The `cursor` of a change.' }),
      deploymentId: t.arg.id({ description: 'Only changes of this deployment.' }),
    },
    subscribe: (_root, { after, deploymentId }, ctx, info) => {
      rejectExpensive(ctx, info)
      const query = { after: ctx.lastEventId ?? after ?? undefined, deployment_id: deploymentId ?? undefined }
      return streamDeploymentChanges(ctx, { query }, ctx.relay)
    },
    resolve: (change) => change,
  }),
)
