/** Log lines of a revision: what its build printed, and what the running agent prints. */
import { logOffset, readLogs } from '../../domain/logs/read.ts'
import type { LogLine } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import { LogLevel, LogType } from '../enums.ts'
import { renaming } from '../errors.ts'

const Log = builder.objectRef<LogLine>('LogLine').implement({
  description: 'A line that the build or the agent printed.',
  fields: (t) => ({
    time: t.expose('time', { type: 'DateTime' }),
    level: t.expose('level', { type: LogLevel }),
    message: t.exposeString('message'),
    attempt: t.exposeInt('attempt', { description: 'The attempt of the revision that it belongs to.' }),
  }),
})

interface LogPage {
  edges: { cursor: string; node: LogLine }[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}

const LogEdge = builder.objectRef<LogPage['edges'][number]>('LogEdge').implement({
  fields: (t) => ({ cursor: t.exposeString('cursor'), node: t.expose('node', { type: Log }) }),
})

/** Without `totalCount`: a log has no end as long as the agent runs. */
const LogConnection = builder.objectRef<LogPage>('LogConnection').implement({
  description: 'Oldest first. To follow a log, keep the last `endCursor` that was not null and ask again with it.',
  fields: (t) => ({
    edges: t.expose('edges', { type: [LogEdge] }),
    nodes: t.field({ type: [Log], resolve: ({ edges }) => edges.map((edge) => edge.node) }),
    pageInfo: t.field({
      type: builder.pageInfoRef(),
      resolve: ({ edges, hasNextPage, hasPreviousPage }) => ({
        hasNextPage,
        hasPreviousPage,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      }),
    }),
  }),
})

builder.prismaObjectField('Revision', 'logs', (t) =>
  t.field({
    type: LogConnection,
    description: 'A page of one of its logs, oldest line first.',
    args: {
      type: t.arg({ type: LogType, required: true }),
      query: t.arg.string({ description: 'Only lines that contain this text, in upper or lower case.' }),
      level: t.arg({ type: LogLevel, description: 'Only lines of this level or a more severe one.' }),
      first: t.arg.int({ description: 'From 1 to 1000; 50 if absent.' }),
      after: t.arg.string(),
    },
    // each revision's log is a look-up of its own
    complexity: ({ first }) => ({ field: 50, multiplier: Math.min(Math.max(first ?? 50, 1), 1000) / 10 }),
    resolve: async (revision, { first, after, ...args }, ctx) => {
      const { lines, hasMore } = await renaming({ limit: 'first', offset: 'after' }, () =>
        readLogs(ctx, {
          path: { deployment_id: revision.deploymentId, revision_id: revision.id },
          query: { ...args, ...(first == null ? {} : { limit: first }), offset: after },
        }),
      )
      const edges = lines.map((node) => ({ cursor: logOffset(node), node }))
      return { edges, hasNextPage: hasMore, hasPreviousPage: after != null }
    },
  }),
)
