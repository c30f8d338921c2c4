/** Who may build what is left to builders (docs/protocol.md#builders), and whether any of them was heard of lately. */
import type { Tx } from '../transaction/context.ts'
import type { BuilderFacts } from '../values/explanation.ts'

/** A builder that was not heard from for so long is none that anything is left to, in seconds. */
const BUILDER_SILENT_SECONDS = 90

/** When a builder was last heard of that may build for a workspace; null: never. `workspace`: its id, in SQL. */
const lastSeen = (workspace: string) => `(
  SELECT max(k.builder_seen_at) FROM workspaces o JOIN api_keys k ON k.organization_id = o.organization_id
  WHERE o.id = ${workspace} AND k.role = 'builder' AND (k.workspace_id IS NULL OR k.workspace_id = o.id)
    AND k.builder_seen_at IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))`

/** Whether one was heard of lately: a condition. `workspace`: as above. */
export const builderAvailableSql = (workspace: string): string =>
  `coalesce(${lastSeen(workspace)} > now() - interval '${BUILDER_SILENT_SECONDS} seconds', false)`

const BUILDERS = {
  name: 'builders of a workspace',
  text: `
    SELECT w.organization_id AS "organizationId", ${lastSeen('w.id')} AS "lastSeenAt", ${builderAvailableSql('w.id')} AS there
    FROM workspaces w WHERE w.id = $1::uuid`,
}

export interface Builders extends BuilderFacts {
  organizationId: string
}

/** One statement. */
export async function buildersFor(tx: Tx, { workspaceId }: { workspaceId: string }): Promise<Builders> {
  const [row] = await tx.query<Builders>(BUILDERS, [workspaceId])
  return row!
}
