/** Log lines of a revision or a deployment: the output of builds and of the running agent. */
import { rejectIfAny } from '../../../domain/errors/errors.ts'
import { colouredLine, type Line, logLineId, logOffset } from '../../../domain/logs/lines.ts'
import { type LogPage as Lines, readDeploymentLogs, readLogs } from '../../../domain/logs/read.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import type { LogLine } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { LogLevel, LogType } from '../builder/enums.ts'
import { withArgumentNames } from '../builder/errors.ts'

export const Log = builder.objectRef<Line>('LogLine').implement({
  description: 'A line that a build or an agent printed.',
  fields: (t) => ({
    id: t.id({
      resolve: logLineId,
      description: 'Within a deployment the ids sort, as text, in the order of the lines.',
    }),
    cursor: t.string({ resolve: logOffset, description: 'Pass it as `after` to continue after this line.' }),
    revisionId: t.exposeID('revisionId'),
    time: t.expose('time', { type: 'DateTime' }),
    level: t.expose('level', { type: LogLevel }),
    message: t.exposeString('message'),
    ansi: t.string({
      nullable: true,
      resolve: colouredLine,
      description: '`message` with its colours as SGR sequences, for terminals. Null: it has no colours.',
    }),
    attempt: t.exposeInt('attempt', { description: 'The attempt of the revision that printed the line.' }),
    context: t.boolean({
      resolve: ({ context = false }) => context,
      description: 'True: the filters don’t find this line. It is near a line that they find.',
    }),
  }),
})

interface LogPage {
  edges: { cursor: string; node: Line }[]
  hasNextPage: boolean
  hasPreviousPage: boolean
  incomplete: boolean
  startCursor: string | null
  endCursor: string | null
}

const LogEdge = builder.objectRef<LogPage['edges'][number]>('LogEdge').implement({
  fields: (t) => ({ cursor: t.exposeString('cursor'), node: t.expose('node', { type: Log }) }),
})

/** There is no `totalCount`: a log grows as long as the agent runs. */
const LogConnection = builder.objectRef<LogPage>('LogConnection').implement({
  description: 'Lines, oldest first. To follow a log, query again with the last `endCursor` that was not null.',
  fields: (t) => ({
    edges: t.expose('edges', { type: [LogEdge] }),
    nodes: t.field({ type: [Log], resolve: ({ edges }) => edges.map((edge) => edge.node) }),
    pageInfo: t.field({
      type: builder.pageInfoRef(),
      resolve: ({ hasNextPage, hasPreviousPage, startCursor, endCursor }) => ({
        hasNextPage,
        hasPreviousPage,
        startCursor,
        endCursor,
      }),
    }),
    incomplete: t.exposeBoolean('incomplete', {
      description:
        'True: the search reached its time limit of 2 seconds before it found enough lines or looked at all lines. Continue with `endCursor`, or with `startCursor` if you read with `last`.',
    }),
  }),
})

/** Filters of the logs and of their streams. */
export const LOG_FILTER = builder.args((t) => ({
  type: t.field({ type: LogType, required: true }),
  query: t.string({ description: 'Only lines that contain this text. Case is ignored.' }),
  level: t.field({ type: LogLevel, description: 'Only lines of this level or a more severe one.' }),
  fields: t.stringList({
    description:
      'Only lines that are JSON objects with all of these fields, `name=value`. A name `a.b` is the member `b` of `a`. Case of the value is ignored.',
  }),
  replica: t.string({
    description:
      'Only lines of this replica: the name of its pod in a cluster, which its lines begin with in brackets.',
  }),
  startTime: t.field({ type: 'DateTime', description: 'Only lines at this time or later.' }),
}))

export interface LogFilter {
  type: LogLine['type']
  query?: string | null
  level?: LogLine['level'] | null
  fields?: readonly string[] | null
  replica?: string | null
  startTime?: Date | null
}

/** Arguments of both logs: filters and window. */
const logArgs = builder.args((t) => ({
  ...LOG_FILTER,
  endTime: t.field({ type: 'DateTime', description: 'Only lines before this time.' }),
  context: t.int({
    description:
      'Also returns this many lines before and after each line that the filters find. They count for `first` and `last`. From 0 to 20.',
  }),
  first: t.int({ description: 'From 1 to 1000. Default: 50 if `last` is absent, too.' }),
  after: t.string(),
  last: t.int({ description: 'The number of newest lines to return, oldest first. From 1 to 1000.' }),
  before: t.string(),
}))

interface LogArgs extends Window, LogFilter {
  endTime?: Date | null
  context?: number | null
}

/** `read`: the domain's verb, called with the log's path. */
async function pageOf(
  { first, after, last, before, startTime, endTime, fields, ...filter }: LogArgs,
  read: (query: object) => Promise<Lines>,
): Promise<LogPage> {
  const backward = last != null
  rejectIfAny([
    ...(backward && (first != null || after != null) ? [notBoth('last', 'first and after')] : []),
    ...(!backward && before != null ? [notBoth('before', 'first: it goes with last')] : []),
  ])
  const names = {
    field: 'fields',
    ...(backward ? { limit: 'last', offset: 'before' } : { limit: 'first', offset: 'after' }),
  }
  const window = { limit: (backward ? last : first) ?? undefined, offset: backward ? before : after }
  const { lines, hasMore, incomplete, nextOffset } = await withArgumentNames(names, () =>
    read({
      ...filter,
      field: fields,
      start_time: startTime,
      end_time: endTime,
      ...window,
      order: backward ? 'desc' : 'asc',
    }),
  )
  const edges = lines.map((node) => ({ cursor: logOffset(node), node }))
  if (backward) edges.reverse()
  const goesOnAt = incomplete ? nextOffset : null
  return {
    edges,
    hasNextPage: backward ? before != null : hasMore,
    hasPreviousPage: backward ? hasMore : after != null,
    incomplete,
    startCursor: (backward ? goesOnAt : null) ?? edges[0]?.cursor ?? null,
    endCursor: (backward ? null : goesOnAt) ?? edges.at(-1)?.cursor ?? null,
  }
}

const notBoth = (name: string, others: string) => ({
  loc: ['query', name],
  msg: `Can’t be used together with ${others}.`,
  type: 'value_error',
})

/** Each log of a list needs its own statement. */
const complexity = ({ first, last }: LogArgs) => ({
  field: 50,
  multiplier: Math.min(Math.max(last ?? first ?? 50, 1), 1000) / 10,
})

builder.prismaObjectField('Revision', 'logs', (t) =>
  t.field({
    type: LogConnection,
    description: 'A page of one of the revision’s logs, oldest line first.',
    args: logArgs,
    complexity,
    resolve: ({ deploymentId, id }, args, ctx) =>
      pageOf(args, (query) => readLogs(ctx, { path: { deployment_id: deploymentId, revision_id: id }, query })),
  }),
)

builder.prismaObjectField('Deployment', 'logs', (t) =>
  t.field({
    type: LogConnection,
    description:
      'A page of one of the deployment’s logs across all revisions, in the order in which the lines arrived.',
    args: logArgs,
    complexity,
    resolve: ({ id }, args, ctx) =>
      pageOf(args, (query) => readDeploymentLogs(ctx, { path: { deployment_id: id }, query })),
  }),
)
