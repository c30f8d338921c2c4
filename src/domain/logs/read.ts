/**
 * Reads the log of a revision, line by line, by a keyset on the line's id (contract 3). The build's log and the
 * running agent's are two logs; the lines of all attempts are in them, one after the other.
 */
import { z } from 'zod'
import type { LogLine, Prisma } from '../../generated/prisma/client.ts'
import { LogLevel, LogType } from '../../generated/prisma/enums.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { revisionPath } from '../deployments/schemas.ts'
import { queryEnum, queryInt, queryText, queryTime } from '../fields.ts'
import { escapeLike } from '../like.ts'
import { decodeCursor, encodeCursor } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import { readRevision } from '../revisions/read.ts'

const LEVELS = Object.values(LogLevel)

export const readLogsInput = z.object({
  path: revisionPath,
  query: z.object({
    type: z.enum(LogType).describe('`build`: what the build printed; `deploy`: what the running agent prints.'),
    start_time: queryTime.describe('Only lines of this time or later.'),
    end_time: queryTime.describe('Only lines before this time.'),
    order: queryEnum(['asc', 'desc']).describe('asc (the default): oldest first.'),
    limit: queryInt(1, 1000, 50),
    offset: queryText.describe('`next_offset` of the page before.'),
    query: queryText.describe('Only lines that contain this text, in upper or lower case.'),
    level: queryEnum(['debug', 'info', 'warning', 'error']).describe('Only lines of this level or a more severe one.'),
  }),
})

export interface LogPage {
  lines: LogLine[]
  /**
   * Where the next page begins. Oldest first: behind the last line of this page, null when there is none, so a client
   * that follows a log keeps the last offset it was given and asks again. Newest first: null at the log's beginning.
   */
  nextOffset: string | null
  /** whether there are more lines in this direction now */
  hasMore: boolean
}

/** A page of a revision's log. Role: viewer. Throws NotFoundError for either id. */
export async function readLogs(ctx: RequestContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsInput, raw)
  const order = query.order ?? 'asc'
  const behind = query.offset === undefined ? undefined : decodeOffset(query.offset)
  await readRevision(ctx, path.deployment_id, path.revision_id)
  const where: Prisma.LogLineWhereInput = {
    revisionId: path.revision_id,
    type: query.type,
    ...(behind === undefined ? {} : { id: order === 'asc' ? { gt: behind } : { lt: behind } }),
    ...(query.start_time || query.end_time ? { time: { gte: query.start_time, lt: query.end_time } } : {}),
    ...(query.query ? { message: { contains: escapeLike(query.query), mode: 'insensitive' } } : {}),
    ...(query.level ? { level: { in: LEVELS.slice(LEVELS.indexOf(query.level)) } } : {}),
  }
  const found = await ctx.db.logLine.findMany({ where, orderBy: { id: order }, take: query.limit + 1 })
  const lines = found.slice(0, query.limit)
  const last = lines.at(-1)
  const hasMore = found.length > query.limit
  return { lines, nextOffset: last && (order === 'asc' || hasMore) ? logOffset(last) : null, hasMore }
}

/** The opaque offset that points behind a line, in either order. */
export function logOffset(line: Pick<LogLine, 'id'>): string {
  return encodeCursor([Number(line.id)])
}

function decodeOffset(offset: string): number {
  return decodeCursor(offset, z.tuple([z.int()]), ['query', 'offset'])[0]
}
