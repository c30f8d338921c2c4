/** Workspaces and their organization: the types, the queries for workspaces that the caller can act in, and the mutation. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { ConflictError } from '../../../domain/errors/errors.ts'
import { createInput, createWorkspace, getWorkspace, workspaces, workspacesNamed } from '../../../domain/workspaces.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { Plan } from '../builder/enums.ts'
import { mutation } from '../builder/mutation.ts'
import { rowMutation } from '../builder/read-back.ts'

export const Organization = builder.prismaObject('Organization', {
  description: 'The owner of workspaces.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    plan: t.expose('plan', { type: Plan }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

export const Workspace = builder.prismaObject('Workspace', {
  description: 'A tenant. Every resource except the organization belongs to one workspace.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id, called `tenant_id` in REST.' }),
    name: t.exposeString('name'),
    organization: t.relation('organization'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

builder.queryFields((t) => ({
  workspace: t.prismaField({
    type: Workspace,
    nullable: true,
    description: 'One workspace that the caller can act in. NOT_FOUND if the id is unknown.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => getWorkspace(ctx, id, query),
  }),
  workspaces: t.connection(
    {
      type: Workspace,
      description:
        'The workspaces that the caller can act in, newest first: its own workspace, or all of the organization for an organization-wide credential. `X-Tenant-Id` selects one for a call.',
      complexity: pageCost,
      args: { nameContains: t.arg.string({ description: 'A part of the name. Case is ignored.' }) },
      resolve: async (_root, args, ctx, info) => {
        const query = queryFromInfo({ context: ctx, info, typeName: 'Workspace', paths: NODE_PATHS })
        return newestOf(workspaces, ctx, args, query, workspacesNamed(args.nameContains))
      },
    },
    { name: 'WorkspaceConnection' },
    { name: 'WorkspaceEdge' },
  ),
}))

const written = rowMutation('workspace', Workspace, workspaces.written)
mutation('createWorkspace', {
  description: 'Creates a workspace in the organization. For admins with a credential of the whole organization.',
  input: createInput,
  ...written,
  errors: [ConflictError],
  verb: createWorkspace,
})
