/** Listeners: the compute infrastructures that pull work (spec 2.7). */
import { isSilent } from '../../domain/deployments/status.ts'
import { countListeners, getListener, windowListeners } from '../../domain/listeners/read.ts'
import { newestCursor } from '../../domain/newest-first.ts'
import { builder } from '../builder.ts'
import { connectionOf } from '../connection.ts'
import { pageCost } from '../cost.ts'

const ListenerStatus = builder.enumType('ListenerStatus', {
  description: 'OFFLINE: it was not heard from for 90 seconds.',
  values: ['ONLINE', 'OFFLINE'] as const,
})

const ListenerComputeConfig = builder.objectRef<{ k8sNamespaces: string[] }>('ListenerComputeConfig').implement({
  fields: (t) => ({ k8sNamespaces: t.exposeStringList('k8sNamespaces', { nullable: true }) }),
})

export const Listener = builder.prismaObject('Listener', {
  description: 'A registered compute infrastructure that pulls work for the deployments that name it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    computeType: t.exposeString('computeType'),
    computeId: t.exposeString('computeId', { description: 'Given by the user; unique in the workspace.' }),
    computeConfig: t.field({ type: ListenerComputeConfig, resolve: (listener) => listener }),
    version: t.exposeString('version', { nullable: true }),
    status: t.field({
      type: ListenerStatus,
      resolve: (listener, _args, { clock }) => (isSilent(listener, clock()) ? 'OFFLINE' : 'ONLINE'),
    }),
    lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime', nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryFields((t) => ({
  listener: t.field({
    type: Listener,
    nullable: true,
    description: 'One listener; NOT_FOUND if there is none of this id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => getListener(ctx, { path: { listener_id: id } }),
  }),
  listeners: t.connection(
    {
      type: Listener,
      description: 'The workspace’s listeners, newest first.',
      complexity: pageCost,
      resolve: async (_root, args, ctx) =>
        connectionOf(await windowListeners(ctx, args), args, newestCursor, () => countListeners(ctx)),
    },
    { name: 'ListenerConnection' },
    { name: 'ListenerEdge' },
  ),
}))
