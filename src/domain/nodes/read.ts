/** Reads resources of one type by id, limited to the tenant, with the selected fields. */

import { WITHOUT_HASH } from '../keys/issue.ts'
import { visibleKeys } from '../keys/list.ts'
import { ownConnections } from '../oauth/connections/connection.ts'
import { ownProviders } from '../oauth/provider-access.ts'
import { ownTokens } from '../oauth/tokens/token.ts'
import { visibleSessions } from '../sessions/read.ts'
import { SESSION_VIEW } from '../sessions/session.ts'
import { liveIntegration } from '../sources/integrations/find.ts'
import { liveDeployment, tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { ownWorkspaces } from '../workspaces/read.ts'
import type { NodeType } from './identify.ts'

/** Prisma's select or include; ignored for API keys and sessions. */
interface Selection {
  include?: object
  select?: object
}

type Row = { id: string }
type Read = (ctx: RequestContext, ids: string[], selection: Selection) => Promise<Row[]>

const READ: Record<NodeType, Read> = {
  Organization: ({ db, workspace }, ids, selection) =>
    db.organization.findMany({ ...selection, where: { id: { in: ids }, AND: { id: workspace.organizationId } } }),
  Workspace: (ctx, ids, selection) =>
    ctx.db.workspace.findMany({ ...selection, where: { id: { in: ids }, AND: ownWorkspaces(ctx) } }),
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
  Session: (ctx, ids) =>
    ctx.db.session.findMany({ where: { id: { in: ids }, AND: visibleSessions(ctx) }, ...SESSION_VIEW }),
  OAuthProvider: (ctx, ids, selection) =>
    ctx.db.oAuthProvider.findMany({ ...selection, where: { id: { in: ids }, ...ownProviders(ctx) } }),
  OAuthToken: (ctx, ids, selection) =>
    ctx.db.oAuthToken.findMany({ ...selection, where: { id: { in: ids }, ...ownTokens(ctx) } }),
  AgentLink: (ctx, ids, selection) =>
    ctx.db.agentConnection.findMany({ ...selection, where: { id: { in: ids }, ...ownConnections(ctx) } }),
}

/** Unsorted, without unknown and other tenants' ids. `identifyNodes` has checked the role. */
export function readNodes(
  ctx: RequestContext,
  type: NodeType,
  ids: readonly string[],
  selection: Selection,
): Promise<Row[]> {
  return READ[type](ctx, [...ids], selection)
}
