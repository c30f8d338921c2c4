/**
 * What can be asked of a log, of a revision or of a deployment (docs/deployments.md#logs): which lines, which of them a page
 * shows, and where following begins. Parameters that contradict each other are refused, never ignored.
 */
import { z } from 'zod'
import { LogType } from '../../generated/prisma/enums.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import { queryBool, queryEnum, queryIntOrNone, queryText, queryTime, queryWord, uuid } from '../parsing/fields.ts'
import { deploymentPath, revisionPath } from '../values/shapes.ts'
import { type LogFilter, type LogWindow, readLogOffset } from './lines.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000

const logQuery = z.object({
  type: z.enum(LogType).describe('`build`: what the build printed; `deploy`: what the running agent prints.'),
  start_time: queryTime.describe('Only lines of this time or later.'),
  end_time: queryTime.describe('Only lines before this time.'),
  order: queryEnum(['asc', 'desc']).describe('asc (the default): oldest first.'),
  limit: queryIntOrNone(1, MAX_LIMIT).meta({ default: DEFAULT_LIMIT }),
  offset: queryText.describe('`next_offset` of the page before, or the `id` of the last event of a stream.'),
  last: queryIntOrNone(0, MAX_LIMIT).describe(
    'Instead of `order`, `limit` and `offset`: so many of the newest lines, oldest first. `next_offset` goes on behind them. 0, only what comes, is for `follow`.',
  ),
  query: queryText.describe('Only lines that contain this text, in upper or lower case.'),
  level: queryWord(['debug', 'info', 'warning', 'error', 'critical']).describe(
    'Only lines of this level or a more severe one. In upper or lower case.',
  ),
  follow: queryBool.describe(
    'The lines as they come, from the oldest on; or from behind `offset`, or from the `last` ones. Needs `Accept: text/event-stream`, and goes without `order`, `limit` and `end_time`.',
  ),
})

export const readLogsInput = z.object({ path: revisionPath, query: logQuery })
/** For GraphQL, which names a revision without its deployment. */
export const readLogsOfRevisionInput = z.object({ path: z.object({ revision_id: uuid }), query: logQuery })
export const readDeploymentLogsInput = z.object({ path: deploymentPath, query: logQuery })

export type LogQuery = z.output<typeof logQuery>

/** Whether a call's raw query asks to follow. */
export const asksToFollow = (query: object): boolean =>
  logQuery.shape.follow.safeParse((query as { follow?: unknown }).follow).data === true

/** Which lines a page shows. */
export interface Page extends LogWindow {
  filter: LogFilter
  /** read newest first, but shown oldest first */
  reversed: boolean
}

/** Throws ValidationError. */
export function parsePage(query: LogQuery): Page {
  const { last, limit, offset, order } = query
  const both = last !== undefined && (limit !== undefined || offset !== undefined || order !== undefined)
  const msg = 'Must be at least 1, unless the log is followed.'
  rejectIfAny([
    ...(query.follow
      ? [refused('follow', 'Following needs the header Accept: text/event-stream; without it, read pages.')]
      : []),
    ...(both ? [refused('last', 'Can’t be used together with order, limit or offset.')] : []),
    ...(last === 0 ? [{ loc: ['query', 'last'], msg, type: 'greater_than_equal' }] : []),
    ...emptyRange(query),
  ])
  const filter = filterOf(query)
  if (last !== undefined) return { filter, order: 'desc', take: last, reversed: true }
  const after = offset === undefined ? undefined : readLogOffset(offset)
  return {
    filter,
    order: order ?? 'asc',
    take: limit ?? DEFAULT_LIMIT,
    reversed: false,
    ...(order === 'desc' ? { before: after } : { after }),
  }
}

/** Where following begins: behind the line `after`, with the newest `last` lines, or (neither) at the beginning of the log. */
export interface Beginning {
  after?: bigint
  last?: number
}

/**
 * What following streams, and from where. `resume`: the cursor of the last line that a client has got that comes back; it
 * counts more than where it once began. Throws ValidationError.
 */
export function parseFollow(query: LogQuery, resume?: string): { filter: LogFilter; begin: Beginning } {
  const { last, limit, offset, order, end_time } = query
  rejectIfAny([
    ...(order !== undefined ? [notFollowed('order')] : []),
    ...(limit !== undefined ? [notFollowed('limit')] : []),
    ...(end_time !== undefined ? [notFollowed('end_time')] : []),
    ...(last !== undefined && offset !== undefined ? [refused('last', 'Can’t be used together with offset.')] : []),
  ])
  const filter = filterOf(query)
  // who comes back repeats where it once began
  const after = resume ?? offset
  return { filter, begin: after === undefined ? { last } : { after: readLogOffset(after) } }
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

const notFollowed = (name: string) =>
  refused(name, 'Can’t be used together with follow: lines come as they are written.')
