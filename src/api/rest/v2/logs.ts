/** Reads or streams logs of revisions and deployments (docs/deployments.md#logs). */
import { type FollowCall, type FollowedLog, followDeploymentLogs, followLogs } from '../../../domain/logs/follow.ts'
import type { Line } from '../../../domain/logs/lines.ts'
import {
  asksToFollow,
  readDeploymentLogs,
  readDeploymentLogsInput,
  readLogs,
  readLogsInput,
} from '../../../domain/logs/read.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { streamLog } from '../../realtime/log-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { logLine, logPage } from '../responses/revision.ts'

const tag = 'Revisions'

type Follow = (ctx: RequestContext, call: FollowCall) => Promise<FollowedLog>

const logStream = (description: string, follow: Follow): StreamDefinition<Line> => ({
  name: 'line',
  description: `${description} Send \`follow=true\` too.`,
  schema: logLine,
  eventName: () => 'line',
  isRequested: asksToFollow,
  cursorParameter: 'offset',
  startParameters: ['last'],
  open: async (ctx, raw, relay) => streamLog(ctx, relay, await follow(ctx, { raw })),
})

export const logs: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/logs',
    operationId: 'readLogs',
    summary: 'Read or follow the log of a build or of the running agent',
    tag,
    input: readLogsInput,
    ...singleResponse(200, 'A page of log lines.', logPage, readLogs),
    stream: logStream(
      'the stream has an event `line` for each line. It ends when the build has ended (`type=build`) or the deployment is deleted (`type=deploy`).',
      followLogs,
    ),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/logs',
    operationId: 'readDeploymentLogs',
    summary: 'Read or follow the log of all builds or all agents of a deployment',
    description:
      'The log has the lines of all revisions in the order of their arrival. Each line has its revision and attempt.',
    tag,
    input: readDeploymentLogsInput,
    ...singleResponse(200, 'A page of log lines.', logPage, readDeploymentLogs),
    stream: logStream(
      'the stream has an event `line` for each line. It ends when the deployment is deleted.',
      followDeploymentLogs,
    ),
    errors: [404],
  }),
]
