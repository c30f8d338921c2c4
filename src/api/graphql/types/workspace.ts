/** Workspaces and their organization: the types, and the look-ups of those that the caller can act in. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { countWorkspaces, getWorkspace, windowWorkspaces } from '../../../domain/workspaces/read.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, NODE_PATHS } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { Plan } from '../builder/enums.ts'

export const Organization = builder.prismaObject('Organization', {
  description: 'Owns workspaces.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    plan: t.expose('plan', { type: Plan }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

export const Workspace = builder.prismaObject('Workspace', {
  description: 'The tenant: everything but the organization belongs to one.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The `tenant_id` of REST.' }),
    name: t.exposeString('name'),
    organization: t.relation('organization'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

builder.queryFields((t) => ({
  workspace: t.prismaField({
    type: Workspace,
    nullable: true,
    description: 'One workspace that the caller can act in; NOT_FOUND if there is none of this id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => getWorkspace(ctx, id, query),
  }),
  workspaces: t.connection(
    {
      type: Workspace,
      description:
        'The workspaces that the caller can act in, newest first: its own, or with a credential of the organization all of them; which one is meant says `X-Tenant-Id`.',
      complexity: pageCost,
      args: { nameContains: t.arg.string({ description: 'In upper or lower case.' }) },
      resolve: async (_root, args, ctx, info) => {
        const filter = { name_contains: args.nameContains }
        const query = queryFromInfo({ context: ctx, info, typeName: 'Workspace', paths: NODE_PATHS })
        const slice = await windowWorkspaces(ctx, args, filter, query)
        return connectionOf(slice, args, newestCursor, () => countWorkspaces(ctx, filter))
      },
    },
    { name: 'WorkspaceConnection' },
    { name: 'WorkspaceEdge' },
  ),
}))
