/**
 * `revisionLogs` and `deploymentLogs`: the lines of a log as they arrive, in order and exactly once
 * (docs/deployments.md#logs).
 */
import {
  type FollowCall,
  type FollowedLog,
  followDeploymentLogs,
  followLogsOfRevision,
} from '../../../domain/logs/follow.ts'
import type { Line } from '../../../domain/logs/lines.ts'
import { streamLog } from '../../realtime/log-stream.ts'
import type { Stream } from '../../realtime/stream.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { LOG_FILTER, Log, type LogFilter } from './log.ts'

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
