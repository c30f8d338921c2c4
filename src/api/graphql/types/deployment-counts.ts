/** `deploymentCounts`: counts of deployments for overviews. */
import {
  type Count,
  type TagCount as CountOfTag,
  countByStatus,
  countByTag,
  type DeploymentCounts,
} from '../../../domain/deployments/count.ts'
import { type DeploymentFilter as Filter, parseFilter } from '../../../domain/deployments/filter.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentSource, DeploymentStatus, RevisionStatus } from '../builder/enums.ts'
import { toSnake } from '../builder/naming.ts'
import { DeploymentFilter } from './deployment-list.ts'
import { Tag } from './tag.ts'

const count = { description: 'The number of deployments.' }

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
    listenerId: t.exposeID('value', { nullable: true, description: 'Null: deployments without a listener.' }),
    count: t.exposeInt('count', count),
  }),
})

const TagCount = builder.objectRef<CountOfTag>('DeploymentTagCount').implement({
  fields: (t) => ({
    tag: t.expose('value', { type: Tag }),
    count: t.exposeInt('count', count),
  }),
})

const Counts = builder.objectRef<DeploymentCounts & { filter: Filter }>('DeploymentCounts').implement({
  description: 'Counts of deployments. Each list has the values that occur, most frequent first.',
  fields: (t) => ({
    total: t.exposeInt('total'),
    serving: t.exposeInt('serving', { description: 'Deployments that serve requests now.' }),
    notServing: t.int({ resolve: ({ total, serving }) => total - serving }),
    failing: t.exposeInt('failing', {
      description:
        'Deployments whose latest revision is CREATE_FAILED, BUILD_FAILED or DEPLOY_FAILED. `latestRevisionStatus` filters by these. An older revision may serve.',
    }),
    waiting: t.exposeInt('waiting', { description: 'Deployments whose latest revision has not ended.' }),
    latestRevisionWaits: t.exposeInt('latestRevisionWaits', {
      description: 'Deployments whose latest revision has not ended and waits. `latestRevisionWaits` filters by this.',
    }),
    byStatus: t.field({ type: [StatusCount], resolve: ({ statuses }) => statuses }),
    byLatestRevisionStatus: t.field({
      type: [RevisionStatusCount],
      resolve: ({ latestRevisionStatuses }) => latestRevisionStatuses,
    }),
    bySource: t.field({ type: [SourceCount], resolve: ({ sources }) => sources }),
    byListener: t.field({ type: [ListenerCount], resolve: ({ listeners }) => listeners }),
    byTag: t.field({
      type: [TagCount],
      description: 'The hundred most frequent tags. A deployment counts once for each of its tags.',
      resolve: ({ filter }, _args, ctx) => countByTag(ctx, filter),
    }),
  }),
})

builder.queryField('deploymentCounts', (t) =>
  t.field({
    type: Counts,
    description: 'Counts the workspace’s matching deployments by status, source, listener and tag.',
    args: { filter: t.arg({ type: DeploymentFilter }) },
    resolve: async (_root, args, ctx) => {
      const filter = parseFilter(toSnake(args.filter))
      return { ...(await countByStatus(ctx, filter)), filter }
    },
  }),
)
