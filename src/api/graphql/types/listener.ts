/**
 * Listeners: compute infrastructures that pull work (docs/deployments.md#listeners). listener-mutations.ts has the
 * mutations.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { getListener, LISTENER_DERIVED, listeners } from '../../../domain/listeners/read.ts'
import { type ComputeType as ComputeTypeValue, computeConfig } from '../../../domain/listeners/schemas.ts'
import { countDeploymentsOf, deploymentsWindow } from '../../../domain/listeners/used-by.ts'
import { cut, newestCursor } from '../../../domain/paging/paging.ts'
import type { Deployment as DeploymentRow } from '../../../domain/values/row-types.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, NODE_PATHS, newestOf, nodesOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { ComputeType, ListenerStatus } from '../builder/enums.ts'
import { outputType, readColumn, shapeOf } from '../builder/shapes.ts'
import { VERSION_DESCRIPTION } from '../builder/verb-input.ts'
import { Deployment, DeploymentConnection } from './deployment.ts'

const ListenerComputeConfig = outputType(
  shapeOf('ListenerComputeConfig', computeConfig),
  'Settings of the compute type.',
  readColumn,
)

export const Listener = builder.prismaObject('Listener', {
  description: 'A registered compute infrastructure that pulls work for the deployments that name it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    computeType: t.field({ type: ComputeType, resolve: ({ computeType }) => computeType as ComputeTypeValue }),
    computeId: t.exposeString('computeId', {
      description: 'The infrastructure’s id, chosen by the user and unique in the workspace.',
    }),
    computeConfig: t.field({ type: ListenerComputeConfig, resolve: (listener) => listener }),
    version: t.exposeString('version', {
      nullable: true,
      description: 'The last reported version of the listener program.',
    }),
    podClasses: t.exposeStringList('podClasses', {
      description: 'The values for `class` in the resource spec of its deployments, as its program last reported.',
    }),
    status: t.field({
      type: ListenerStatus,
      resolve: (listener, _args, { clock }) => LISTENER_DERIVED.status.derive(listener, clock()),
    }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time of its last call. Null: it never called.',
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    // `version` is the version of the listener program
    editVersion: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
    deployments: t.connection(
      {
        type: Deployment,
        description:
          'The deployments that use this listener, newest first. Deployments that are being deleted are included.',
        complexity: pageCost,
        // the cursors are needed even if no node is selected
        select: (args, ctx, nested) => ({
          deployments: nested(
            { ...deploymentsWindow(ctx, args), select: { id: true, createdAt: true } },
            nodesOf('Deployment'),
          ),
        }),
        resolve: (listener, args, ctx) =>
          // contains whole rows if a node is selected
          connectionOf(cut(args, listener.deployments as DeploymentRow[]), args, newestCursor, async () => {
            const count = (ids: readonly string[]) => countDeploymentsOf(ctx, ids)
            return (await loadBatched(ctx, 'deployments of listeners', listener.id, count)) ?? 0
          }),
      },
      DeploymentConnection,
    ),
  }),
})

builder.queryFields((t) => ({
  listener: t.prismaField({
    type: Listener,
    nullable: true,
    description: 'One listener. NOT_FOUND if the id is unknown.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => getListener(ctx, { path: { listener_id: id } }, query),
  }),
  listeners: t.connection(
    {
      type: Listener,
      description: 'The workspace’s listeners, newest first.',
      complexity: pageCost,
      resolve: async (_root, args, ctx, info) => {
        const query = queryFromInfo({ context: ctx, info, typeName: 'Listener', paths: NODE_PATHS })
        return newestOf(listeners, ctx, args, query)
      },
    },
    { name: 'ListenerConnection' },
    { name: 'ListenerEdge' },
  ),
}))
