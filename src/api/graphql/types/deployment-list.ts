/** `deployments`: the list, with filters, orders and keyset cursors. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { parseFilter } from '../../../domain/deployments/filter.ts'
import { type DeploymentOrder, deploymentCursor } from '../../../domain/deployments/order.ts'
import { windowDeployments } from '../../../domain/deployments/read.ts'
import { countDeployments } from '../../../domain/deployments/total.ts'
import type { Deployment as Row } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, NODE_PATHS } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentSource, DeploymentStatus, DeploymentType, RevisionStatus } from '../builder/enums.ts'
import { toSnake } from '../builder/naming.ts'
import { Deployment, DeploymentConnection } from './deployment.ts'

export const DeploymentFilter = builder.inputType('DeploymentFilter', {
  description: 'All that is given must match. An empty text or list is no filter.',
  fields: (t) => ({
    nameContains: t.string({ description: 'In upper or lower case.' }),
    name: t.string({ description: 'The exact name.' }),
    status: t.field({ type: DeploymentStatus }),
    serving: t.boolean({ description: 'true: something answers for it now.' }),
    latestRevisionStatus: t.field({ type: [RevisionStatus], description: 'Of the latest revision; any of these.' }),
    latestRevisionWaits: t.boolean({
      description: 'true: the latest revision is open and waits, so that nobody works on it; false: any other.',
    }),
    source: t.field({ type: DeploymentSource }),
    listenerId: t.id({ description: 'Worked by this listener.' }),
    remoteReconciled: t.boolean({ description: 'true: worked by a listener.' }),
    tagValueIds: t.idList({ description: 'Ids of tags; one of them must be on the deployment.' }),
    imageVersion: t.string(),
    deploymentType: t.field({ type: DeploymentType }),
    deploymentIds: t.idList(),
  }),
})

const DeploymentOrderField = builder.enumType('DeploymentOrderField', {
  values: {
    ATTENTION: {
      description:
        'Descending: what fails or is down, then what is under way, then the rest; in each the newest change first.',
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

const NEWEST_FIRST: DeploymentOrder = { by: 'CREATED_AT', direction: 'desc' }

builder.queryField('deployments', (t) =>
  t.connection(
    {
      type: Deployment,
      description: 'The workspace’s deployments, newest first unless ordered otherwise.',
      complexity: pageCost,
      args: {
        filter: t.arg({ type: DeploymentFilter }),
        orderBy: t.arg({ type: DeploymentOrderInput }),
      },
      resolve: async (_root, args, ctx, info) => {
        const filter = parseFilter(toSnake(args.filter))
        const { orderBy } = args
        const order = orderBy ? { by: orderBy.field, direction: orderBy.direction } : NEWEST_FIRST
        const query = queryFromInfo({ context: ctx, info, typeName: 'Deployment', paths: NODE_PATHS })
        const slice = await windowDeployments(ctx, args, filter, order, query)
        const cursorOf = (row: Row) => deploymentCursor(order, row)
        return connectionOf(slice, args, cursorOf, () => countDeployments(ctx, filter))
      },
    },
    DeploymentConnection,
  ),
)
