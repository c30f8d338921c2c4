/** Reads the lines of a log by keyset on the line's id. A gap line stands for removed lines (README.md). */
import { z } from 'zod'
import { type LogLine, Prisma } from '../../generated/prisma/client.ts'
import type { LogType } from '../../generated/prisma/enums.ts'
import { decodeCursor, encodeCursor } from '../paging/paging.ts'
import { inColours } from '../protocol/line-styles.ts'
import type { Db } from '../transaction/context.ts'
import { type LogFilter, lineFilterSql, timeFilterSql } from './filter.ts'

export interface Line extends LogLine {
  /** stands for removed older lines */
  gap: boolean
  /** does not match the filter; it is near a line that does */
  context?: boolean
}

export interface LogKey {
  by: 'revisionId' | 'deploymentId'
  id: string
  type: LogType
}

/** Lines with ids between the two, both exclusive. */
export interface IdRange {
  after: bigint
  before: bigint
}

export interface LogWindow extends Partial<IdRange> {
  order: 'asc' | 'desc'
  take: number
  /** which gap lines of a deployment's log to return: the newest one (the default), or one per revision */
  gaps?: 'newest' | 'all'
}

const COLUMN = { revisionId: Prisma.raw('revision_id'), deploymentId: Prisma.raw('deployment_id') }
const GAP_MESSAGE = '… older lines were removed'
export const MAX_LINE_ID = 2n ** 63n - 1n

/** The lines of a window, in its order. One statement; it reads only this log's range of an index. */
export async function readLines(db: Db, log: LogKey, filter: LogFilter, window: LogWindow): Promise<Line[]> {
  return (await db.$queryRaw<FoundRow[]>(linesSql(log, filter, window))).map(lineOf)
}

/**
 * Like readLines, but looks at no more than `most` lines, the first in the window's order. `edge`: the last line that it
 * looked at; null: it reached the end of the window.
 */
export async function scanLines(
  db: Db,
  log: LogKey,
  filter: LogFilter,
  window: LogWindow & IdRange,
  most: number,
): Promise<{ found: Line[]; edge: bigint | null }> {
  const inOrder = window.order === 'asc'
  const limit = Prisma.raw(inOrder ? 'coalesce((SELECT id + 1 FROM edge), ' : 'coalesce((SELECT id - 1 FROM edge), ')
  const bounded = inOrder
    ? { ...window, before: Prisma.sql`${limit}${window.before}::bigint)` }
    : { ...window, after: Prisma.sql`${limit}${window.after}::bigint)` }
  const rows = await db.$queryRaw<(FoundRow | { id: bigint; deploymentId: null })[]>`
    WITH edge AS MATERIALIZED (
      SELECT l.id FROM log_lines l WHERE ${inRangeSql(log, window)} ${orderSql(log, window.order)} OFFSET ${most - 1} LIMIT 1
    )
    (${linesSql(log, filter, bounded)})
    UNION ALL SELECT id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM edge`
  const found = rows.filter((row): row is FoundRow => row.deploymentId !== null)
  return { found: found.map(lineOf), edge: rows.find((row) => row.deploymentId === null)?.id ?? null }
}

type FoundRow = Omit<LogLine, 'message'> & { message: string | null }

const lineOf = (row: FoundRow): Line => ({ ...row, message: row.message ?? GAP_MESSAGE, gap: row.message === null })

/** Bounds of ids, which may be subqueries. */
interface SqlRange {
  after?: bigint | Prisma.Sql
  before?: bigint | Prisma.Sql
}

/** A row range, because for equalities Postgres may walk through the lines of all logs. */
function inRangeSql({ by, id, type }: LogKey, { after = 0n, before = MAX_LINE_ID }: SqlRange): Prisma.Sql {
  const column = COLUMN[by]
  const key = (lineId: bigint | Prisma.Sql) => Prisma.sql`(${id}::uuid, ${type}::text::"LogType", ${lineId}::bigint)`
  return Prisma.sql`(l.${column}, l.type, l.id) > ${key(after)} AND (l.${column}, l.type, l.id) < ${key(before)}`
}

