/** Reads or streams logs of revisions and deployments (docs/deployments.md#logs). */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { downloadInput, downloadLogs } from '../../../domain/logs/download.ts'
import { type FollowCall, type FollowedLog, followDeploymentLogs, followLogs } from '../../../domain/logs/follow.ts'
import type { Line } from '../../../domain/logs/lines.ts'
import {
  asksToFollow,
  readDeploymentLogs,
  readDeploymentLogsInput,
  readLogs,
  readLogsInput,
} from '../../../domain/logs/read.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { streamLog } from '../../realtime/log-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { encode } from '../responses/response-schema.ts'
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

const TYPES = { text: 'text/plain', ndjson: 'application/x-ndjson' } as const

async function download(ctx: RequestContext, raw: RawInput) {
  const { format, pages } = await downloadLogs(ctx, raw)
  const lineText = (line: Line) =>
    format === 'text'
      ? `${line.time.toISOString()} ${line.level.padEnd(8)} ${line.message}`
      : JSON.stringify(encode(logLine, line, ctx))
  async function* texts() {
    for await (const lines of pages) yield lines.map((line) => `${lineText(line)}\n`).join('')
  }
  const headers = { 'content-type': `${TYPES[format]}; charset=utf-8` }
  return { status: 200, headers, body: Readable.from(texts(), { objectMode: false }) as never } as const
}

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
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/logs/download',
    operationId: 'downloadLogs',
    summary: 'Download a log, or all of its lines that a search finds',
    description:
      'The answer is a text that ends with the newest line at the time of the call, oldest line first. It is sent while it is read. If reading fails, the connection breaks.',
    tag,
    input: downloadInput,
    headers: { 'cache-control': 'no-store' },
    responses: { 200: { description: 'The lines.', schema: z.string(), types: Object.values(TYPES) } },
    handle: download,
    errors: [404],
  }),
]
