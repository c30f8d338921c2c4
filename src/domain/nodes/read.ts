/** Reads resources of one type by their ids, tenant-scoped, with what the caller selects of them. */
import { liveDeployment, tenant } from '../access.ts'
import { ownConnections } from '../connections/list.ts'
import type { RequestContext } from '../context.ts'
import { liveIntegration } from '../integrations/live.ts'
import { WITHOUT_HASH } from '../keys/issue.ts'
import { visibleKeys } from '../keys/list.ts'
import { ownProviders } from '../providers/find.ts'
import { ownTokens } from '../tokens/own.ts'
import type { NodeType } from './identify.ts'

/** Prisma's select or include; for API keys without effect. */
interface Selection {
  include?: object
  select?: object
}

type Row = { id: string }
type Read = (ctx: RequestContext, ids: string[], selection: Selection) => Promise<Row[]>

const READ: Record<NodeType, Read> = {
  Organization: ({ db, workspace }, ids, selection) =>
    db.organization.findMany({ ...selection, where: { id: { in: ids }, AND: { id: workspace.organizationId } } }),
  Workspace: ({ db, workspace }, ids, selection) =>
    db.workspace.findMany({ ...selection, where: { id: { in: ids }, AND: { id: workspace.id } } }),
  Deployment: (ctx, ids, selection) =>
    ctx.db.deployment.findMany({ ...selection, where: { id: { in: ids }, ...liveDeployment(ctx) } }),
  Revision: (ctx, ids, selection) =>
    ctx.db.revision.findMany({ ...selection, where: { id: { in: ids }, deployment: liveDeployment(ctx) } }),
  Listener: (ctx, ids, selection) =>
    ctx.db.listener.findMany({ ...selection, where: { id: { in: ids }, ...tenant(ctx) } }),
  TracingProject: (ctx, ids, selection) =>
    ctx.db.tracingProject.findMany({ ...selection, where: { id: { in: ids }, ...tenant(ctx) } }),
  Tag: (ctx, ids, selection) => ctx.db.tag.findMany({ ...selection, where: { id: { in: ids }, ...tenant(ctx) } }),
  GitIntegration: (ctx, ids, selection) =>
    ctx.db.integration.findMany({ ...selection, where: { id: { in: ids }, ...liveIntegration(ctx) } }),
  ApiKey: (ctx, ids) =>
    ctx.db.apiKey.findMany({ where: { id: { in: ids }, AND: visibleKeys(ctx) }, omit: WITHOUT_HASH }),
  OAuthProvider: (ctx, ids, selection) =>
    ctx.db.oAuthProvider.findMany({ ...selection, where: { id: { in: ids }, ...ownProviders(ctx) } }),
  OAuthToken: (ctx, ids, selection) =>
    ctx.db.oAuthToken.findMany({ ...selection, where: { id: { in: ids }, ...ownTokens(ctx) } }),
  AgentLink: (ctx, ids, selection) =>
    ctx.db.agentLink.findMany({ ...selection, where: { id: { in: ids }, ...ownConnections(ctx) } }),
}

/** In no particular order; what is unknown or another tenant's is left out. `identifyNodes` has checked the role. */
export function readNodes(
  ctx: RequestContext,
  type: NodeType,
  ids: readonly string[],
  selection: Selection,
): Promise<Row[]> {
  return READ[type](ctx, [...ids], selection)
}
