/** Logs of revisions and deployments over REST, read by pages or followed (docs/deployments.md#logs). */

import { type FollowCall, type FollowedLog, followDeploymentLogs, followLogs } from '../../../domain/logs/follow.ts'
import type { Line } from '../../../domain/logs/lines.ts'
import { asksToFollow, readDeploymentLogsInput, readLogsInput } from '../../../domain/logs/query.ts'
import { readDeploymentLogs, readLogs } from '../../../domain/logs/read.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { streamLog } from '../../realtime/log-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { logLine, logPage } from '../responses/revision.ts'

const tag = 'Revisions'

type Follow = (ctx: RequestContext, call: FollowCall) => Promise<FollowedLog>

const logStream = (description: string, follow: Follow): StreamDefinition<Line> => ({
  name: 'line',
  description: `${description}; \`follow=true\` has to be there, too.`,
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
    ...singleResponse(200, 'A page.', logPage, readLogs),
    stream: logStream(
      'an event `line` for each line, until the build has ended (`type=build`) or the deployment is gone (`type=deploy`)',
      followLogs,
    ),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/logs',
    operationId: 'readDeploymentLogs',
    summary: 'Read or follow the log of all builds, or of all agents, of a deployment',
    description: 'The lines of all its revisions, as they came; each names its revision and attempt.',
    tag,
    input: readDeploymentLogsInput,
    ...singleResponse(200, 'A page.', logPage, readDeploymentLogs),
    stream: logStream('an event `line` for each line, until the deployment is gone', followDeploymentLogs),
    errors: [404],
  }),
]
