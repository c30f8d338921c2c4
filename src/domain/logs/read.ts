/** Reads pages of log lines (docs/deployments.md#logs). Contradicting parameters are refused, never ignored. */
import { z } from 'zod'
import { LogType } from '../../generated/prisma/enums.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import {
  queryBool,
  queryEnum,
  queryIntOrNone,
  queryList,
  queryText,
  queryTime,
  queryWord,
  uuid,
} from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { readRevision, requireDeployment } from '../revisions/read.ts'
import { requireRole } from '../transaction/access.ts'
import type { Db, ReadContext } from '../transaction/context.ts'
import { deploymentPath, revisionPath } from '../values/shapes.ts'
import { isFiltered, type LogFilter, matches } from './filter.ts'
import {
  type Line,
  type LogKey,
  type LogWindow,
  logOffset,
  MAX_LINE_ID,
  readAround,
  readLines,
  readLogOffset,
} from './lines.ts'
import { type Found, searchLines } from './search.ts'

const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 1000
const MAX_FIELDS = 10
const MAX_CONTEXT = 20

export const logQuery = z.object({
  type: z.enum(LogType).describe('`build`: the output of the build. `deploy`: the output of the running agent.'),
  start_time: queryTime.describe('Only lines written at this time or later.'),
  end_time: queryTime.describe('Only lines written before this time.'),
  order: queryEnum(['asc', 'desc']).describe('`asc` (the default) returns the oldest lines first, `desc` the newest.'),
  limit: queryIntOrNone(1, MAX_LIMIT).meta({ default: DEFAULT_LIMIT }),
  offset: queryText.describe('The `next_offset` of the previous page, or the `id` of the last event of a stream.'),
  last: queryIntOrNone(0, MAX_LIMIT).describe(
    'The number of newest lines to return, oldest first. Use it instead of `order`, `limit` and `offset`; `next_offset` continues after these lines. With `follow`, 0 returns only new lines.',
  ),
  query: queryText.describe('Only lines that contain this text. Case is ignored.'),
  field: queryList(
    z.string().regex(/^[^=]+=/, 'Must be name=value.'),
    'Only lines that are JSON objects with all of these fields, `name=value`. A name `a.b` is the member `b` of `a`. Case of the value is ignored.',
  ),
  replica: queryText.describe(
    'Only lines of this replica: the name of its pod in a cluster, which its lines begin with in brackets.',
  ),
  level: queryWord(['debug', 'info', 'warning', 'error', 'critical']).describe(
    'Only lines of this level or a more severe one. Case is ignored.',
  ),
  context: queryIntOrNone(0, MAX_CONTEXT).describe(
    'Also returns this many lines before and after each line that the filters find, with `context: true`. They count for `limit` and `last`.',
  ),
  follow: queryBool.describe(
    'Streams the lines as they are written, starting with the oldest line, after `offset`, or with the newest `last` lines. Needs `Accept: text/event-stream`; excludes `order`, `limit`, `end_time` and `context`.',
  ),
})

export const readLogsInput = z.object({ path: revisionPath, query: logQuery })
export const readLogsOfRevisionInput = z.object({ path: z.object({ revision_id: uuid }), query: logQuery })
export const readDeploymentLogsInput = z.object({ path: deploymentPath, query: logQuery })

type LogQuery = z.output<typeof logQuery>

export const asksToFollow = (query: object): boolean =>
  logQuery.shape.follow.safeParse((query as { follow?: unknown }).follow).data === true

export interface Page extends LogWindow {
  filter: LogFilter
  /** lines to show around each found line */
  context: number
  /** read newest first, shown oldest first */
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
    ...manyFields(query),
  ])
  const filter = filterOf(query)
  const context = isFiltered(filter) ? (query.context ?? 0) : 0
  if (last !== undefined) return { filter, context, order: 'desc', take: last, reversed: true }
  const after = offset === undefined ? undefined : readLogOffset(offset)
  return {
    filter,
    context,
    order: order ?? 'asc',
    take: limit ?? DEFAULT_LIMIT,
    reversed: false,
    ...(order === 'desc' ? { before: after } : { after }),
  }
}

/** Following starts after the line `after`, with the newest `last` lines, or without both at the oldest line. */
export interface Beginning {
  after?: bigint
  last?: number
}

/** `resume`: a returning client's last cursor. It overrides `offset` and `last`. Throws ValidationError. */
export function parseFollow(query: LogQuery, resume?: string): { filter: LogFilter; begin: Beginning } {
  const { last, limit, offset, order, end_time, context } = query
  rejectIfAny([
    ...(context !== undefined ? [notFollowed('context')] : []),
    ...(order !== undefined ? [notFollowed('order')] : []),
    ...(limit !== undefined ? [notFollowed('limit')] : []),
    ...(end_time !== undefined ? [notFollowed('end_time')] : []),
    ...(last !== undefined && offset !== undefined ? [refused('last', 'Can’t be used together with offset.')] : []),
    ...manyFields(query),
  ])
  const filter = filterOf(query)
  // a returning client repeats its first `offset` or `last`
  const after = resume ?? offset
  return { filter, begin: after === undefined ? { last } : { after: readLogOffset(after) } }
}

