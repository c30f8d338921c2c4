/** `viewer`: who calls, with which rights, in which workspace of which organization. */
import { requireRole } from '../../../domain/context/access.ts'
import type { RequestContext } from '../../../domain/context/context.ts'
import type { Organization as OrganizationRow, Workspace as WorkspaceRow } from '../../../domain/model/rows.ts'
import { readNodes } from '../../../domain/nodes/read.ts'
import { builder } from '../builder/builder.ts'
import { Plan, Role } from '../builder/enums.ts'

const Organization = builder.prismaObject('Organization', {
  description: 'Owns workspaces.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    plan: t.expose('plan', { type: Plan }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

const Workspace = builder.prismaObject('Workspace', {
  description: 'The tenant: everything but the organization belongs to one.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The `tenant_id` of REST.' }),
    name: t.exposeString('name'),
    organization: t.relation('organization'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

const Viewer = builder.objectRef<RequestContext>('Viewer').implement({
  description: 'The caller, in the workspace of the call.',
  fields: (t) => ({
    subject: t.string({
      description: 'The API key’s id, or the `sub` of the JWT.',
      resolve: ({ actor }) => actor.subject,
    }),
    role: t.field({ type: Role, resolve: ({ actor }) => actor.role }),
    secretsRead: t.boolean({
      description: 'Whether answers have the values of secrets in them.',
      resolve: ({ actor }) => actor.secretsRead,
    }),
    workspace: t.prismaField({
      type: Workspace,
      resolve: async (query, ctx) => (await readNodes(ctx, 'Workspace', [ctx.workspace.id], query))[0] as WorkspaceRow,
    }),
    organization: t.prismaField({
      type: Organization,
      resolve: async (query, ctx) =>
        (await readNodes(ctx, 'Organization', [ctx.workspace.organizationId], query))[0] as OrganizationRow,
    }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: Viewer,
    description: 'Who calls.',
    resolve: (_root, _args, ctx) => {
      // the key of a machine is not shown the organization
      requireRole(ctx, 'viewer')
      return ctx
    },
  }),
)
