/** `revisionLogs` and `deploymentLogs`: the lines of a log as they come, none lost, none twice, in order (docs/deployments.md#logs). */
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
import { LogLevel, LogType } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'
import { Log } from './log.ts'

const WHERE =
  'Begins with the oldest line that is kept; with `last`, with so many of the newest; with `after`, behind the line of that cursor.'
const ENDS =
  'A stream that is ended before its time (the client reads too slowly, or the server stops) ends with an error; its extensions have the `cursor` to go on from.'

const args = builder.args((t) => ({
  type: t.field({ type: LogType, required: true }),
  after: t.string({
    description: 'The `cursor` of a line: begins behind it, whatever `last` says, so who comes back need only add it.',
  }),
  last: t.int({ description: 'From 0 (only what comes) to 1000.' }),
  query: t.string({ description: 'Only lines that contain this text, in upper or lower case.' }),
  level: t.field({ type: LogLevel, description: 'Only lines of this level or a more severe one.' }),
  startTime: t.field({ type: 'DateTime', description: 'Only lines of this time or later.' }),
}))

interface Args {
  type: Line['type']
  after?: string | null
  last?: number | null
  query?: string | null
  level?: Line['level'] | null
  startTime?: Date | null
}

type Follow = (ctx: GraphQLContext, call: FollowCall) => Promise<FollowedLog>

/** `follow`: the domain's verb. */
async function stream(
  ctx: GraphQLContext,
  path: object,
  { after, startTime, ...asked }: Args,
  follow: Follow,
): Promise<Stream<Line>> {
  const query = { ...asked, start_time: startTime }
  const resume = ctx.lastEventId ?? after ?? undefined
  return withArgumentNames({ offset: 'after' }, async () =>
    streamLog(ctx, ctx.relay, await follow(ctx, { raw: { path, query }, resume })),
  )
}

builder.subscriptionField('revisionLogs', (t) =>
  t.field({
    type: Log,
    description: `The lines of one of a revision’s logs. ${WHERE} The log of a build completes when the build has ended, that of an agent when its deployment is gone. ${ENDS}`,
    args: { revisionId: t.arg.id({ required: true }), ...args },
    subscribe: (_root, { revisionId, ...asked }, ctx) =>
      stream(ctx, { revision_id: revisionId }, asked, followLogsOfRevision),
    resolve: (line) => line,
  }),
)

builder.subscriptionField('deploymentLogs', (t) =>
  t.field({
    type: Log,
    description: `The lines of one of a deployment’s logs, across all its revisions. ${WHERE} Completes when the deployment is gone. ${ENDS}`,
    args: { deploymentId: t.arg.id({ required: true }), ...args },
    subscribe: (_root, { deploymentId, ...asked }, ctx) =>
      stream(ctx, { deployment_id: deploymentId }, asked, followDeploymentLogs),
    resolve: (line) => line,
  }),
)
