/**
 * What can be asked of a log, of a revision or of a deployment (docs/deployments.md#logs): which lines, and which of them a
 * page shows. Parameters that contradict each other are refused, never ignored.
 */
import { z } from 'zod'
import { LogType } from '../../generated/prisma/enums.ts'
import { rejectIfAny, type Violation } from '../core/errors.ts'
import { queryEnum, queryIntOrNone, queryText, queryTime, queryWord } from '../core/fields.ts'
import { deploymentPath, revisionPath } from '../model/shapes.ts'
import { type LogFilter, type LogWindow, readLogOffset } from './lines.ts'

const LIMIT = 50
const MOST = 1000

const logQuery = z.object({
  type: z.enum(LogType).describe('`build`: what the build printed; `deploy`: what the running agent prints.'),
  start_time: queryTime.describe('Only lines of this time or later.'),
  end_time: queryTime.describe('Only lines before this time.'),
  order: queryEnum(['asc', 'desc']).describe('asc (the default): oldest first.'),
  limit: queryIntOrNone(1, MOST).meta({ default: LIMIT }),
  offset: queryText.describe('`next_offset` of the page before.'),
  last: queryIntOrNone(1, MOST).describe(
    'Instead of `order`, `limit` and `offset`: so many of the newest lines, oldest first. `next_offset` goes on behind them.',
  ),
  query: queryText.describe('Only lines that contain this text, in upper or lower case.'),
  level: queryWord(['debug', 'info', 'warning', 'error', 'critical']).describe(
    'Only lines of this level or a more severe one. In upper or lower case.',
  ),
})

export const readLogsInput = z.object({ path: revisionPath, query: logQuery })
export const readDeploymentLogsInput = z.object({ path: deploymentPath, query: logQuery })

export type LogQuery = z.output<typeof logQuery>

/** Which lines a page shows. Throws ValidationError. */
export function pageOf(query: LogQuery): LogWindow & { filter: LogFilter } {
  const { last, limit, offset, order } = query
  const both = last !== undefined && (limit !== undefined || offset !== undefined || order !== undefined)
  rejectIfAny([
    ...(both ? [refused('last', 'Can’t be used together with order, limit or offset.')] : []),
    ...emptyRange(query),
  ])
  const filter = filterOf(query)
  if (last !== undefined) return { filter, order: 'desc', take: last, reversed: true }
  const after = offset === undefined ? undefined : readLogOffset(offset, 'offset')
  return {
    filter,
    order: order ?? 'asc',
    take: limit ?? LIMIT,
    reversed: false,
    ...(order === 'desc' ? { before: after } : { after }),
  }
}

const filterOf = ({ level, query, start_time, end_time }: LogQuery): LogFilter => ({
  level,
  text: query,
  from: start_time,
  to: end_time,
})

function emptyRange({ start_time, end_time }: LogQuery): Violation[] {
  if (!start_time || !end_time || start_time <= end_time) return []
  return [refused('end_time', 'Must not be before start_time.')]
}

const refused = (name: string, msg: string): Violation => ({ loc: ['query', name], msg, type: 'value_error' })