function orderSql({ by }: LogKey, order: LogWindow['order']): Prisma.Sql {
  const sorted = Prisma.raw(order)
  return Prisma.sql`ORDER BY l.${COLUMN[by]} ${sorted}, l.type ${sorted}, l.id ${sorted}`
}

function linesSql(log: LogKey, filter: LogFilter, window: Omit<LogWindow, keyof IdRange> & SqlRange): Prisma.Sql {
  const { order, take, after = 0n, before = MAX_LINE_ID, gaps = 'newest' } = window
  return Prisma.sql`
    SELECT id, deployment_id AS "deploymentId", revision_id AS "revisionId", type, attempt, level, message, time, styles FROM (
      (SELECT l.id, l.deployment_id, l.revision_id, l.type, l.attempt, l.level, l.message, l.time, l.styles FROM log_lines l
       WHERE ${inRangeSql(log, window)} ${lineFilterSql(filter)} ${timeFilterSql(Prisma.raw('l.time'), filter)}
       ${orderSql(log, order)} LIMIT ${take})
      UNION ALL
      (SELECT * FROM (
         SELECT line_id AS id, deployment_id, revision_id, type, attempt, 'warning'::"LogLevel", NULL::text, time, NULL::text FROM log_removals
         WHERE ${COLUMN[log.by]} = ${log.id}::uuid AND type = ${log.type}::text::"LogType" ORDER BY line_id DESC LIMIT ${gaps === 'all' ? null : 1}
       ) AS newest WHERE id > ${after} AND id < ${before} ${timeFilterSql(Prisma.raw('newest.time'), filter)})
    ) AS found ORDER BY id ${Prisma.raw(order)} LIMIT ${take}`
}

/** The lines within `distance` lines of the lines with the ids `centers`, in the order of the window and only those in it. */
export async function readAround(
  db: Db,
  log: LogKey,
  centers: readonly bigint[],
  distance: number,
  { order, take, after, before }: LogWindow & IdRange,
): Promise<Line[]> {
  const sorted = Prisma.raw(order)
  const near = (range: SqlRange, direction: LogWindow['order']) => Prisma.sql`
    (SELECT l.id FROM log_lines l WHERE ${inRangeSql(log, range)} ${orderSql(log, direction)} LIMIT ${distance})`
  // OFFSET 0: each line is looked up by its id; otherwise Postgres may walk through the lines of all logs
  const rows = await db.$queryRaw<LogLine[]>`
    SELECT l.* FROM (
      SELECT DISTINCT near.id FROM unnest(${centers}::bigint[]) AS c(id) CROSS JOIN LATERAL (
        SELECT c.id UNION ALL ${near({ before: Prisma.sql`c.id` }, 'desc')} UNION ALL ${near({ after: Prisma.sql`c.id` }, 'asc')}
      ) AS near WHERE near.id > ${after} AND near.id < ${before} ORDER BY near.id ${sorted} LIMIT ${take}
    ) AS shown CROSS JOIN LATERAL (
      SELECT id, deployment_id AS "deploymentId", revision_id AS "revisionId", type, attempt, level, message, time, styles
      FROM log_lines WHERE id = shown.id OFFSET 0
    ) AS l ORDER BY l.id ${sorted}`
  return rows.map((row) => ({ ...row, gap: false }))
}

/** The part of a range that has lines, or the gap line, of a revision's log. Null: none. */
export async function rangeOfRevision(db: Db, log: LogKey, { after, before }: IdRange): Promise<IdRange | null> {
  const all = { after, before }
  const [row] = await db.$queryRaw<{ first: bigint | null; last: bigint | null }[]>`
    SELECT least((SELECT l.id FROM log_lines l WHERE ${inRangeSql(log, all)} ${orderSql(log, 'asc')} LIMIT 1),
                 (SELECT max(line_id) FROM log_removals WHERE revision_id = ${log.id}::uuid AND type = ${log.type}::text::"LogType"
                  AND line_id > ${after} AND line_id < ${before})) AS first,
           (SELECT l.id FROM log_lines l WHERE ${inRangeSql(log, all)} ${orderSql(log, 'desc')} LIMIT 1) AS last`
  const { first, last } = row!
  return first === null ? null : { after: first - 1n, before: (last ?? first) + 1n }
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
