/** Finds and reads resources of any type by id, limited to the tenant. */
import { alertRules } from './alerts/rule.ts'
import { keys } from './keys/key.ts'
import { hasListeners } from './listeners/read.ts'
import { connections } from './oauth/tokens/connections.ts'
import { providers } from './oauth/tokens/provider-access.ts'
import { tokens } from './oauth/tokens/token.ts'
import { uuid } from './parsing/fields.ts'
import { readOwnRows } from './query-engine/reading.ts'
import { sessions } from './sessions/session.ts'
import { integrations } from './sources/integrations/integrations.ts'
import { requireRole } from './transaction/access.ts'
import type { ReadContext, RequestContext } from './transaction/context.ts'
import type { Selection } from './transaction/once.ts'
import { type Resource, resource } from './transaction/resource.ts'
import { endpoints } from './webhooks/endpoint.ts'
import { workspaces } from './workspaces.ts'

export type NodeType =
  | 'Organization'
  | 'Workspace'
  | 'Deployment'
  | 'Revision'
  | 'Listener'
  | 'TracingProject'
  | 'Tag'
  | 'GitIntegration'
  | 'ApiKey'
  | 'Session'
  | 'OAuthProvider'
  | 'OAuthToken'
  | 'AgentLink'
  | 'WebhookEndpoint'
  | 'AlertRule'

/**
 * Unknown, foreign and malformed ids are left out. Callers see their own keys, admins all, and webhook endpoints; listeners need a plan that has them. One statement.
 * Role: viewer.
 */
export async function identifyNodes(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, NodeType>> {
  requireRole(ctx, 'viewer')
  const known = ids.filter((id) => uuid.safeParse(id).success)
  if (known.length === 0) return new Map()
  const { id: workspace, organizationId: organization, plan } = ctx.workspace
  const rows = await ctx.db.$queryRaw<{ type: NodeType; id: string }[]>`
    WITH requested AS (SELECT unnest(${known}::uuid[]) AS id), own AS (SELECT ${workspace}::uuid AS id)
    SELECT 'Organization' AS type, id FROM organizations JOIN requested USING (id) WHERE id = ${organization}::uuid
    UNION ALL SELECT 'Workspace', id FROM workspaces JOIN requested USING (id)
      WHERE organization_id = ${organization}::uuid AND (${ctx.actor.workspaceId}::uuid IS NULL OR id = ${ctx.actor.workspaceId}::uuid)
    UNION ALL SELECT 'Deployment', d.id FROM deployments d JOIN requested USING (id), own
      WHERE d.workspace_id = own.id AND d.torn_down_at IS NULL
    UNION ALL SELECT 'Revision', r.id FROM revisions r JOIN requested USING (id) JOIN deployments d ON d.id = r.deployment_id, own
      WHERE d.workspace_id = own.id AND d.torn_down_at IS NULL
    UNION ALL SELECT 'Listener', l.id FROM listeners l JOIN requested USING (id), own
      WHERE l.workspace_id = own.id AND ${hasListeners(plan)}::boolean
    UNION ALL SELECT 'TracingProject', p.id FROM tracing_projects p JOIN requested USING (id), own WHERE p.workspace_id = own.id
    UNION ALL SELECT 'Tag', t.id FROM tags t JOIN requested USING (id), own WHERE t.workspace_id = own.id
    UNION ALL SELECT 'GitIntegration', i.id FROM integrations i JOIN requested USING (id), own
      WHERE i.workspace_id = own.id AND i.removed_at IS NULL
    UNION ALL SELECT 'ApiKey', k.id FROM api_keys k JOIN requested USING (id), own
      WHERE k.organization_id = ${organization}::uuid AND (k.workspace_id = own.id OR k.workspace_id IS NULL)
        AND (${ctx.actor.role === 'admin'}::boolean OR (k.approver_kind = ${ctx.actor.kind} AND k.created_by = ${ctx.actor.subject})
          OR (${ctx.actor.kind} = 'api_key' AND k.id::text = ${ctx.actor.subject}))
    UNION ALL SELECT 'Session', s.id FROM sessions s JOIN requested USING (id), own
      WHERE s.organization_id = ${organization}::uuid AND (s.workspace_id = own.id OR s.workspace_id IS NULL) AND s.opened_at IS NOT NULL
        AND (${ctx.actor.role === 'admin'}::boolean OR (s.kind = ${ctx.actor.kind} AND s.subject = ${ctx.actor.subject}))
    UNION ALL SELECT 'OAuthProvider', p.id FROM oauth_providers p JOIN requested USING (id)
      WHERE p.organization_id = ${organization}::uuid
    UNION ALL SELECT 'OAuthToken', t.id FROM oauth_tokens t JOIN requested USING (id), own
      WHERE t.workspace_id = own.id AND t.subject = ${ctx.actor.subject}
    UNION ALL SELECT 'AgentLink', c.id FROM agent_connections c JOIN requested USING (id) JOIN oauth_tokens t ON t.id = c.token_id, own
      WHERE c.workspace_id = own.id AND t.subject = ${ctx.actor.subject}
    UNION ALL SELECT 'AlertRule', a.id FROM alert_rules a JOIN requested USING (id), own WHERE a.workspace_id = own.id
    UNION ALL SELECT 'WebhookEndpoint', w.id FROM webhook_endpoints w JOIN requested USING (id), own
      WHERE w.workspace_id = own.id AND ${ctx.actor.role === 'admin'}::boolean`
  return new Map(rows.map((row) => [row.id, row.type]))
}

const organizations = resource<Row>({
  name: 'Organization',
  table: (sql) => sql.organization,
  visible: ({ workspace }) => ({ id: workspace.organizationId }),
})
interface Row {
  id: string
}

/** Rows that the query engine reads. */
const own = (table: Parameters<typeof readOwnRows>[1]): Pick<Resource<Row>, 'byIds'> => ({
  byIds: (ctx, ids, selection) => readOwnRows(ctx, table, ids, selection),
})

const RESOURCES: Record<NodeType, Pick<Resource<Row>, 'byIds'>> = {
  Organization: organizations,
  Workspace: workspaces,
  Deployment: own('Deployment'),
  Revision: own('Revision'),
  Listener: own('Listener'),
  TracingProject: own('TracingProject'),
  Tag: own('Tag'),
  GitIntegration: integrations,
  ApiKey: keys,
  Session: sessions,
  OAuthProvider: providers,
  OAuthToken: tokens,
  AgentLink: connections,
  WebhookEndpoint: endpoints,
  AlertRule: alertRules,
}

/** `identifyNodes` has checked the role. `selection`: Prisma's select or include; ignored for API keys, sessions, webhook endpoints and alert rules. */
export const readNodes = (ctx: RequestContext, type: NodeType, ids: readonly string[], selection: Selection) =>
  RESOURCES[type].byIds(ctx, ids, selection)