const filterOf = ({ level, query, field, replica, start_time, end_time }: LogQuery): LogFilter => ({
  level,
  text: query,
  replica,
  fields: field?.map((one) => ({ name: one.slice(0, one.indexOf('=')), value: one.slice(one.indexOf('=') + 1) })),
  from: start_time,
  to: end_time,
})

function emptyRange({ start_time, end_time }: LogQuery): Violation[] {
  if (!start_time || !end_time || start_time <= end_time) return []
  return [refused('end_time', 'Must not be before start_time.')]
}

const manyFields = ({ field }: LogQuery): Violation[] =>
  (field?.length ?? 0) > MAX_FIELDS ? [refused('field', `Has at most ${MAX_FIELDS} fields.`)] : []

const refused = (name: string, msg: string): Violation => ({ loc: ['query', name], msg, type: 'value_error' })

const notFollowed = (name: string) =>
  refused(name, 'Can’t be used together with follow: lines come as they are written.')

export interface LogPage {
  lines: Line[]
  /**
   * Where the next page starts. Oldest first: after this page's last line; null for an empty page, so a polling client
   * repeats its last offset. Newest first: null at the start of the log. Incomplete: where the search continues.
   */
  nextOffset: string | null
  /** the search reached its time limit before it had enough lines */
  incomplete: boolean
  /** whether more lines exist in this direction now; with `last`, before this page */
  hasMore: boolean
}

/** Role: viewer. Throws NotFoundError for either id. */
export async function readLogs(ctx: ReadContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsInput, raw)
  const page = parsePage(query)
  await readRevision(ctx, path.deployment_id, path.revision_id)
  return readPage(ctx, { ...ofDeployment(path, query), by: 'revisionId', id: path.revision_id }, page)
}

/** The lines of all revisions, in order. Role: viewer. Throws NotFoundError. */
export async function readDeploymentLogs(ctx: ReadContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readDeploymentLogsInput, raw)
  const page = parsePage(query)
  await requireDeployment(ctx, path.deployment_id)
  return readPage(ctx, ofDeployment(path, query), page)
}

const ofDeployment = ({ deployment_id: id }: { deployment_id: string }, { type }: LogQuery) =>
  ({ by: 'deploymentId', id, deploymentId: id, type }) as const

export async function readPage(
  ctx: ReadContext,
  log: LogKey & { deploymentId: string },
  { filter, context, reversed, ...window }: Page,
): Promise<LogPage> {
  const { take, order } = window
  const more = { ...window, take: take + 1 }
  const searched: Found = isFiltered(filter)
    ? await searchLines(ctx, log, filter, more)
    : { lines: await readLines(ctx.db, log, filter, more), stoppedAt: null }
  const { stoppedAt } = searched
  const found = context > 0 ? await addContext(ctx.db, log, filter, more, context, searched) : searched.lines
  const incomplete = stoppedAt !== null && found.length <= take
  const hasMore = incomplete || found.length > take
  const lines = found.slice(0, take)
  if (reversed) lines.reverse()
  const last = lines.at(-1)
  const next = incomplete && !reversed ? { id: stoppedAt } : order === 'asc' || reversed || hasMore ? last : undefined
  return { lines, nextOffset: next ? logOffset(next) : null, hasMore, incomplete }
}

/**
 * Adds the lines around the found ones. The lines before the window can match, too: then their context goes on in it. No page
 * has a line that the search has not looked at, so pages neither lose nor double a line.
 */
async function addContext(
  db: Db,
  log: LogKey,
  filter: LogFilter,
  { order, take, after = 0n, before = MAX_LINE_ID }: LogWindow,
  distance: number,
  { lines: found, stoppedAt }: Found,
): Promise<Line[]> {
  const inOrder = order === 'asc'
  const previous = inOrder
    ? { order: 'desc' as const, take: distance, before: after + 1n }
    : { order: 'asc' as const, take: distance, after: before - 1n }
  const hasPrevious = inOrder ? after > 0n : before < MAX_LINE_ID
  const earlier = hasPrevious ? await readLines(db, log, {}, previous) : []
  const seen = stoppedAt === null ? {} : inOrder ? { before: stoppedAt + 1n } : { after: stoppedAt - 1n }
  const centers = [...earlier.filter((line) => matches(line, filter)), ...found].filter(({ gap }) => !gap)
  const ids = centers.map(({ id }) => id)
  const around = await readAround(db, log, ids, distance, { order, take, after, before, ...seen })
  const byId = new Map(found.map((line) => [line.id, line]))
  const gaps = found.filter(({ gap }) => gap)
  return [...gaps, ...around.map((line) => byId.get(line.id) ?? { ...line, context: true })]
    .sort((a, b) => (a.id < b.id === inOrder ? -1 : 1))
    .slice(0, take)
}
