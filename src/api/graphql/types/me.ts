/** `me`: the caller with rights, workspace and organization; `viewer`, its older form; and the server. */
import { ownKey } from '../../../domain/keys/key.ts'
import { readNodes } from '../../../domain/nodes.ts'
import { currentSession } from '../../../domain/sessions/session.ts'
import { actorOf, requireRole } from '../../../domain/transaction/access.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { Organization as OrganizationRow, Workspace as WorkspaceRow } from '../../../domain/values/row-types.ts'
import { describeOverload, type Overloaded } from '../../../platform/async/overload.ts'
import { VERSION } from '../../../platform/files/checkout.ts'
import { builder } from '../builder/builder.ts'
import { OverloadCause, Role } from '../builder/enums.ts'
import { ApiKey } from './api-key.ts'
import { Actor } from './event.ts'
import { Session } from './session.ts'
import { Organization, Workspace } from './workspace.ts'

type Query = Parameters<typeof readNodes>[3]

const workspaceOf = async (query: Query, ctx: RequestContext) =>
  (await readNodes(ctx, 'Workspace', [ctx.workspace.id], query))[0] as WorkspaceRow
const organizationOf = async (query: Query, ctx: RequestContext) =>
  (await readNodes(ctx, 'Organization', [ctx.workspace.organizationId], query))[0] as OrganizationRow

const SECRETS_READ =
  'Whether the caller may read the values of secrets. Over a session only `revealSecret` returns a value.'

const Me = builder.objectRef<RequestContext>('Me').implement({
  description: 'The caller, in the workspace of the call.',
  fields: (t) => ({
    actor: t.field({
      type: Actor,
      description:
        'The caller as events show it. Its `subject` is also the `createdBy` of resources that the caller creates.',
      resolve: ({ actor }) => actorOf(actor),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: 'The API key of the call or of its session. Null: there is none.',
      resolve: (ctx) => ownKey(ctx),
    }),
    role: t.field({ type: Role, resolve: ({ actor }) => actor.role }),
    secretsRead: t.boolean({ description: SECRETS_READ, resolve: ({ actor }) => actor.secretsRead }),
    organizationWide: t.boolean({
      description: 'Whether the credential is valid in every workspace of the organization. `X-Tenant-Id` selects one.',
      resolve: ({ actor }) => actor.workspaceId === null,
    }),
    workspace: t.prismaField({ type: Workspace, resolve: workspaceOf }),
    organization: t.prismaField({ type: Organization, resolve: organizationOf }),
    session: t.field({
      type: Session,
      nullable: true,
      description: 'The session of the call. Null: the call used a key or a token.',
      resolve: (ctx) => currentSession(ctx),
    }),
    server: t.field({ type: Server, resolve: (ctx) => ctx }),
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
    secretsRead: t.boolean({ description: SECRETS_READ, resolve: ({ actor }) => actor.secretsRead }),
    workspace: t.prismaField({ type: Workspace, resolve: workspaceOf }),
    organization: t.prismaField({ type: Organization, resolve: organizationOf }),
  }),
})

/** Keys of machines must not read the organization. */
function caller(ctx: RequestContext): RequestContext {
  requireRole(ctx, 'viewer')
  return ctx
}

builder.queryFields((t) => ({
  me: t.field({
    type: Me,
    description: 'The caller with its rights and workspace.',
    resolve: (_root, _args, ctx) => caller(ctx),
  }),
  viewer: t.field({
    type: Viewer,
    description: 'The caller. `me` has more fields.',
    resolve: (_root, _args, ctx) => caller(ctx),
  }),
}))

const Overload = builder.objectRef<Overloaded>('Overload').implement({
  description: 'The server is overloaded: its work takes too long, so it starts one build or preparation at a time.',
  fields: (t) => ({
    causes: t.expose('causes', { type: [OverloadCause], description: 'The causes, most significant first.' }),
    since: t.expose('since', { type: 'DateTime' }),
    message: t.string({
      description: 'A message for people.',
      resolve: (overload) => sentence(describeOverload(overload)),
    }),
  }),
})

const sentence = (part: string) => `${part[0]!.toUpperCase()}${part.slice(1)}.`

/** `server`: the state of the server that answers. */
const Server = builder.objectRef<RequestContext>('Server').implement({
  description: 'The server that answers this request. Several servers may share the database.',
  fields: (t) => ({
    version: t.string({ description: 'The version of its program.', resolve: () => VERSION }),
    idleMinutes: t.int({
      nullable: true,
      description:
        'The default of `idleMinutes` of deployments without a listener. Null: their agents run on Kubernetes and never sleep.',
      resolve: ({ settings }) => settings.idleMinutes,
    }),
    overload: t.field({
      type: Overload,
      nullable: true,
      description: 'Null: the server is not overloaded.',
      resolve: ({ overload }) => overload?.now ?? null,
    }),
  }),
})

builder.queryField('server', (t) =>
  t.field({
    type: Server,
    description: 'The state of the server that answers. `GET /readyz` reports the same.',
    resolve: (_root, _args, ctx) => {
      requireRole(ctx, 'viewer')
      return ctx
    },
  }),
)
