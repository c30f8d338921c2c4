/** Finds out which builders may build for a workspace, and whether one of them called lately (docs/protocol.md#builders). */
import type { Tx } from '../transaction/context.ts'
import type { BuilderFacts } from '../values/explanation.ts'

/** A builder that has not called for this long gets no builds offered. */
const BUILDER_SILENT_SECONDS = 90

/** When a builder of the workspace last called; null: never. `workspace`: the workspace's id, as SQL. */
const lastSeen = (workspace: string) => `(
  SELECT max(k.builder_seen_at) FROM workspaces o JOIN api_keys k ON k.organization_id = o.organization_id
  WHERE o.id = ${workspace} AND k.role = 'builder' AND (k.workspace_id IS NULL OR k.workspace_id = o.id)
    AND k.builder_seen_at IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))`

/** A condition: a builder of the workspace called lately. `workspace`: as above. */
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

export async function buildersFor(tx: Tx, { workspaceId }: { workspaceId: string }): Promise<Builders> {
  const [row] = await tx.query<Builders>(BUILDERS, [workspaceId])
  return row!
}
