/** `deploymentCounts`: counts of deployments for overviews. */
import { type Count, countByStatus, countByTag, type DeploymentCounts } from '../../../domain/deployments/count.ts'
import { type DeploymentFilter as Filter, parseFilter } from '../../../domain/deployments/filter.ts'
import type { RevisionStatus as RevisionStatusWord, Source, Tag as TagRow } from '../../../domain/values/row-types.ts'
import type { DeploymentStatus as DeploymentStatusWord } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentSource, DeploymentStatus, RevisionStatus } from '../builder/enums.ts'
import { toSnake } from '../builder/naming.ts'
import { DeploymentFilter } from './deployment-list.ts'
import { Tag } from './tag.ts'

/** `field`: of the counted value. */
const countType = <V>(
  name: string,
  field: string,
  options: { type: unknown; nullable?: boolean; description?: string },
) =>
  builder.objectRef<Count<V>>(name).implement({
    fields: (t) => ({
      [field]: t.expose('value' as never, options as never),
      count: t.exposeInt('count', { description: 'The number of deployments.' }),
    }),
  })

const StatusCount = countType<DeploymentStatusWord>('DeploymentStatusCount', 'status', { type: DeploymentStatus })
const RevisionStatusCount = countType<RevisionStatusWord>('LatestRevisionStatusCount', 'status', {
  type: RevisionStatus,
})
const SourceCount = countType<Source>('DeploymentSourceCount', 'source', { type: DeploymentSource })
const ListenerCount = countType<string | null>('DeploymentListenerCount', 'listenerId', {
  type: 'ID',
  nullable: true,
  description: 'Null: deployments without a listener.',
})
const TagCount = countType<TagRow>('DeploymentTagCount', 'tag', { type: Tag })

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
