/** Reads the lines of a log by keyset on the line's id. A gap line stands for removed lines (README.md). */
import { z } from 'zod'
import { type LogLine, Prisma } from '../../generated/prisma/client.ts'
import { LogLevel, type LogType } from '../../generated/prisma/enums.ts'
import { decodeCursor, encodeCursor } from '../paging/paging.ts'
import { inColours } from '../protocol/line-styles.ts'
import { escapeLike } from '../sql/statements.ts'
import type { Db } from '../transaction/context.ts'

export interface Line extends LogLine {
  /** stands for removed older lines */
  gap: boolean
}

export interface LogKey {
  by: 'revisionId' | 'deploymentId'
  id: string
  type: LogType
}

export interface LogFilter {
  /** this level or a more severe one */
  level?: LogLevel
  /** matched without regard to case */
  text?: string
  /** inclusive; `to` is exclusive */
  from?: Date
  to?: Date
}

export interface LogWindow {
  order: 'asc' | 'desc'
  take: number
  /** ids, both exclusive */
  after?: bigint
  before?: bigint
  /** which gap lines of a deployment's log to return: the newest one (the default), or one per revision */
  gaps?: 'newest' | 'all'
}

const COLUMN = { revisionId: Prisma.raw('revision_id'), deploymentId: Prisma.raw('deployment_id') }
const SEVERITY = Object.values(LogLevel)
const GAP_MESSAGE = '… older lines were removed'
const MAX_LINE_ID = 2n ** 63n - 1n

/** The lines of a window, in its order. One statement; it reads only this log's range of an index. */
export async function readLines(
  db: Db,
  log: LogKey,
  filter: LogFilter,
  { order, take, after = 0n, before = MAX_LINE_ID, gaps = 'newest' }: LogWindow,
): Promise<Line[]> {
  const column = COLUMN[log.by]
  const key = (id: bigint) => Prisma.sql`(${log.id}::uuid, ${log.type}::text::"LogType", ${id}::bigint)`
  const sorted = Prisma.raw(order)
  const rows = await db.$queryRaw<(Omit<LogLine, 'message'> & { message: string | null })[]>`
    SELECT id, deployment_id AS "deploymentId", revision_id AS "revisionId", type, attempt, level, message, time, styles FROM (
      (SELECT l.id, l.deployment_id, l.revision_id, l.type, l.attempt, l.level, l.message, l.time, l.styles FROM log_lines l
       WHERE (l.${column}, l.type, l.id) > ${key(after)} AND (l.${column}, l.type, l.id) < ${key(before)}
         ${lineFilterSql(filter)} ${timeFilterSql(Prisma.raw('l.time'), filter)}
       ORDER BY l.${column} ${sorted}, l.type ${sorted}, l.id ${sorted} LIMIT ${take})
      UNION ALL
      (SELECT * FROM (
         SELECT line_id AS id, deployment_id, revision_id, type, attempt, 'warning'::"LogLevel", NULL::text, time, NULL::text FROM log_removals
         WHERE ${column} = ${log.id}::uuid AND type = ${log.type}::text::"LogType" ORDER BY line_id DESC LIMIT ${gaps === 'all' ? null : 1}
       ) AS newest WHERE id > ${after} AND id < ${before} ${timeFilterSql(Prisma.raw('newest.time'), filter)})
    ) AS found ORDER BY id ${sorted} LIMIT ${take}`
  return rows.map((row) => ({ ...row, message: row.message ?? GAP_MESSAGE, gap: row.message === null }))
}

export function matches(line: Line, { level, text, from, to }: LogFilter): boolean {
  if ((from && line.time < from) || (to && line.time >= to)) return false
  if (line.gap) return true
  if (level && SEVERITY.indexOf(line.level) < SEVERITY.indexOf(level)) return false
  return text === undefined || line.message.toLowerCase().includes(text.toLowerCase())
}

function lineFilterSql({ level, text }: LogFilter): Prisma.Sql {
  const severe = level && SEVERITY.slice(SEVERITY.indexOf(level))
  return Prisma.sql`
    ${severe ? Prisma.sql`AND l.level::text = ANY (${severe})` : Prisma.empty}
    ${text === undefined ? Prisma.empty : Prisma.sql`AND l.message ILIKE ${`%${escapeLike(text)}%`}`}`
}

function timeFilterSql(column: Prisma.Sql, { from, to }: LogFilter): Prisma.Sql {
  return Prisma.sql`
    ${from ? Prisma.sql`AND ${column} >= ${from}::timestamptz` : Prisma.empty}
    ${to ? Prisma.sql`AND ${column} < ${to}::timestamptz` : Prisma.empty}`
}

/** The opaque cursor of a line. The next lines, in either order, come after it. */
export const logOffset = ({ id }: Pick<LogLine, 'id'>): string => encodeCursor([Number(id)])

/** The line with its colours as SGR sequences, and no other sequences. Null: it has no colours. */
export const colouredLine = ({ message, styles }: Pick<LogLine, 'message' | 'styles'>): string | null =>
  inColours(message, styles)

/** Padded, so ids sort as text. */
export const logLineId = ({ id }: Pick<LogLine, 'id'>): string => String(id).padStart(16, '0')

/** The line id of a cursor. Throws ValidationError (`cursor_invalid`, at `query.offset`). */
export function readLogOffset(offset: string): bigint {
  return BigInt(decodeCursor(offset, z.tuple([z.int()]), ['query', 'offset'])[0])
}
