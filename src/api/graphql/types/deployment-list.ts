/** `deployments`: the list with filters, orders and keyset cursors. `deploymentCounts`: counts for overviews. */

import {
  type Count,
  countByStatus,
  countByTag,
  countDeployments,
  type DeploymentCounts,
} from '../../../domain/deployments/count.ts'
import { dependsOnClock, type DeploymentFilter as Filter, parseFilter } from '../../../domain/deployments/filter.ts'
import { type DeploymentOrder, deploymentCursor, SORT_FIELDS } from '../../../domain/deployments/order.ts'
import { readWindow } from '../../../domain/deployments/read.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import type {
  RevisionStatus as RevisionStatusWord,
  Deployment as Row,
  Source,
  Tag as TagRow,
} from '../../../domain/values/row-types.ts'
import type { DeploymentStatus as DeploymentStatusWord } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentSource, DeploymentStatus, DeploymentType, RevisionStatus } from '../builder/enums.ts'
import { toSnake } from '../builder/naming.ts'
import { rootPage } from '../builder/row-fields.ts'
import { Deployment, DeploymentConnection } from './deployment.ts'
import { Tag } from './tag.ts'

const DeploymentFilter = builder.inputType('DeploymentFilter', {
  description: 'A deployment must match all given members. An empty string or list does not filter.',
  fields: (t) => ({
    nameContains: t.string({ description: 'A part of the name. Case is ignored.' }),
    name: t.string({ description: 'The exact name.' }),
    status: t.field({ type: DeploymentStatus }),
    serving: t.boolean({ description: 'true: the deployment serves requests now.' }),
    latestRevisionStatus: t.field({
      type: [RevisionStatus],
      description: 'The latest revision has one of these statuses.',
    }),
    latestRevisionWaits: t.boolean({
      description: 'true: the latest revision has not ended and waits. false: all other deployments.',
    }),
    source: t.field({ type: DeploymentSource }),
    listenerId: t.id({ description: 'Deployments that this listener runs.' }),
    remoteReconciled: t.boolean({ description: 'true: a listener runs the deployment.' }),
    tagValueIds: t.idList({ description: 'Ids of tags. The deployment has at least one of them.' }),
    imageVersion: t.string(),
    deploymentType: t.field({ type: DeploymentType }),
    deploymentIds: t.idList(),
  }),
})

const DeploymentOrderField = builder.enumType('DeploymentOrderField', {
  values: {
    ATTENTION: {
      description:
        'Descending: first deployments that fail or are down, then those in progress, then the rest. Within each group the newest change is first.',
    },
    CREATED_AT: {},
    UPDATED_AT: {},
    NAME: {},
  } as const,
})

const OrderDirection = builder.enumType('OrderDirection', {
  values: { ASC: { value: 'asc' }, DESC: { value: 'desc' } } as const,
})

const DeploymentOrderInput = builder.inputType('DeploymentOrder', {
  fields: (t) => ({
    field: t.field({ type: DeploymentOrderField, required: true }),
    direction: t.field({ type: OrderDirection, required: true }),
  }),
})

interface ListArgs extends Window {
  filter?: object | null
  orderBy?: { field: DeploymentOrder['by']; direction: DeploymentOrder['direction'] } | null
}

const NO_FILTER = parseFilter({})
const filterOf = ({ filter }: ListArgs) => (filter ? parseFilter(toSnake(filter)) : NO_FILTER)
const orderOf = ({ orderBy }: ListArgs): DeploymentOrder =>
  orderBy ? { by: orderBy.field, direction: orderBy.direction } : { by: 'CREATED_AT', direction: 'desc' }

builder.queryField('deployments', (t) =>
  t.connection(
    {
      type: Deployment,
      description: 'The workspace’s deployments, newest first unless ordered otherwise.',
      args: {
        filter: t.arg({ type: DeploymentFilter }),
        orderBy: t.arg({ type: DeploymentOrderInput }),
      },
      ...rootPage<Row, ListArgs>({
        table: 'Deployment',
        sort: SORT_FIELDS,
        read: (ctx, reading, args, counts) =>
          readWindow(ctx, reading, args, { filter: filterOf(args), order: orderOf(args) }, counts),
        cursorOf: (row: Row, args) => deploymentCursor(orderOf(args), row),
        count: (ctx, args) => countDeployments(ctx, filterOf(args)),
        dependsOnClock: (args) => dependsOnClock(filterOf(args)),
      }),
    },
    DeploymentConnection,
  ),
)

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

/** `deploymentCounts`: counts of deployments for overviews. */
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
