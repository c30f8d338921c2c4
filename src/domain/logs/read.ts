/**
 * Reads log lines by keyset on the line's id (docs/deployments.md#deployments), of one revision or of a deployment. The
 * logs of builds and of running agents are separate; each has the lines of all attempts.
 */
import { z } from 'zod'
import type { LogLine, Prisma } from '../../generated/prisma/client.ts'
import { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import { requireRole } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import { rejectIfAny } from '../core/errors.ts'
import { queryEnum, queryIntOrNone, queryText, queryTime, queryWord } from '../core/fields.ts'
import { escapeLike } from '../core/like-pattern.ts'
import { decodeCursor, encodeCursor } from '../core/paging.ts'
import { parse, type RawInput } from '../core/parse.ts'
import { deploymentPath, revisionPath } from '../model/shapes.ts'
import { readRevision, requireDeployment } from '../revisions/read.ts'

const LEVELS = Object.values(LogLevel)
const LIMIT = 50

const logQuery = z.object({
  type: z.enum(LogType).describe('`build`: what the build printed; `deploy`: what the running agent prints.'),
  start_time: queryTime.describe('Only lines of this time or later.'),
  end_time: queryTime.describe('Only lines before this time.'),
  order: queryEnum(['asc', 'desc']).describe('asc (the default): oldest first.'),
  limit: queryIntOrNone(1, 1000).meta({ default: LIMIT }),
  offset: queryText.describe('`next_offset` of the page before.'),
  last: queryIntOrNone(1, 1000).describe(
    'Instead of `order`, `limit` and `offset`: so many of the newest lines, oldest first. `next_offset` goes on behind them.',
  ),
  query: queryText.describe('Only lines that contain this text, in upper or lower case.'),
  level: queryWord(['debug', 'info', 'warning', 'error', 'critical']).describe(
    'Only lines of this level or a more severe one. In upper or lower case.',
  ),
})

export const readLogsInput = z.object({ path: revisionPath, query: logQuery })
export const readDeploymentLogsInput = z.object({ path: deploymentPath, query: logQuery })

export interface LogPage {
  lines: LogLine[]
  /**
   * Where the next page starts. Oldest first: after the last line of this page; null: it is empty, so a client that
   * follows a log asks again with the last offset it got. Newest first: null at the start of the log.
   */
  nextOffset: string | null
  /** whether there are more lines in this direction now; with `last`, before them */
  hasMore: boolean
}

/** A page of a revision's log. Role: viewer. Throws NotFoundError for either id. */
export async function readLogs(ctx: RequestContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsInput, raw)
  const window = windowOf(query)
  await readRevision(ctx, path.deployment_id, path.revision_id)
  return readPage(ctx, { revisionId: path.revision_id }, query, window)
}

/** A page of a deployment's log: the lines of all its revisions, in order. Role: viewer. Throws NotFoundError. */
export async function readDeploymentLogs(ctx: RequestContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readDeploymentLogsInput, raw)
  const window = windowOf(query)
  await requireDeployment(ctx, path.deployment_id)
  return readPage(ctx, { deploymentId: path.deployment_id }, query, window)
}

type LogQuery = z.output<typeof logQuery>

/** Which of the matching lines to read. */
interface LogWindow {
  order: 'asc' | 'desc'
  take: number
  /** start after this id, in this order */
  after: number | null
  /** read newest first, but shown oldest first */
  reversed: boolean
}

function windowOf({ last, limit, offset, order }: LogQuery): LogWindow {
  if (last === undefined) {
    const after = offset === undefined ? null : decodeOffset(offset)
    return { order: order ?? 'asc', take: limit ?? LIMIT, after, reversed: false }
  }
  if (limit !== undefined || offset !== undefined || order !== undefined)
    rejectIfAny([
      { loc: ['query', 'last'], msg: 'Can’t be used together with order, limit or offset.', type: 'value_error' },
    ])
  return { order: 'desc', take: last, after: null, reversed: true }
}

/** `log`: whose lines. */
async function readPage(
  ctx: RequestContext,
  log: { revisionId: string } | { deploymentId: string },
  query: LogQuery,
  { order, take, after, reversed }: LogWindow,
): Promise<LogPage> {
  const where: Prisma.LogLineWhereInput = {
    ...log,
    type: query.type,
    ...(after === null ? {} : { id: order === 'asc' ? { gt: after } : { lt: after } }),
    ...(query.start_time || query.end_time ? { time: { gte: query.start_time, lt: query.end_time } } : {}),
    ...(query.query ? { message: { contains: escapeLike(query.query), mode: 'insensitive' } } : {}),
    ...(query.level ? { level: { in: LEVELS.slice(LEVELS.indexOf(query.level)) } } : {}),
  }
  const found = await ctx.db.logLine.findMany({ where, orderBy: { id: order }, take: take + 1 })
  const hasMore = found.length > take
  const lines = found.slice(0, take)
  if (reversed) lines.reverse()
  const last = lines.at(-1)
  return { lines, nextOffset: last && (order === 'asc' || reversed || hasMore) ? logOffset(last) : null, hasMore }
}

/** The opaque offset of the page that starts after a line, in either order. */
export function logOffset(line: Pick<LogLine, 'id'>): string {
  return encodeCursor([Number(line.id)])
}

/** A line's id for callers: padded, so that ids sort as text. */
export const logLineId = ({ id }: Pick<LogLine, 'id'>): string => String(id).padStart(16, '0')

function decodeOffset(offset: string): number {
  return decodeCursor(offset, z.tuple([z.int()]), ['query', 'offset'])[0]
}
