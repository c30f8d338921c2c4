/** Finds the names of the resources that a list of events is about, in one statement. */
import { uuid } from '../parsing/fields.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import type { StoredEvent } from './read.ts'

/** `<resource> <id>`; null: the subject has no name. */
export function subjectOf({
  type,
  deploymentId,
  subjectId,
}: Pick<StoredEvent, 'type' | 'deploymentId' | 'subjectId'>): string | null {
  if (deploymentId !== null) return `deployment ${deploymentId}`
  return subjectId !== null && uuid.safeParse(subjectId).success ? `${type.split('.')[0]} ${subjectId}` : null
}

/**
 * Names by subjectOf(); deleted subjects are left out. A deployment keeps its name until its row is deleted. Tokens and
 * connections are private to their owners and have none. One statement. Role: viewer.
 */
export async function nameSubjects(ctx: ReadContext, subjects: readonly string[]): Promise<Map<string, string>> {
  requireRole(ctx, 'viewer')
  const requested = subjects.map((subject) => subject.split(' '))
  const { id: workspace, organizationId: organization } = ctx.workspace
  const rows = await ctx.db.$queryRaw<{ resource: string; id: string; name: string }[]>`
    WITH requested AS (
      SELECT * FROM unnest(${requested.map(([resource]) => resource!)}::text[], ${requested.map(([, id]) => id!)}::uuid[]) AS a(resource, id)),
    own AS (SELECT ${workspace}::uuid AS id)
    SELECT a.resource, a.id::text, d.name FROM requested a JOIN deployments d ON d.id = a.id, own
      WHERE a.resource = 'deployment' AND d.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, l.compute_id FROM requested a JOIN listeners l ON l.id = a.id, own
      WHERE a.resource = 'listener' AND l.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, k.name FROM requested a JOIN api_keys k ON k.id = a.id, own
      WHERE a.resource = 'api_key' AND k.organization_id = ${organization}::uuid AND (k.workspace_id = own.id OR k.workspace_id IS NULL)
    UNION ALL SELECT a.resource, a.id::text, t.key || '=' || t.value FROM requested a JOIN tags t ON t.id = a.id, own
      WHERE a.resource = 'tag' AND t.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, p.name FROM requested a JOIN tracing_projects p ON p.id = a.id, own
      WHERE a.resource = 'tracing_project' AND p.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, i.name FROM requested a JOIN integrations i ON i.id = a.id, own
      WHERE a.resource = 'integration' AND i.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, r.name FROM requested a JOIN alert_rules r ON r.id = a.id, own
      WHERE a.resource = 'alert_rule' AND r.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, w.name FROM requested a JOIN webhook_endpoints w ON w.id = a.id, own
      WHERE a.resource = 'webhook_endpoint' AND w.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, o.name FROM requested a JOIN oauth_providers o ON o.id = a.id
      WHERE a.resource = 'oauth_provider' AND o.organization_id = ${organization}::uuid`
  return new Map(rows.map(({ resource, id, name }) => [`${resource} ${id}`, name]))
}
