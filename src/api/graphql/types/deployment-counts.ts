/** `deploymentCounts`: how many deployments there are, by what an overview shows. */
import { type Count, countByStatus, type DeploymentCounts } from '../../../domain/deployments/count.ts'
import { parseFilter } from '../../../domain/deployments/filter.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentSource, DeploymentStatus, RevisionStatus } from '../builder/enums.ts'
import { toSnake } from '../builder/naming.ts'
import { DeploymentFilter } from './deployment-list.ts'

const count = { description: 'How many have it.' }

const StatusCount = builder.objectRef<DeploymentCounts['statuses'][number]>('DeploymentStatusCount').implement({
  fields: (t) => ({
    status: t.expose('value', { type: DeploymentStatus }),
    count: t.exposeInt('count', count),
  }),
})

const RevisionStatusCount = builder
  .objectRef<DeploymentCounts['latestRevisionStatuses'][number]>('LatestRevisionStatusCount')
  .implement({
    fields: (t) => ({
      status: t.expose('value', { type: RevisionStatus }),
      count: t.exposeInt('count', count),
    }),
  })

const SourceCount = builder.objectRef<DeploymentCounts['sources'][number]>('DeploymentSourceCount').implement({
  fields: (t) => ({
    source: t.expose('value', { type: DeploymentSource }),
    count: t.exposeInt('count', count),
  }),
})

const ListenerCount = builder.objectRef<Count<string | null>>('DeploymentListenerCount').implement({
  fields: (t) => ({
    listenerId: t.exposeID('value', { nullable: true, description: 'Null: those that no listener works.' }),
    count: t.exposeInt('count', count),
  }),
})

const Counts = builder.objectRef<DeploymentCounts>('DeploymentCounts').implement({
  description: 'How many deployments there are. The lists have the values that occur, most frequent first.',
  fields: (t) => ({
    total: t.exposeInt('total'),
    serving: t.exposeInt('serving', { description: 'For which something answers now.' }),
    notServing: t.int({ resolve: ({ total, serving }) => total - serving }),
    byStatus: t.field({ type: [StatusCount], resolve: ({ statuses }) => statuses }),
    byLatestRevisionStatus: t.field({
      type: [RevisionStatusCount],
      resolve: ({ latestRevisionStatuses }) => latestRevisionStatuses,
    }),
    bySource: t.field({ type: [SourceCount], resolve: ({ sources }) => sources }),
    byListener: t.field({ type: [ListenerCount], resolve: ({ listeners }) => listeners }),
  }),
})

builder.queryField('deploymentCounts', (t) =>
  t.field({
    type: Counts,
    description: 'Counts the workspace’s deployments that match, by several things at once.',
    args: { filter: t.arg({ type: DeploymentFilter }) },
    resolve: (_root, { filter }, ctx) => countByStatus(ctx, parseFilter(toSnake(filter))),
  }),
)
